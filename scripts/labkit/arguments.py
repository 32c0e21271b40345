"""The options of every command, and what they mean together."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from labkit.entry import MACHINE
from labkit.errors import WrongUseError
from labkit.rates import parse_rate
from labkit.shape import Shape, check_shape, two_levels
from labkit.shape_file import read_shape
from labkit.state import checked_lab_name
from labkit.wan import DEFAULT_RTT_MS
from labkit.wan_file import wide_area

DEFAULT_NAME = "lab"
DEFAULT_RACKS = 4
DEFAULT_HOSTS = "4"
DEFAULT_RATE = "400mbit"
DEFAULT_HOPS = 4

_OF_RACKS = ("racks", "hosts", "hops", "routed")
_OF_PATHS = ("rtt_ms", "jitter_ms", "loss", "wan_rate", "queue_kb")
SHAPE_OPTIONS = (*_OF_RACKS, "host_rate", "uplink_rate", "regions", *_OF_PATHS)
# Without characters that are special in the configuration of sshd, such as quotes.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[A-Za-z0-9 _.,:;/@+=-]*")
EXAMPLE = (
    "Example: lab up --racks 4 --hosts 4 --host-rate 400mbit --uplink-rate 400mbit --seed 1 &&"
    " lab exec n01 -- fping n02 && lab down"
)


def name_of(arguments: argparse.Namespace) -> str:
    """The lab's name, as requested or by default.

    Raises:
        WrongUseError: the name is not valid for a lab.
    """
    return checked_lab_name(arguments.name or DEFAULT_NAME)


def directory_of(arguments: argparse.Namespace) -> Path:
    """The folder that `up` writes into, absolute."""
    return Path(arguments.dir or f".lab/{name_of(arguments)}").resolve()


def shape_of(arguments: argparse.Namespace) -> Shape:
    """The shape that `up` was asked for, by options or by a file.

    Raises:
        WrongUseError: options contradict each other, or cannot be built.
    """
    if arguments.topology is not None:
        for option in SHAPE_OPTIONS:
            if getattr(arguments, option) is not None:
                flag = "--" + option.replace("_", "-")
                raise WrongUseError(f"{flag} contradicts --topology", "write it into the file")
        return check_shape(
            replace(read_shape(Path(arguments.topology)), ports=_ports(arguments.ports))
        )
    if arguments.regions is not None:
        return check_shape(replace(_regions(arguments), ports=_ports(arguments.ports)))
    for option in _OF_PATHS:
        if getattr(arguments, option) is not None:
            flag = "--" + option.replace("_", "-")
            raise WrongUseError(f"{flag} is of paths between regions", "add --regions 2x2")
    hosts = _counts(arguments.hosts or DEFAULT_HOSTS)
    racks = arguments.racks
    if racks is None and len(hosts) == 1:
        racks = DEFAULT_RACKS
    shape = two_levels(
        racks,
        hosts,
        parse_rate(arguments.host_rate or DEFAULT_RATE),
        parse_rate(arguments.uplink_rate or DEFAULT_RATE),
        DEFAULT_HOPS if arguments.hops is None else arguments.hops,
        routed=arguments.routed is True,
    )
    return check_shape(replace(shape, ports=_ports(arguments.ports)))


def _regions(arguments: argparse.Namespace) -> Shape:
    for option in _OF_RACKS:
        if getattr(arguments, option) is not None:
            raise WrongUseError(f"--{option} contradicts --regions", "leave it out")
    counts, _, per_region = arguments.regions.partition("x")
    try:
        hosts = [int(per_region)] * int(counts) if per_region else _counts(counts)
    except ValueError:
        raise WrongUseError(
            f"--regions {arguments.regions!r} is not a number of regions and hosts",
            "write 2x4, or the hosts region by region: 3,5,8",
        ) from None
    said = {key: getattr(arguments, key) for key in ("host_rate", "uplink_rate", *_OF_PATHS)}
    return wide_area({"regions": hosts, **{k: v for k, v in said.items() if v is not None}})


def environment_of(arguments: argparse.Namespace) -> dict[str, str]:
    """The variables that `up` adds to the environment of every SSH session.

    Raises:
        WrongUseError: not NAME=VALUE, or a value that the configuration of `sshd` cannot hold.
    """
    for text in arguments.set_env:
        if not _VARIABLE.fullmatch(text):
            raise WrongUseError(
                f"--set-env {text!r} is not NAME=VALUE",
                "a value may have ASCII letters, digits, spaces and _.,:;/@+=-",
            )
    return dict(text.split("=", 1) for text in arguments.set_env)


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="lab", description="A data centre in network namespaces.", epilog=EXAMPLE
    )
    # How the lab runs itself inside the user namespace that it created.
    top.add_argument(
        "--inside", nargs=3, metavar=("UID", "GID", "REGISTRY"), help=argparse.SUPPRESS
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    which = argparse.ArgumentParser(add_help=False)
    which.add_argument("--name", help=f"the lab's name (default: {DEFAULT_NAME})")
    which.add_argument("--dir", help="the lab's folder (default of up: .lab/NAME)")

    _add_up(commands.add_parser("up", parents=[which], help="create a lab", epilog=EXAMPLE))

    commands.add_parser("down", parents=[which], help="take a lab down, also after a crash")

    status = commands.add_parser("status", parents=[which], help="show the labs that are up")
    status.add_argument("--json", action="store_true", help="print JSON")

    execute = commands.add_parser("exec", parents=[which], help="run a command on a host")
    execute.add_argument("host", help=f"a host, or {MACHINE} for the machine itself")
    execute.add_argument("argv", nargs="+", metavar="COMMAND", help="the command, after --")

    shell = commands.add_parser(
        "shell", parents=[which], help="open a shell that reaches the hosts"
    )
    shell.add_argument("host", nargs="?", default=MACHINE, help="the host to open it on")

    change = commands.add_parser("set", parents=[which], help="change a rate while the lab is up")
    change.add_argument(
        "element", metavar="HOST|RACK", help="a host's link, a rack's or row's uplink"
    )
    change.add_argument("--rate", required=True, help="such as 100mbit, or none for unshaped")

    stop = commands.add_parser("stop", parents=[which], help="disconnect a host silently")
    stop.add_argument("host")
    start = commands.add_parser("start", parents=[which], help="connect it again")
    start.add_argument("host")

    move = commands.add_parser("move", parents=[which], help="plug a host into another rack")
    move.add_argument("host")
    move.add_argument("rack", help="as shown by lab status: r1, r2, ...")
    return top


def _add_up(up: argparse.ArgumentParser) -> None:
    rate = f"(default: {DEFAULT_RATE})"
    up.add_argument("--racks", type=int, help=f"number of racks (default: {DEFAULT_RACKS})")
    up.add_argument("--hosts", help="hosts in every rack, or rack by rack: 3,5,8 (default: 4)")
    up.add_argument("--host-rate", help=f"rate of every host's link, or none {rate}")
    up.add_argument("--uplink-rate", help=f"rate of every rack's uplink, or none {rate}")
    up.add_argument(
        "--hops",
        type=int,
        help=f"extra switches between a rack and the spine (default: {DEFAULT_HOPS})",
    )
    up.add_argument(
        "--routed",
        action="store_const",
        const=True,
        help="make racks, hops and the spine routers, and every rack a subnet",
    )
    up.add_argument(
        "--regions", metavar="2x4|3,5", help="regions and hosts in each, in place of racks"
    )
    up.add_argument(
        "--rtt-ms",
        type=float,
        help=f"added to round trips between regions (default: {DEFAULT_RTT_MS:g})",
    )
    up.add_argument("--jitter-ms", type=float, help="how late a frame between regions may be")
    up.add_argument("--loss", help="share of frames that are lost between regions, such as 0.01%%")
    up.add_argument("--wan-rate", help="rate of the path between two regions (default: none)")
    up.add_argument(
        "--queue-kb", type=float, help="of that path (default: what a round trip carries)"
    )
    up.add_argument(
        "--topology",
        metavar="FILE",
        help="read the shape, rows of racks or regions, from TOML or JSON",
    )
    up.add_argument(
        "--ports",
        metavar="HOST=NUMBER",
        action="append",
        default=[],
        help="interfaces of a host, n01=4,n05=2: each with its own address and a link of the host's"
        " rate; may be repeated",
    )
    up.add_argument("--seed", type=int, default=1, help="shuffles names, addresses and order")
    up.add_argument("--congestion-control", help="TCP's on the hosts: reno, cubic or bbr")
    up.add_argument(
        "--set-env",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="set in the environment of every SSH session; may be repeated",
    )
    up.add_argument(
        "--hold", action="store_true", help="stay, and take the lab down when the input ends"
    )


def _ports(texts: Sequence[str]) -> tuple[tuple[str, int], ...]:
    found: dict[str, int] = {}
    for part in (part for text in texts for part in text.split(",")):
        name, _, count = part.strip().partition("=")
        if not name or not count.isascii() or not count.isdigit() or len(count) > 4:
            raise WrongUseError(
                f"--ports {part!r} is not HOST=NUMBER", "write n01=4, or n01=4,n05=2"
            )
        if name in found:
            raise WrongUseError(f"--ports names {name} twice")
        found[name] = int(count)
    return tuple(found.items())


def _counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise WrongUseError(
            f"--hosts {text!r} is not a number of hosts", "write 4, or 3,5,8"
        ) from None
