"""Hosts with two interfaces each: in one network with two ranks on each host, or unequal ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchkit.interfaces import address, hosts_with_interfaces
from engine.processes import Rank
from labkit.fleeting import Namespace
from labkit.ported import PortedHost, PortedRack, ported_racks
from support.require import require_root

pytestmark = pytest.mark.timing

RATES_MBIT_S = (160, 40)
ITEMS = 500_000
COLLECTIVES = 4


@pytest.fixture
def hosts() -> Iterator[list[PortedHost]]:
    """Each sends by the interface whose address it sends from, as clouds set their machines up."""
    require_root()
    with ported_racks([PortedRack([[None, None]] * 2)]) as hosts:
        yield hosts


@pytest.fixture
def unequal_hosts() -> Iterator[list[Namespace]]:
    """The second interface has a quarter of the first one's rate."""
    require_root()
    with hosts_with_interfaces([RATES_MBIT_S] * 2) as hosts:
        yield hosts


def test_a_slow_interface_gets_its_share_only(
    unequal_hosts: list[Namespace], tmp_path: Path
) -> None:
    """Turn by turn the slow one would carry half."""
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


def test_every_interface_carries_its_share_both_ways_and_a_host_shares_memory(
    hosts: list[PortedHost], tmp_path: Path
) -> None:
    before = [host.bytes_through() for host in hosts]
    with ExitStack() as stack:
        ranks = []
        for rank in range(4):
            options = {"addresses": hosts[rank // 2].addresses, "silence_timeout_s": 20.0}
            task = {"rank": rank, "ranks": 4, "store": str(tmp_path), "kind": "stars"}
            task |= {"items": ITEMS, "options": options, "collectives": COLLECTIVES}
            ranks.append(Rank(hosts[rank // 2].namespace.command([])))
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
        for after, then in zip(host.bytes_through(), carried, strict=True):
            for sent, already in zip(after, then, strict=True):
                assert 0.4 * payload_bytes < sent - already < 0.7 * payload_bytes
