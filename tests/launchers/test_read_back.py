"""Every file that plink writes for a launcher is a host list: the same hosts, the same slots."""

from __future__ import annotations

import pytest

from plink.deploy import launchers
from plink.deploy.launchers import FORMATS, TOPOLOGIES
from plink.formats.hosts import Group, Host
from plink.probes.inventories.kinds import parse_hosts

HOSTS = [
    Host("gpu3", "10.0.0.3", slots=2),
    Host("gpu1", "10.0.0.1", slots=2),
    Host("node-2", "10.0.0.2", slots=2),
]
GROUPS = [Group("west", ["gpu3", "gpu1"]), Group("east", ["node-2"])]

# Files that do not say how many ranks a host has.
WITHOUT_SLOTS = ["hosts", "pytorchjob", "trainjob", "mpijob", "leaderworkerset", "jobset"]


def read(name: str, hosts: list[Host]) -> dict[str, int]:
    """Hosts and slots in the file that plink writes in a format, in its order."""
    text = launchers.render(name, hosts, GROUPS)
    return {host.name: host.slots for host in parse_hosts(text.encode(), "file")}


def expected(name: str, hosts: list[Host]) -> dict[str, int]:
    # LightGBM's list holds addresses alone.
    names = [host.address if name == "lightgbm" else host.name for host in hosts]
    slots = [1 if name in WITHOUT_SLOTS else host.slots for host in hosts]
    return dict(zip(names, slots, strict=True))


@pytest.mark.parametrize("slots", [1, 2, 8, 192])
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_fixes_ranks_is_read_back(name: str, slots: int) -> None:
    hosts = [Host(host.name, host.address, slots=slots) for host in HOSTS]
    found = read(name, hosts)
    assert list(found.items()) == list(expected(name, hosts).items())


@pytest.mark.parametrize("name", sorted(set(FORMATS) - set(WITHOUT_SLOTS)))
def test_hosts_with_different_slots_are_read_back(name: str) -> None:
    hosts = [Host("gpu3", "10.0.0.3"), Host("gpu1", "10.0.0.1", slots=4)]
    assert read(name, hosts) == expected(name, hosts)


@pytest.mark.parametrize(
    "name", [name for name, found in FORMATS.items() if found.adjacent_because is None]
)
def test_ranks_that_are_apart_are_read_back(name: str) -> None:
    hosts = [Host(host.name, host.address) for host in [*HOSTS, *HOSTS]]
    assert read(name, hosts) == expected(name, HOSTS)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_a_topology_is_read_back(name: str) -> None:
    assert read(name, HOSTS) == {"gpu3": 1, "gpu1": 1, "node-2": 1}
