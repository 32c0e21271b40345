"""The state of a lab as JSON, written before anything is created."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from labkit.errors import UnreadableStateError, WrongUseError
from labkit.login import Login
from labkit.topology import Host, Switch, Topology
from labkit.wan import WanPath, wan_path
from labkit.wiring import MAX_LAB_NAME

FORMAT = "plink.lab"
VERSION = 1

_LAB_NAME = re.compile(rf"[a-z0-9][a-z0-9-]{{0,{MAX_LAB_NAME - 1}}}")
_ELEMENT = re.compile(r"[a-z][a-z0-9-]{0,14}")


@dataclass(frozen=True)
class State:
    """A lab.

    Args:
        identity: differs from every other lab's, also of the same name.
        directory: where its files are, absolute.
        made_directory: whether the folder is the lab's own, to be removed with it.
        login: who one is on its hosts.
        topology: the lab itself, with its present rates.
        stopped: hosts that are silent at present.
    """

    identity: str
    directory: Path
    made_directory: bool
    login: Login
    topology: Topology
    stopped: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The lab's name."""
        return self.topology.lab

    def with_stopped(self, name: str, silent: bool) -> State:
        """The same lab with one host silent, or not."""
        others = tuple(other for other in self.stopped if other != name)
        return replace(self, stopped=(*others, name) if silent else others)


def checked_lab_name(name: str) -> str:
    """The name itself, if it is valid for a lab.

    Raises:
        WrongUseError: too long for an interface name, or with a character that is not allowed.
    """
    if not _LAB_NAME.fullmatch(name):
        raise WrongUseError(
            f"{name!r} is not a valid name for a lab",
            f"use 1 to {MAX_LAB_NAME} lower-case letters, digits and hyphens",
        )
    return name


def to_json(state: State) -> str:
    """The state as text that `from_json` reads."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "identity": state.identity,
        "directory": str(state.directory),
        "made_directory": state.made_directory,
        "login": asdict(state.login),
        "stopped": list(state.stopped),
        "topology": asdict(state.topology),
    }
    return json.dumps(document, indent=1) + "\n"


def from_json(text: str, origin: str) -> State:
    """Read a state back; nothing in it may lead `down` to what is not the lab's.

    Raises:
        UnreadableStateError: not a state, or of another version.
    """
    try:
        document = json.loads(text)
        if document["format"] != FORMAT or document["version"] != VERSION:
            raise UnreadableStateError(f"{origin} has a version that this lab does not know")
        return State(
            identity=str(document["identity"]),
            directory=_absolute(document["directory"]),
            made_directory=document["made_directory"] is True,
            login=_login(document["login"]),
            topology=_topology(document["topology"]),
            stopped=tuple(map(_element, document["stopped"])),
        )
    except (ValueError, KeyError, TypeError, WrongUseError) as error:
        raise UnreadableStateError(f"{origin} is not a description of a lab: {error}") from error


def _login(fields: dict[str, Any]) -> Login:
    return Login(
        name=str(fields["name"]),
        uid=int(fields["uid"]),
        gid=int(fields["gid"]),
        home=str(fields["home"]),
        nested=fields["nested"] is True,
    )


def _topology(fields: dict[str, Any]) -> Topology:
    return Topology(
        lab=checked_lab_name(fields["lab"]),
        seed=int(fields["seed"]),
        subnet=str(IPv4Network(fields["subnet"])),
        machine_address=str(IPv4Address(fields["machine_address"])),
        switches=tuple(
            Switch(
                name=_element(switch["name"]),
                parent=_element(switch["parent"]),
                uplink_rate_bits=_rate(switch["uplink_rate_bits"]),
                hops=int(switch["hops"]),
                subnet=_subnet(switch.get("subnet")),
            )
            for switch in fields["switches"]
        ),
        hosts=tuple(
            Host(
                name=_element(host["name"]),
                address=str(IPv4Address(host["address"])),
                rack=_element(host["rack"]),
                rate_bits=_rate(host["rate_bits"]),
                further=tuple(str(IPv4Address(each)) for each in host.get("further", ())),
            )
            for host in fields["hosts"]
        ),
        wan=tuple(map(_wan_path, fields.get("wan", ()))),
    )


def _wan_path(fields: dict[str, Any]) -> WanPath:
    one, other = map(int, fields["regions"])
    return wan_path(
        (one, other),
        rtt_ms=float(fields["rtt_ms"]),
        jitter_ms=float(fields["jitter_ms"]),
        loss=float(fields["loss"]),
        rate_bits=_rate(fields["rate_bits"]),
        queue_bytes=int(fields["queue_bytes"]),
    )


def _element(name: Any) -> str:
    if not isinstance(name, str) or not _ELEMENT.fullmatch(name):
        raise ValueError(f"{name!r} is not a host or switch")
    return name


def _rate(rate_bits: Any) -> int | None:
    return None if rate_bits is None else int(rate_bits)


def _subnet(network: Any) -> str | None:
    return None if network is None else str(IPv4Network(network))


def _absolute(path: Any) -> Path:
    directory = Path(path)
    if not directory.is_absolute():
        raise ValueError(f"{path!r} is not an absolute path")
    return directory
