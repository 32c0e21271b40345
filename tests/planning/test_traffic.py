"""What collectives send along plans, how long they take, and what links need at least."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contention.instances import networks
from forests.instances import racks
from plink.optimize.plans.candidates import KINDS, build, explain_refusal
from plink.optimize.plans.traffic import (
    SMALL_BYTES,
    Demand,
    build_traffic,
    compute_least_exchange,
    measure_traffic,
    traffic_time_s,
)
from plink.plans.forest import make_forest
from plink.plans.names import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, COLLECTIVES, REDUCE_SCATTER
from plink.solvers.contention.network import make_network
from plink.solvers.forests.kinds import flat, ring
from plink.solvers.forests.lower_bound import lower_bound_s

S = 20e6
B = 50e6


def time_of(collective, forest, network, size=S, **others):
    traffic = build_traffic(Demand(collective, size, **others), forest)
    return traffic_time_s(traffic, np.arange(network.hosts), network)


def bound_of(collective, network, size=S, **others):
    return lower_bound_s(
        network,
        compute_least_exchange(Demand(collective, size, **others), np.arange(network.hosts)),
    )


def bytes_of(collective, forest, size=S, **others):
    ranks = range(forest.ranks)
    found = build_traffic(Demand(collective, size, **others), forest)
    return measure_traffic(found, list(ranks), list(ranks))


@given(networks(6), st.sampled_from(COLLECTIVES), st.data())
def test_no_plan_is_quicker_than_the_bound(network, collective, data):
    others = {"root": data.draw(st.integers(0, 5))}
    least_s = bound_of(collective, network, **others)
    order = data.draw(st.permutations(range(6)))
    for kind in KINDS:
        if explain_refusal(kind, network) is None:
            forest = build(kind, network, order, np.arange(6))
            time_s = time_of(collective, forest, network, **others)
            assert least_s <= time_s * (1.0 + 1e-9)


def test_a_reduce_scatter_and_an_all_gather_are_the_two_halves_of_an_all_reduce():
    network = racks([4, 4, 4, 4], host=B, uplink=B / 2)
    for kind in ("2lha", "flat", "ring"):
        forest = build(kind, network, list(range(16)), np.arange(16))
        both = [bytes_of(name, forest) for name in (REDUCE_SCATTER, ALL_GATHER)]
        whole = bytes_of(ALL_REDUCE, forest)
        assert sum(each.wire_bytes for each in both) == pytest.approx(whole.wire_bytes)
        assert sum(each.rounds for each in both) == whole.rounds
        took_s = [time_of(name, forest, network) for name in (REDUCE_SCATTER, ALL_GATHER)]
        assert sum(took_s) == pytest.approx(time_of(ALL_REDUCE, forest, network), rel=0.01)
    # Two levels meet the bound of both, as they do that of the all-reduce.
    forest = build("2lha", network, list(range(16)), np.arange(16))
    for name in (REDUCE_SCATTER, ALL_GATHER):
        least_s = S * (1 - 1 / 4) / (B / 2)
        assert bound_of(name, network) == pytest.approx(least_s)
        assert time_of(name, forest, network) == pytest.approx(least_s, rel=0.01)


def test_a_large_broadcast_is_spread_over_all_stars_and_a_small_one_goes_along_one():
    network = make_network(8, send_bytes_s=B, receive_bytes_s=B)
    star = make_forest(*flat(network.send_bytes_s))
    # A scatter and an all-gather, of which the root does its own eighth alone.
    large = bytes_of("broadcast", star, root=3)
    assert large.sent_bytes == pytest.approx([S * 6 / 8] * 3 + [S * 14 / 8] + [S * 6 / 8] * 4)
    assert large.received_bytes == pytest.approx([S] * 3 + [0.0] + [S] * 4)
    small = bytes_of("broadcast", star, size=SMALL_BYTES, root=3)
    assert small.sent_bytes == pytest.approx([0.0] * 3 + [7 * SMALL_BYTES] + [0.0] * 4)
    reduced = bytes_of("reduce", star, root=3)
    assert reduced.sent_bytes == pytest.approx(large.received_bytes)
    # Along a ring both neighbours of the root are sent nearly all of it.
    around = make_forest(*ring(range(8)))
    assert bytes_of("broadcast", around, root=3).sent_bytes[3] == pytest.approx(S * (2 - 2 / 8))


def test_messages_between_pairs_go_straight():
    network = racks([2, 2], host=B, uplink=B, latency=1e-3)
    forest = build("2lha", network, [0, 1, 2, 3], np.arange(4))
    gathered = bytes_of("gather", forest, root=1)
    assert gathered.received_bytes == pytest.approx([0.0, 0.75 * S, 0.0, 0.0])
    assert bytes_of("scatter", forest, root=1).sent_bytes == pytest.approx(gathered.received_bytes)
    exchanged = bytes_of(ALL_TO_ALL, forest)
    assert exchanged.sent_bytes == pytest.approx([0.75 * S] * 4)
    # Each host of a rack sends half of its buffer to the other rack.
    assert bound_of(ALL_TO_ALL, network) == pytest.approx(S / B)
    took_s = time_of(ALL_TO_ALL, forest, network)
    assert took_s == pytest.approx(S / B + 1e-3, rel=0.01)
    # A message waits for the request of whoever receives it.
    assert time_of("send-receive", forest, network) == pytest.approx(S / B + 2e-3, rel=0.01)


def test_a_barrier_is_an_all_reduce_of_one_number():
    network = racks([4, 4], host=B, uplink=B, latency=1e-3)
    forest = build("flat", network, list(range(8)), np.arange(8))
    assert time_of("barrier", forest, network, size=S) == time_of(
        ALL_REDUCE, forest, network, size=8
    )


def test_ranks_of_a_host_exchange_data_for_free():
    network = make_network(2, send_bytes_s=B, receive_bytes_s=B)
    hosts = np.array([0, 0, 1, 1])
    forest = build("flat", network, [0, 1], hosts)
    for name in COLLECTIVES:
        demand = Demand(name, S)
        took_s = traffic_time_s(build_traffic(demand, forest), hosts, network)
        least_s = lower_bound_s(network, compute_least_exchange(demand, hosts))
        assert least_s <= took_s
        if name in (REDUCE_SCATTER, ALL_GATHER, ALL_TO_ALL):
            # Half of the segments are on the other host; of an all-to-all for either rank.
            once_s = S / 2 / B * (2 if name == ALL_TO_ALL else 1)
            assert least_s == pytest.approx(once_s)
            assert took_s == pytest.approx(once_s, rel=0.05)
    one = make_network(1, send_bytes_s=B, receive_bytes_s=B)
    for name in COLLECTIVES:
        assert lower_bound_s(one, compute_least_exchange(Demand(name, S), [0, 0])) == 0.0


def test_a_demand_needs_a_known_collective():
    with pytest.raises(ValueError, match="no collective 'allgather'"):
        Demand("allgather", S)
