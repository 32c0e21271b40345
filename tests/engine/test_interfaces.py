"""Hosts with two interfaces each: in one network with two ranks on each host, or unequal ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchkit.interfaces import address, hosts_with_interfaces
from engine.processes import Rank
from labkit.fleeting import Namespace, namespaces
from support.require import require_root

pytestmark = pytest.mark.timing

INTERFACES = ("eth0", "eth1")
ADDRESSES = (("10.78.0.1", "10.78.0.2"), ("10.78.0.3", "10.78.0.4"))
RATES_MBIT_S = (160, 40)
ITEMS = 500_000
COLLECTIVES = 4


@pytest.fixture
def hosts() -> Iterator[list[Namespace]]:
    """Each sends by the interface whose address it sends from, as clouds set their machines up."""
    require_root()
    with namespaces(3) as (switch, *hosts):
        switch.run("ip link add net type bridge")
        switch.run("ip link set net up")
        for host, addresses in zip(hosts, ADDRESSES, strict=True):
            host.configure("ipv4/conf/all/arp_ignore", 1)
            host.configure("ipv4/conf/all/arp_announce", 2)
            for name, address in zip(INTERFACES, addresses, strict=True):
                port = f"{name}-{host.pid}"
                switch.run(f"ip link add {port} type veth peer name {name} netns {host.pid}")
                switch.run(f"ip link set {port} master net up")
                host.run(f"ip link set {name} up")
                host.run(f"ip address add {address}/24 dev {name}")
                table = 100 + INTERFACES.index(name)
                host.run(f"ip route add 10.78.0.0/24 dev {name} src {address} table {table}")
                host.run(f"ip rule add from {address} table {table}")
        yield hosts


@pytest.fixture
def unequal_hosts() -> Iterator[list[Namespace]]:
    """The second interface has a quarter of the first one's rate."""
    require_root()
    with hosts_with_interfaces([RATES_MBIT_S] * 2) as hosts:
        yield hosts


def test_a_slow_interface_costs_its_share_only(
    unequal_hosts: list[Namespace], tmp_path: Path
) -> None:
    """Turn by turn the slow one would carry half: 2.5 times as long."""
    with ExitStack() as stack:
        ranks = []
        for rank, host in enumerate(unequal_hosts):
            options = {"addresses": [address(network, rank) for network in (0, 1)]}
            task = {"rank": rank, "ranks": 2, "store": str(tmp_path), "kind": "stars"}
            task |= {"items": 2 * ITEMS, "options": options, "collectives": 24, "balances": True}
            ranks.append(Rank(host.command([])))
            stack.callback(ranks[-1].end)
            ranks[-1].be(task)
        for process in ranks:
            assert process.hear() == {"event": "running"}
        said = [process.hear() for process in ranks]
    assert [words["event"] for words in said] == ["done"] * 2
    assert said[0]["weights"] == said[1]["weights"]
    assert said[0]["weights"] == pytest.approx([0.8, 0.2], abs=0.1)
    times_s = said[0]["times_s"]
    # The least, for other work beside it only adds.
    assert min(times_s[-8:]) < 0.6 * min(times_s[:3])


def bytes_through(host: Namespace) -> list[int]:
    """The bytes that each interface sent and received."""
    links = {link["ifname"]: link for link in json.loads(host.run("ip -s -j link show"))}
    return [links[name]["stats64"][way]["bytes"] for name in INTERFACES for way in ("tx", "rx")]


def test_every_interface_carries_its_share_both_ways_and_a_host_shares_memory(
    hosts: list[Namespace], tmp_path: Path
) -> None:
    before = [bytes_through(host) for host in hosts]
    with ExitStack() as stack:
        ranks = []
        for rank in range(4):
            options = {"addresses": ADDRESSES[rank // 2], "silence_timeout_s": 20.0}
            task = {"rank": rank, "ranks": 4, "store": str(tmp_path), "kind": "stars"}
            task |= {"items": ITEMS, "options": options, "collectives": COLLECTIVES}
            ranks.append(Rank(hosts[rank // 2].command([])))
            stack.callback(ranks[-1].end)
            ranks[-1].be(task)
        for process in ranks:
            assert process.hear() == {"event": "running"}
        said = [process.hear() for process in ranks]
    assert [words["event"] for words in said] == ["done"] * 4
    assert [words["shares_with"] for words in said] == [[1], [0], [3], [2]]
    # Of two stars on each host, each gets the other host's two contributions and sends them back.
    payload_bytes = COLLECTIVES * ITEMS * 4 * 2
    for host, carried in zip(hosts, before, strict=True):
        for after, then in zip(bytes_through(host), carried, strict=True):
            assert 0.4 * payload_bytes < after - then < 0.7 * payload_bytes
