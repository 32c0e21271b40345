"""Hosts and groups of hosts, as all file formats represent them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict

from plink.base.given_way import GivenWay
from plink.base.replacing import replace
from plink.base.text import brief
from plink.formats.limits import HostName, Port, Slots, User, Word, find_repeated

_MAX_TYPED = 4096


class Host(Struct, frozen=True, forbid_unknown_fields=True):
    """Host that takes ranks: name, addresses and slots.

    Attributes:
        name: name of the host, which no other host of the file has
        address: address that the job's traffic uses
        ssh_address: address that SSH uses, if another
        user: user that SSH logs in as
        port: TCP port of SSH
        slots: number of ranks that the host takes
        domain: NVLink domain of the host, whose hosts are side by side in every order
    """

    name: HostName
    address: HostName
    ssh_address: HostName | None = None
    user: User | None = None
    port: Port | None = None
    slots: Slots = 1
    domain: Word | None = None


class Group(Struct, frozen=True, forbid_unknown_fields=True):
    """Group of hosts that are near each other; no host is in two groups.

    Attributes:
        name: name of the group, which no other group has
        hosts: names of its hosts
    """

    name: Word
    hosts: Annotated[Sequence[str], Meta(min_length=1)]


def check_hosts(hosts: Iterable[Host], member: str) -> None:
    """Raise ValueError if a member of a file lists a host twice."""
    twice = find_repeated(host.name for host in hosts)
    if twice is not None:
        raise ValueError(f"{member} lists host {brief(twice)} twice")


def check_groups(groups: Iterable[Group], hosts: Iterable[str]) -> None:
    """Raise ValueError if groups overlap, repeat or name unknown hosts."""
    groups = list(groups)
    twice = find_repeated(group.name for group in groups)
    if twice is not None:
        raise ValueError(f"group {brief(twice)} is listed twice")
    known = set(hosts)
    for group in groups:
        for host in group.hosts:
            if host not in known:
                raise ValueError(
                    f"group {brief(group.name)}: {brief(host)} is not one of the hosts"
                )
    twice = find_repeated(host for group in groups for host in group.hosts)
    if twice is not None:
        raise ValueError(f"host {brief(twice)} is in two groups")


def places_by_domain(domains: Iterable[Hashable]) -> list[int]:
    """Return the hosts' indices, with those of an NVLink domain (None: no domain) side by side."""
    first: dict[Hashable, int] = {}
    begins = [
        place if domain is None else first.setdefault(domain, place)
        for place, domain in enumerate(domains)
    ]
    return sorted(range(len(begins)), key=lambda place: begins[place])


def with_domains(hosts: Iterable[Host], domain_of: Mapping[str, str]) -> list[Host]:
    """Return copies of the hosts with the NVLink domains that a mapping by host name assigns."""
    return [replace(host, domain=domain_of.get(host.name, host.domain)) for host in hosts]


def check_way(way: GivenWay | None) -> None:
    """Raise ValueError if a recorded option for reaching hosts is too long or not printable."""
    for option, value in ({} if way is None else asdict(way)).items():
        if not is_recordable(value):
            raise ValueError(f"way.{option} (for reaching hosts) must be a short printable text")


def is_recordable(value: str | None) -> bool:
    """Return whether a path, name or command is None, or short and printable enough for a file."""
    return value is None or (value.isprintable() and 0 < len(value) <= _MAX_TYPED)
