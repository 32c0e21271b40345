"""Checks that names and addresses are safe in launchers' files and shell lines.

A cluster file may hold any text as a name: what launchers, SSH or a shell would read as
something else than a name is refused here.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from plink.base.errors import WrongUseError
from plink.formats.hosts import Host

# Where rank 0 listens, as torchrun has it.
MASTER_PORT = 29500

_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*")
_HINT = "rename the host in the cluster file; an alias in the SSH configuration serves as a name"


def check_names(hosts: Sequence[Host], launcher: str, *, ipv6: bool = True) -> None:
    """Raise if a host's name is not a host name.

    Args:
        hosts: the hosts in rank order.
        launcher: the program that reads the file, for errors.
        ipv6: whether it takes IPv6 addresses as names.

    Raises:
        WrongUseError: a name is neither a host name nor an address, or there is no host.
    """
    if not hosts:
        raise WrongUseError(f"{launcher} needs at least one host")
    for host in hosts:
        is_ipv6 = ":" in host.name and is_address(host.name)
        if is_ipv6 and not ipv6:
            raise refusal(host, launcher, "is an IPv6 address")
        if not is_ipv6 and not _NAME.fullmatch(host.name):
            raise refusal(host, launcher, "is not a host name")


def master_address(hosts: Sequence[Host], launcher: str) -> str:
    """Return rank 0's traffic address, at which the other ranks reach it.

    Raises:
        WrongUseError: it is neither a host name nor an address.
    """
    address = hosts[0].address
    if not is_address(address) and not _NAME.fullmatch(address):
        reason = f"{launcher} cannot reach rank 0 at {_brief(address)}, which is not an address"
        raise WrongUseError(reason, "correct the host's address in the cluster file")
    return address


def is_address(text: str) -> bool:
    """Return whether `text` is an IPv4 or IPv6 address without a zone."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def refusal(host: Host, launcher: str, reason: str) -> WrongUseError:
    """Return the error that a launcher cannot take a host, with the reason."""
    return WrongUseError(f"{launcher} cannot take {_brief(host.name)}, which {reason}", _HINT)


def _brief(text: str) -> str:
    found = repr(text)
    return found if len(found) <= 60 else found[:57] + "..."
