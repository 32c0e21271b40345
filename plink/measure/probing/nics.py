"""The NICs that hosts give to DPDK, as a user's file lists them and a cluster file records them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plink.base.errors import WrongUseError
from plink.files import document
from probes.dpdk.nics import Nic, parse_nics
from probes.hosts.host import ListedHost


def read_nics(path: str | None) -> tuple[Nic, ...]:
    """The NICs that a file lists, none where there is no file.

    Raises:
        WrongUseError: the file is not text.
        OptionError: a line is wrong.
    """
    if path is None:
        return ()
    try:
        text = document.read_bytes(path).decode()
    except UnicodeDecodeError:
        raise WrongUseError(f"{path}: is not text in UTF-8") from None
    return parse_nics(text.splitlines(), document.label(path))


def same_nics(options: Mapping[str, Any], given: Sequence[Nic], source: str) -> Sequence[Nic]:
    """The NICs that an earlier measurement used.

    Raises:
        WrongUseError: others are `given`, or what is recorded is no list of lines.
        OptionError: a recorded line is wrong.
    """
    lines = options.get("nics", [])
    if not (isinstance(lines, list) and all(isinstance(line, str) for line in lines)):
        raise WrongUseError(f"{source}: options.nics is no list of lines")
    recorded = parse_nics(lines, f"{source}: options.nics")
    if given and tuple(given) != recorded:
        raise WrongUseError(
            f"{source}: was measured with other NICs",
            "leave out --nics, or measure anew into another file",
        )
    return recorded


def refuse_unlisted(nics: Sequence[Nic], hosts: Sequence[ListedHost]) -> None:
    """Refuse a NIC of a host that is not in the host list.

    Raises:
        WrongUseError: there is one.
    """
    names = {host.name for host in hosts}
    for nic in nics:
        if nic.host not in names:
            raise WrongUseError(f"--nics: {nic.host} is not in the host list")
