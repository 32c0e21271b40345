"""What an agent tells the others of itself, and which host of the files that is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plink.files.hosts import Host


@dataclass(frozen=True)
class Member:
    """An agent of a round.

    Args:
        names: what its host is called, by the user or by itself; the first is for messages.
        addresses: of the host, without loopback.
        master_address: at which other hosts reach it.
        master_port: a free one, for the store of the workers if it has rank 0.
        digest: of what its files say (`Settings.digest`).
        facts: what is asked of a host before it is measured; empty where nothing is measured.
    """

    names: Sequence[str]
    addresses: Sequence[str]
    master_address: str
    master_port: int
    digest: str = ""
    facts: str = ""

    @property
    def name(self) -> str:
        """For messages."""
        return self.names[0]


def to_bytes(member: Member) -> bytes:
    """For the store."""
    return json.dumps(asdict(member)).encode()


def from_bytes(content: bytes) -> Member:
    """What `to_bytes` made.

    Raises:
        ValueError, KeyError, TypeError: it made something else.
    """
    data: Mapping[str, Any] = json.loads(content)
    return Member(
        names=[str(name) for name in data["names"]],
        addresses=[str(address) for address in data["addresses"]],
        master_address=str(data["master_address"]),
        master_port=int(data["master_port"]),
        digest=str(data["digest"]),
        facts=str(data["facts"]),
    )


def names_of(members: Sequence[Member], known: Sequence[Host]) -> list[str]:
    """The name of each member's host: as files have it, else as the host calls itself.

    A host is known by one of its names, with or without the domain, or else by its address.

    Args:
        members: of a round.
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
