"""Checks of host names and addresses in files, which later become words of commands."""

from __future__ import annotations

from collections.abc import Iterable

from plink.base.text import brief
from plink.formats.hosts import Host
from plink.formats.structs import FormatError
from plink.probes.hosts.hostlist import HINT_NAME, find_name_fault


def check_host_names(hosts: Iterable[Host], source: str, place: str = "hosts") -> None:
    """Raise WrongUseError if a file's host has a name or address that SSH or a shell may misread.

    Args:
        hosts: hosts that were read.
        source: what messages call the file.
        place: member of the file that lists them.

    Raises:
        FormatError: naming the first such host.
    """
    for index, host in enumerate(hosts):
        for member in ("name", "address", "ssh_address"):
            value = getattr(host, member)
            if value is not None:
                check_host_name(value, source, f"{place}[{index}].{member}")


def check_host_name(name: str, source: str, place: str) -> None:
    """Raise WrongUseError if a host's name or address is one that SSH or a shell may misread.

    Raises:
        FormatError: saying why `name` is none; `source` and `place` say where it stands.
    """
    why_no_host_name = find_name_fault(name)
    if why_no_host_name is not None:
        raise FormatError(source, place, f"{brief(name)} {why_no_host_name}", HINT_NAME)
