"""Descriptions of processes that they give each other, and the hosts that they are on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from plink.formats.hosts import Host


class Member(Struct, frozen=True, forbid_unknown_fields=True):
    """Process that takes part in a renumbering: a rank of a job, or an agent of torchrun.

    Args:
        names: names of its host, given by the user or by the host itself; the first is for
            messages.
        addresses: addresses of its host, without loopback.
        master_address: address at which other hosts reach it.
        master_port: a free port, for the workers' store if this one has rank 0 (torchrun).
        digest: hash of what its files and options say, equal where processes agree.
        facts: answer of `plink.probes.facts.SCRIPT`; empty where nothing is measured.
        local_rank: number of the process on its host; 0 where the launcher does not say.
        ranks: number of ranks that the process was told the job has; 0 for an agent.
        process: what tells the process from all others, for messages too.
        domain: NVLink domain of its host; empty for none.
        order: what messages call the order that it was given.
    """

    names: Sequence[str]
    addresses: Sequence[str]
    master_address: str
    master_port: int
    digest: str = ""
    facts: str = ""
    local_rank: int = 0
    ranks: int = 0
    process: str = ""
    domain: str = ""
    order: str = ""

    @property
    def name(self) -> str:
        """Name of the process's host, for messages."""
        return self.names[0]


def to_bytes(member: Member) -> bytes:
    """Encode a member as JSON."""
    return msgspec.json.encode(member)


def from_bytes(content: bytes) -> Member:
    """Parse the output of `to_bytes`.

    Raises:
        ValueError: another program wrote it, or a text of it could not be shown in messages.
    """
    try:
        member = msgspec.json.decode(content, type=Member)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    shown = [*member.names, *member.addresses, member.master_address, member.process, member.order]
    if not member.names or not all(text.isprintable() for text in [*shown, member.domain]):
        raise ValueError("a process has a name, and no text of it has control characters")
    return member


def names_of(members: Sequence[Member], known: Sequence[Host]) -> list[str]:
    """Return the name of each member's host: as files have it, else as the host calls itself.

    A host is known by one of its names, with or without the domain, or else by its address.

    Args:
        members: the processes.
        known: hosts of the order and the cluster.
    """
    by_name = {host.name: host.name for host in known}
    short = [host.name.partition(".")[0] for host in known]
    # A first part that several names share, as that of addresses, names none of them.
    by_short = {
        first: host.name
        for first, host in zip(short, known, strict=True)
        if short.count(first) == 1 and not first.isdigit()
    }
    by_address = {host.address: host.name for host in known}
    return [_name_of(member, by_name, by_short, by_address) for member in members]


def _name_of(
    member: Member,
    by_name: Mapping[str, str],
    by_short: Mapping[str, str],
    by_address: Mapping[str, str],
) -> str:
    first_parts = [name.partition(".")[0] for name in member.names]
    found = [
        *(by_name.get(name) for name in [*member.names, *first_parts]),
        *(by_short.get(part) for part in first_parts),
        *(by_address.get(address) for address in member.addresses),
    ]
    return next((name for name in found if name is not None), member.name)


def select_leaders(members: Sequence[Member], names: Sequence[str]) -> dict[str, int]:
    """Return the process that measures for each host, by the host's name in order of appearance.

    Args:
        members: the processes by number.
        names: name of each one's host.
    """
    leaders: dict[str, int] = {}
    for number, name in enumerate(names):
        first = leaders.setdefault(name, number)
        if members[number].local_rank < members[first].local_rank:
            leaders[name] = number
    return leaders


def find_shared_name(members: Sequence[Member]) -> str | None:
    """Return a name that two hosts without a common address share, or None."""
    addresses_of: dict[str, set[str]] = {}
    for member in members:
        if not member.addresses:
            continue
        addresses = set(member.addresses)
        if addresses_of.setdefault(member.name, addresses).isdisjoint(addresses):
            return member.name
    return None


def differing_files(members: Sequence[Member]) -> list[str]:
    """Return the names of the hosts whose files differ from those of the first process."""
    return [member.name for member in members if member.digest != members[0].digest]
