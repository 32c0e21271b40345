"""Orders spread over what is predicted for them."""

from __future__ import annotations

import numpy as np

from plink.bench.spread import spread_orders
from plink.model.network import build_network
from plink.optimize.prediction import Predictor, known_distances
from plink.solvers.collectives.registry import find
from prediction.clusters import rack_cluster


def spread(cluster, count, seed=1):
    network = build_network(cluster)
    ranks = len(cluster.hosts)
    predictor = Predictor(
        find("gloo-ring"), ranks, 10**7, distances=known_distances(cluster), network=network
    )
    return predictor, spread_orders(predictor, network, count, seed)


def test_both_forms_are_covered_from_the_best_to_the_worst():
    predictor, orders = spread(rack_cluster(4, 4), 12)
    assert len(set(orders)) == 12
    assert all(sorted(order) == list(range(16)) for order in orders)
    times_s = [predictor.cost(order).time_s for order in orders]
    # Every number of crossings that there can be.
    assert set(np.round(np.array(times_s) / 0.375)) == {1, 2, 3, 4}
    latencies_us = [predictor.cost(order).latency_us for order in orders]
    assert min(latencies_us) == 12 * 20 + 4 * 50
    assert max(latencies_us) > 0.9 * 16 * 50


def test_the_seed_decides():
    assert spread(rack_cluster(2, 3), 5)[1] == spread(rack_cluster(2, 3), 5)[1]
    assert spread(rack_cluster(2, 3), 5)[1] != spread(rack_cluster(2, 3), 5, seed=2)[1]


def test_latency_alone_is_spread_where_no_rate_is_known():
    predictor, orders = spread(rack_cluster(2, 3, has_uplinks=False), 10)
    found = {predictor.cost(order).latency_us for order in orders}
    assert {4 * 20 + 2 * 50, 6 * 50} <= found


def test_no_more_orders_come_than_there_are():
    assert len(spread(rack_cluster(1, 3), 12)[1]) == 6
