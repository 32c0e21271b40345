"""Collectives whose ranks go on by themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contention.flows_reference import run_time_s
from contention.instances import networks, racks_network, tables
from plink.base.replacing import replace
from plink.solvers.collectives.registry import find
from plink.solvers.collectives.steps import PeerTable, Round
from plink.solvers.contention.flows import (
    ALWAYS,
    EAGER_BYTES,
    KEPT_S,
    FlowClock,
    SharedLinks,
    SoftwareCosts,
    Trunk,
    draw_turns,
    shared_links,
    with_sockets,
)
from plink.solvers.contention.network import Network, make_network
from plink.solvers.contention.stages import split
from plink.solvers.contention.time import TableTimer

NOTHING = SoftwareCosts()
RATE = 50e6


def clock_of(
    table: PeerTable, network: Network, links: SharedLinks, order: Sequence[int] | None = None
) -> FlowClock:
    return FlowClock(table, order or list(range(table.ranks)), network.latency_s, links)


def exchange(size_bytes: float) -> PeerTable:
    both = Round(np.array([0, 1]), np.array([1, 0]), np.full(2, size_bytes))
    return PeerTable(2, [both])


def two_hosts() -> Network:
    return make_network(2, send_bytes_s=RATE, receive_bytes_s=RATE)


COSTS = st.builds(
    SoftwareCosts,
    st.floats(0.0, 2.0),
    st.floats(0.0, 1.0),
    st.floats(0.0, 0.5),
    st.floats(0.0, 1.0),
)


@given(st.data(), COSTS, st.integers(0, 1 << 30), st.sampled_from([0.0, 3.0, 1e5]))
def test_the_native_clock_is_its_plain_twin(
    data: st.DataObject, costs: SoftwareCosts, seed: int, burst_bytes: float
) -> None:
    network = data.draw(networks(4))
    table = data.draw(tables(4))
    scale = data.draw(st.sampled_from([1.0, EAGER_BYTES]))
    rounds = [
        Round(step.sources, step.destinations, step.sizes_bytes * scale) for step in table.rounds
    ]
    links = shared_links(network, burst_bytes=burst_bytes)
    order = data.draw(st.permutations(range(4)))
    clock = clock_of(PeerTable(4, rounds), network, links, order)
    slice_s = data.draw(st.sampled_from([0.0, 0.004, 0.3]))
    costs = replace(costs, slice_s=slice_s, cores=data.draw(st.integers(0, 4)))
    messages, used = clock.messages(costs, seed), links
    turns = draw_turns(4, costs.cores, costs.slice_s, seed)
    if turns.cycle_s > 0.0:
        messages, used = with_sockets(messages, links, turns, costs.kept_s)
    plain_s = run_time_s(messages, used, costs.reduction_s_byte, turns)
    assert clock.time_s(costs, seed) == pytest.approx(plain_s, rel=1e-9, abs=1e-12)


def test_an_exchange_takes_both_ways_at_once_or_one_after_the_other() -> None:
    network = two_hosts()
    clock = clock_of(exchange(10e6), network, shared_links(network))
    assert clock.time_s(NOTHING) == pytest.approx(0.2, rel=2e-3)
    assert clock.time_s(SoftwareCosts(serialised=1.0)) == pytest.approx(0.4, rel=2e-3)
    some = [clock.time_s(SoftwareCosts(serialised=0.5), seed) for seed in range(200)]
    assert np.mean(some) == pytest.approx(0.3, abs=0.03)


def test_small_messages_are_never_serialised_and_never_ask_first() -> None:
    network = two_hosts()
    clock = clock_of(exchange(EAGER_BYTES), network, shared_links(network))
    assert clock.time_s(SoftwareCosts(rendezvous_s=1.0, serialised=1.0)) < 0.01


def test_a_bucket_lets_its_bytes_pass_at_once() -> None:
    network = two_hosts()
    clock = clock_of(exchange(10e6), network, shared_links(network, burst_bytes=1e6))
    assert clock.time_s(NOTHING) == pytest.approx(9.0 / 50.0, rel=0.02)


def test_a_trunk_is_shared_by_its_groups() -> None:
    network = make_network(4, group_of=[0, 1, 2, 3], send_bytes_s=RATE, receive_bytes_s=RATE)
    links = shared_links(
        network,
        [Trunk((0, 1), RATE, RATE), Trunk((2, 3), RATE, RATE)],
    )
    across = Round(np.array([0, 1]), np.array([2, 3]), np.full(2, 10e6))
    within = Round(np.array([0, 2]), np.array([1, 3]), np.full(2, 10e6))
    times = [
        clock_of(PeerTable(4, [step]), network, links).time_s(NOTHING) for step in (across, within)
    ]
    assert times == pytest.approx([0.4, 0.2], rel=2e-3)


@pytest.mark.parametrize("ranks", [8, 12, 17])
def test_a_ring_takes_what_links_allow(ranks: int) -> None:
    network = racks_network(4, 5)
    table = find("openmpi-ring").table(ranks, 20_000_000)
    order = np.random.default_rng(1).permutation(20)[:ranks].tolist()
    synchronous_s = TableTimer(table, network).time_s(order)
    found_s = clock_of(table, network, shared_links(network), order).time_s(NOTHING)
    assert found_s == pytest.approx(synchronous_s, rel=0.02)


@pytest.mark.parametrize("name", ["openmpi-rabenseifner", "openmpi-recursive-doubling"])
def test_no_time_is_below_what_the_busiest_link_needs(name: str) -> None:
    network = racks_network(4, 5)
    links = shared_links(network)
    table = find(name).table(17, 20_000_000)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(20)[:17].tolist()
        least_s = links.carried_s(split(table)[0], order)
        assert clock_of(table, network, links, order).time_s(NOTHING) >= least_s * 0.998


def test_ranks_take_turns_only_where_they_outnumber_cores() -> None:
    assert draw_turns(4, 4, 0.004, 1) == ALWAYS
    assert draw_turns(4, 0, 0.004, 1) == ALWAYS
    assert draw_turns(4, 2, 0.0, 1) == ALWAYS
    turns = draw_turns(7, 2, 0.004, 1)
    assert turns.cycle_s == pytest.approx(0.014)
    assert sorted(turns.begins_s) == pytest.approx([0, 0, 0.004, 0.004, 0.008, 0.008, 0.012])
    assert turns != draw_turns(7, 2, 0.004, 2)


def test_small_rings_wait_half_a_cycle_each_round() -> None:
    # Where predecessors are as often earlier in the cycle as later, a message goes on two ranks in
    # each.
    network = make_network(24, send_bytes_s=RATE, receive_bytes_s=RATE)
    clock = clock_of(find("mpich-ring").table(24, 24_000), network, shared_links(network))
    costs = SoftwareCosts(slice_s=0.004, cores=2)
    some = [clock.time_s(costs, seed) for seed in range(60)]
    assert np.mean(some) == pytest.approx(46 * 0.048 / 2, rel=0.07)


def test_sockets_send_for_a_while_without_their_ranks() -> None:
    network = make_network(24, send_bytes_s=RATE, receive_bytes_s=RATE)
    ends = np.arange(24)
    for size_bytes, least, most in ((RATE * KEPT_S * 0.9, 0.0, 0.1), (50e6, 2.0, 2.4)):
        table = PeerTable(24, [Round(ends, (ends + 12) % 24, np.full(24, size_bytes))])
        clock = clock_of(table, network, shared_links(network))
        free_s, turns_s = (
            clock.time_s(costs) for costs in (NOTHING, SoftwareCosts(slice_s=0.004, cores=2))
        )
        assert free_s * max(1.0, least) <= turns_s <= free_s * most + 2 * 0.048


def test_a_group_is_below_one_trunk() -> None:
    with pytest.raises(ValueError, match="one trunk"):
        shared_links(
            make_network(2, group_of=[0, 1]), [Trunk((0,), 1.0, 1.0), Trunk((0, 1), 1.0, 1.0)]
        )
