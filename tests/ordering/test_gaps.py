"""Pairs that were not measured: bounds that hold all the same, and costs as ranges."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import astuple

from benchkit import ring_instances
from benchkit.datacenters import FAMILIES
from ordering.clusters import cluster_of
from ordering.gaps import SHARES, hidden, least_cost_us, lognormal, metric
from plink.base.replacing import replace
from plink.formats.order import CostRange, Order
from plink.model.distance import distances
from plink.model.network import build_network
from plink.optimize.orders.latency import LatencyObjective
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.registry import find
from plink.solvers.contention.time import TableTimer
from plink.solvers.limits import Deadline
from plink.solvers.search import SearchOptions
from plink.solvers.slots.layout import RankLayout
from prediction.clusters import rack_cluster
from support.seeds import with_seeds

QUICK_S = 0.05
SLACK = 1.0 + 1e-9

Matrix = npt.NDArray[np.float64]


@pytest.fixture(autouse=True)
def _few_random_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    # What random orders cost is of no interest here, and takes most of the time.
    monkeypatch.setattr("plink.optimize.orders.ordering.RANDOM_ORDERS", 3)


def shares(seed: int) -> list[float]:
    """Two of them."""
    return random.Random(seed).sample(SHARES, 2)


def first_of(family: str) -> Callable[[int, int], Matrix]:
    """Some hosts of a generated data centre."""
    return lambda size, seed: FAMILIES[family](48, seed).distance[:size, :size].copy()


WHOLES = {
    "lognormal": lognormal,
    "metric": metric,
    "uniform": first_of("uniform"),
    "unequal": first_of("unequal"),
}


@pytest.mark.parametrize("kind", WHOLES)
@with_seeds(1, 20)
def test_no_bound_is_above_the_cheapest_order_there_is(kind, seed):
    for algorithm, size in (("ring", 6), ("ring", 11), ("halving-doubling", 8), ("tree", 7)):
        whole = WHOLES[kind](size, seed)
        least_us = least_cost_us(algorithm, whole)
        for share in shares(seed):
            order = find_order(
                cluster_of(hidden(whole, share, seed)),
                OrderRequest(algorithm=algorithm, time_limit_s=QUICK_S),
            )
            check_range(order, least_us)


def check_range(order: Order, least_us: float) -> None:
    assert order.cost.lower_bound_us <= least_us * SLACK
    if order.filled_pairs:
        low_us, high_us = astuple(order.cost.range_us)
        assert order.cost.lower_bound_us <= low_us * SLACK <= order.cost.cost_us * SLACK**2
        assert high_us is None or order.cost.cost_us <= high_us * SLACK


def test_what_is_proven_of_distances_that_were_filled_in_would_be_wrong():
    # The test above can fail: what a search proves of filled distances is often too much.
    wrong = 0
    for seed in range(8):
        whole = lognormal(8, seed)
        filled = distances(cluster_of(hidden(whole, 0.5, seed)))
        naive = LatencyObjective(find("ring").form(8), filled.matrix_us, RankLayout([1] * 8, 8))
        bound_us = naive.solve(range(8), SearchOptions(Deadline(QUICK_S))).lower_bound
        wrong += bound_us > least_cost_us("ring", whole) * SLACK
    assert wrong >= 2


def test_a_bound_is_known_where_few_pairs_are_missing():
    for seed in range(2):
        whole = metric(10, seed)
        readings = whole.copy()
        readings[2, 7] = readings[7, 2] = np.nan
        order = find_order(cluster_of(readings), OrderRequest(time_limit_s=QUICK_S))
        best_us = least_cost_us("ring", whole)
        assert 0.5 * best_us < order.cost.lower_bound_us <= best_us * SLACK
        assert order.gap < 0.6


@pytest.mark.parametrize(("sizes", "share"), [([16] * 4, 0.9), ([8, 24, 13, 30, 5], 0.5)])
def test_no_bound_of_a_large_ring_is_above_the_known_best(sizes, share):
    whole, best_us = ring_instances.racks(sizes, 3)
    order = find_order(cluster_of(hidden(whole, share, 1)), OrderRequest(time_limit_s=QUICK_S))
    assert order.cost.lower_bound_us <= best_us * SLACK
    low_us, high_us = astuple(order.cost.range_us)
    assert low_us <= ring_of(whole, order) * SLACK
    assert high_us is None or ring_of(whole, order) <= high_us * SLACK


@pytest.mark.parametrize("ranks", [5, 12])
@with_seeds(1, 20)
def test_no_bound_of_a_choice_of_hosts_is_above_the_best_choice(ranks, seed):
    whole, _ = ring_instances.racks([5, 5, 4], seed)
    for slots in (1, 2):
        request = OrderRequest(ranks=ranks * slots, slots=slots, time_limit_s=QUICK_S)
        best = find_order(cluster_of(whole), request)
        assert best.solver.ended_by == "exact"
        for share in shares(seed):
            order = find_order(cluster_of(hidden(whole, share, seed)), request)
            assert order.cost.lower_bound_us <= best.cost.cost_us * SLACK


@with_seeds(1, 20)
def test_no_bound_of_ranks_that_are_apart_is_above_the_best_placement(seed):
    whole = lognormal(4, seed)
    request = OrderRequest(
        algorithm="tree", ranks=6, slots=2, interleave=True, time_limit_s=QUICK_S
    )
    best = find_order(cluster_of(whole), request)
    for share in shares(seed):
        order = find_order(cluster_of(hidden(whole, share, seed)), request)
        assert order.cost.lower_bound_us <= best.cost.cost_us * SLACK


@pytest.mark.parametrize("share", [0.25, 0.75])
@with_seeds(1, 20)
def test_no_bound_of_a_time_is_above_the_quickest_order(share, seed):
    whole = rack_cluster(2, 3)
    assert whole.rtt is not None
    for algorithm in ("gloo-ring", "openmpi-rabenseifner"):
        readings = lognormal(6, seed)
        np.fill_diagonal(readings, np.nan)
        request = OrderRequest(algorithm=algorithm, size=100, time_limit_s=QUICK_S)
        full = replace(whole, rtt=replace(whole.rtt, rtt_us={10.0: readings}))
        best = find_order(full, request)
        assert (best.objective, best.solver.ended_by) == ("contention", "exact")
        known = replace(whole.rtt, rtt_us={10.0: hidden(readings, share, seed)})
        order = find_order(replace(whole, rtt=known), request)
        assert order.cost.lower_bound_us <= best.cost.cost_us * SLACK
        placement = [full.names.index(name) for name in order.names]
        clock = TableTimer(find(algorithm).table(6, 100), build_network(full).network)
        assert order.cost.range_us.low_us <= clock.time_s(placement) * 1e6 * SLACK


@pytest.mark.parametrize("algorithm", ["ring", "halving-doubling", "tree"])
@with_seeds(1, 20)
def test_a_range_holds_the_true_cost_where_ways_round_are_no_shorter(algorithm, seed):
    whole = metric(16, seed)
    for share in shares(seed):
        order = find_order(
            cluster_of(hidden(whole, share, seed)),
            OrderRequest(algorithm=algorithm, time_limit_s=QUICK_S),
        )
        hosts = [int(name[1:]) for name in order.names]
        true_us = latency_cost(find(algorithm).form(16), whole, hosts)
        low_us, high_us = astuple(order.cost.range_us)
        assert low_us <= true_us * SLACK
        assert high_us is None or true_us <= high_us * SLACK
        assert order.gap == 1.0 or high_us is not None


@with_seeds(1, 20)
def test_a_range_holds_the_true_cost_of_hosts_that_were_chosen(seed):
    whole = metric(9, seed)
    for request in (
        OrderRequest(ranks=6, time_limit_s=QUICK_S),
        OrderRequest(algorithm="tree", slots=2, ranks=7, time_limit_s=QUICK_S),
        OrderRequest(algorithm="tree", slots=2, ranks=7, interleave=True, time_limit_s=QUICK_S),
    ):
        order = find_order(cluster_of(hidden(whole, 0.5, seed)), request)
        hosts = [int(name[1:]) for name in order.names]
        of_rank = (
            np.repeat(hosts, [host.slots for host in order.hosts])
            if order.host_of_rank is None
            else np.take(hosts, order.host_of_rank)
        )
        true_us = latency_cost(find(request.algorithm).form(order.ranks), whole, of_rank.tolist())
        low_us, high_us = astuple(order.cost.range_us)
        assert low_us <= true_us * SLACK
        assert high_us is None or true_us <= high_us * SLACK


def test_ranges_of_generated_data_centres_hold_the_true_cost_though_they_are_no_metric():
    holding = []
    for family, share in itertools.product(FAMILIES, (0.5, 0.75)):
        whole = FAMILIES[family](64, 1).distance
        order = find_order(cluster_of(hidden(whole, share, 1)), OrderRequest(time_limit_s=QUICK_S))
        low_us, high_us = astuple(order.cost.range_us)
        true_us = ring_of(whole, order)
        assert low_us <= true_us
        holding.append(high_us is None or true_us <= high_us)
    assert np.mean(holding) >= 0.9


@with_seeds(1, 20)
def test_an_engine_proves_only_what_the_lower_limits_prove(seed):
    whole = lognormal(7, seed)
    request = OrderRequest(
        algorithm="tree", time_limit_s=QUICK_S, prove_s=5.0, engine="brute-force"
    )
    best_us = least_cost_us("tree", whole)
    for share in shares(seed):
        order = find_order(cluster_of(hidden(whole, share, seed)), request)
        assert order.cost.lower_bound_us <= best_us * SLACK
        assert order.proof is not None
        if order.proof.outcome == "optimal":
            assert order.cost.cost_us == pytest.approx(best_us)


def test_an_engine_proves_what_a_missing_pair_cannot_change():
    request = OrderRequest(time_limit_s=QUICK_S, prove_s=1.0, engine="brute-force")
    # Rings that use the missing pair have to pass the long one, too.
    square = np.array([[0, 1, np.nan, 1], [1, 0, 1, 9], [np.nan, 1, 0, 1], [1, 9, 1, 0]])
    order = find_order(cluster_of(square), request)
    assert (order.proof.outcome, order.gap) == ("optimal", 0.0)
    assert order.cost.range_us == CostRange(4.0, 4.0)
    # Every cheapest ring needs the missing pair, so that nobody knows how cheap it is.
    pairs = np.array([[0, np.nan, 9, 9], [np.nan, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]])
    order = find_order(cluster_of(pairs), request)
    assert order.proof.outcome == "gave-up"
    assert order.cost.lower_bound_us == pytest.approx(19.0)
    assert order.cost.range_us == CostRange(19.0, 37.0)


def ring_of(whole: Matrix, order) -> float:
    """What the order's ring costs on all distances."""
    hosts = [int(name[1:]) for name in order.names]
    return float(whole[hosts, np.roll(hosts, -1)].sum())
