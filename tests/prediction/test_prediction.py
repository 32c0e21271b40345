"""What an order is predicted to cost: by latency, and under contention."""

from __future__ import annotations

import numpy as np
import pytest

from plink.model.network import network_of
from plink.optimize.prediction import Predictor, known_distances
from prediction.clusters import rack_cluster
from solvers.collectives.registry import find


def predictor(name, cluster, size_bytes=10_000_000):
    network = network_of(cluster)
    ranks = len(cluster.hosts)
    return Predictor(
        find(name), ranks, size_bytes, distances=known_distances(cluster), network=network
    )


def test_a_gloo_ring_over_racks_takes_as_long_as_its_crossings_say():
    cluster = rack_cluster(4, 4)
    ring = predictor("gloo-ring", cluster)
    in_racks = np.argsort(np.arange(16) % 4, kind="stable")
    # 2 x 15/16 of 10 MB at 0.4 Gbit/s, once and four times.
    assert ring.cost(in_racks).time_s == pytest.approx(0.375, abs=0.002)
    assert ring.cost(range(16)).time_s == pytest.approx(1.5, abs=0.002)
    assert ring.cost(in_racks).latency_us == pytest.approx(12 * 20 + 4 * 50)


def test_without_rates_there_are_latencies_only():
    cost = predictor("gloo-ring", rack_cluster(2, 2, has_uplinks=False)).cost(range(4))
    assert cost.time_s is None
    assert cost.latency_us == 200.0
