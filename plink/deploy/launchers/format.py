"""Interface of launchers' file formats, which turn hosts in rank order into text.

A format of hosts fixes the rank of every host. A format of groups, a topology, says which hosts are
near each other, whatever their ranks; a scheduler then decides.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.formats.hosts import Group, Host

Item = TypeVar("Item", Host, Group)
Writer = Callable[[Sequence[Host]], str]
# Where rank 0 listens, as torchrun has it.
MASTER_PORT = 29500

_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*")
_HINT_NAME = (
    "rename the host in the cluster file; an alias in the SSH configuration serves as a name"
)


@dataclass(frozen=True)
class Format(Generic[Item]):
    """File format of a launcher or a scheduler: its name, description, usage line and writer.

    Args:
        name: what the user calls it.
        about: the launcher and what is written for it, in a line.
        usage: one command that uses it; FILE is the file, RANKS the number of ranks.
        render: hosts in rank order, each with as many slots as ranks, to the text of the file; a
            host comes more than once where its ranks are apart. For a topology, groups that hold
            every host once. Raises `WrongUseError` where the launcher cannot take one.
        adjacent_because: why the ranks of a host must be adjacent; None where they need not be.
        caveat: where the order decides less than one would think, in a sentence; None for nowhere.
    """

    name: str
    about: str
    usage: str
    render: Callable[[Sequence[Item]], str]
    adjacent_because: str | None = None
    caveat: str | None = None

    def build_usage(self, file: str, ranks: int | None) -> str:
        """Return the command that uses `file`, for `ranks` ranks; None keeps the word RANKS."""
        return fill_usage(
            self.usage, {"RANKS": "RANKS" if ranks is None else str(ranks), "FILE": file}
        )


@dataclass(frozen=True)
class Place:
    """Place of a rank: its number, its host, and its local rank on the host."""

    rank: int
    host: Host
    local_rank: int


def fill_usage(usage: str, blanks: Mapping[str, str]) -> str:
    """Return a usage line with its placeholders, such as FILE, replaced as whole words.

    So SLURM_HOSTFILE stays what it is.
    """
    return re.sub(rf"\b({'|'.join(blanks)})\b", lambda match: blanks[match[0]], usage)


def places(hosts: Sequence[Host]) -> Iterator[Place]:
    """Yield every rank's place (rank, host, local rank) in rank order."""
    ranks_on: Counter[str] = Counter()
    rank = 0
    for host in hosts:
        for _ in range(host.slots):
            yield Place(rank, host, ranks_on[host.name])
            ranks_on[host.name] += 1
            rank += 1


def ranks_by_host(hosts: Sequence[Host]) -> Counter[str]:
    """Return the number of ranks of each host, by name."""
    ranks_on: Counter[str] = Counter()
    for host in hosts:
        ranks_on[host.name] += host.slots
    return ranks_on


def check_adjacent(hosts: Sequence[Host], launcher: Format[Host]) -> None:
    """Raise if a host's ranks are not consecutive but the launcher needs them to be.

    Raises:
        WrongUseError: a host comes more than once, and the format has each once.
    """
    if launcher.adjacent_because is None:
        return
    seen: set[str] = set()
    for host in hosts:
        if host.name in seen:
            raise WrongUseError(
                f"{launcher.name} needs the ranks of {host.name!r} to be adjacent: "
                f"{launcher.adjacent_because}",
                "make the order without {interleave=}, which keeps them adjacent",
                arguments={"interleave": True},
            )
        seen.add(host.name)


def sort_by_rank(hosts: Sequence[Host], groups: Sequence[Group], reader: str) -> list[Group]:
    """Return groups sorted by their first rank, and hosts in each sorted by rank.

    Raises:
        WrongUseError: there are no groups, or a host is in no group; `reader` reads the file.
    """
    if not groups:
        raise WrongUseError(
            f"{reader} needs groups of hosts, but the file has none",
            "plink group finds them and writes them into a cluster file",
        )
    group_of = {name: group.name for group in groups for name in group.hosts}
    members: dict[str, list[str]] = {}
    for host in hosts:
        if host.name not in group_of:
            raise WrongUseError(
                f"{reader} needs every host in a group, and {host.name!r} is not in one"
            )
        names = members.setdefault(group_of[host.name], [])
        if host.name not in names:
            names.append(host.name)
    return [Group(name, names) for name, names in members.items()]


def check_names(hosts: Sequence[Host], launcher: str, *, ipv6: bool = True) -> None:
    """Raise if a host has a name that is neither a host name nor an address, or there is no host.

    A cluster file may hold any text as a name: what launchers, SSH or a shell would read as
    something else than a name is refused here.

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
    """Return the address or name at which other ranks reach rank 0; raise if it is invalid.

    Raises:
        WrongUseError: it is neither a host name nor an address.
    """
    address = hosts[0].address
    if not is_address(address) and not _NAME.fullmatch(address):
        raise WrongUseError(
            f"{launcher} cannot reach rank 0 at {brief(address)}, which is not an address",
            "correct the host's address in the cluster file",
        )
    return address


def is_address(text: str) -> bool:
    """Return whether `text` is an IPv4 or IPv6 address without a zone."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def refusal(
    host: Host, launcher: str, why_not: str, hint: str | None = _HINT_NAME
) -> WrongUseError:
    """Build the error that a launcher cannot take a host; `why_not` follows "which"."""
    return WrongUseError(
        f"{launcher} cannot take the host {brief(host.name)}, which {why_not}", hint
    )
