"""What an order is predicted to cost: by latency, and under contention."""

from __future__ import annotations

import numpy as np
import pytest

from plink.base.errors import WrongUseError
from plink.model.network import build_network
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.optimize.prediction import Predictor, forecast_costs, known_distances
from plink.solvers.collectives.registry import find
from prediction.clusters import rack_cluster


def predictor(name, cluster, size_bytes=10_000_000):
    network = build_network(cluster)
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


def test_an_order_is_predicted_with_every_rank_on_its_host():
    cluster = rack_cluster(2, 2)
    order = find_order(cluster, OrderRequest(objective="latency", time_limit_s=0.1))
    found = forecast_costs(cluster, order, 1_000_000, algorithms=["ring", "bcube"])
    assert [row.algorithm for row in found.rows] == ["ring", "bcube"]
    assert found.rows[0].order is not None
    assert found.rows[0].order.latency_us == pytest.approx(order.cost.cost_us)
    assert found.source == cluster.source


def test_an_order_of_other_hosts_and_unknown_algorithms_are_refused():
    cluster = rack_cluster(2, 2)
    order = find_order(rack_cluster(2, 3), OrderRequest(time_limit_s=0.1))
    with pytest.raises(WrongUseError, match=r"^o: h\d+ is not a host of the cluster$"):
        forecast_costs(cluster, order, 1_000_000, source="o")
    with pytest.raises(WrongUseError, match="there is no algorithm 'rign'"):
        forecast_costs(cluster, None, 1_000_000, algorithms=["rign"])
    with pytest.raises(WrongUseError, match="bcube needs a power of 4"):
        forecast_costs(rack_cluster(2, 3), None, 1_000_000, algorithms=["bcube"])
