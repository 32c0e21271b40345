"""From a cluster to an order: costs, what is recorded, and when the gain is doubted."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchkit import ring_instances
from ordering.clusters import cluster_of, racks
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.quality import doubt
from plink.optimize.orders.request import OrderRequest
from plink.solvers.search import RANDOM_ORDERS


def test_racks_are_put_in_sequence_and_all_costs_are_told():
    cluster, cost_us = racks([4, 4, 4, 4])
    order = find_order(cluster, OrderRequest(seed=3, time_limit_s=10))
    assert order.cost.cost_us == pytest.approx(cost_us)
    assert order.cost.lower_bound_us <= order.cost.cost_us <= order.cost.listed_us
    # In a random ring, 12 of 15 neighbours stand in another rack.
    assert order.cost.random_us == pytest.approx(16 * (12 * 60 + 3 * 20) / 15, rel=0.05)
    assert order.gap < 0.05
    assert sorted(order.names) == sorted(cluster.names) == sorted(order.listed)
    assert order.names[0] == order.listed[0]
    assert (order.solver.seed, order.random_orders) == (3, RANDOM_ORDERS)
    assert doubt(order) is None


@pytest.mark.parametrize("size", [1, 2, 3])
def test_few_hosts_keep_their_order(size):
    order = find_order(cluster_of(np.full((size, size), 7.0)), OrderRequest(seed=0, time_limit_s=1))
    assert order.names == [f"h{i}" for i in range(size)]
    assert order.cost.cost_us == order.cost.listed_us == order.cost.lower_bound_us
    assert order.cost.cost_us == pytest.approx({1: 0.0, 2: 14.0, 3: 21.0}[size])
    assert order.solver.ended_by == "exact"
    assert ("one order only" if size == 1 else "costs the same") in str(doubt(order))


def test_a_single_host_without_measurement_is_an_order():
    order = find_order(Cluster([Host("a", "10.0.0.1")]), OrderRequest(seed=0, time_limit_s=1))
    assert (order.names, order.cost.cost_us, order.gap) == (["a"], 0.0, 0.0)


def test_filled_pairs_and_unmeasured_hosts_are_recorded():
    cluster, _ = racks([3, 3])
    readings = cluster.rtt.readings_us
    readings[5, :] = readings[:, 5] = np.nan
    readings[0, 1] = readings[1, 0] = np.nan
    order = find_order(cluster_of(readings), OrderRequest(seed=0, time_limit_s=1))
    assert order.filled_pairs == 5 + 1
    assert order.unmeasured_hosts == ["h5"]


@pytest.mark.parametrize("seed", range(5))
def test_pure_noise_is_called_so(seed):
    rng = np.random.default_rng(seed)
    readings = 50.0 + rng.normal(0.0, 5.0, (24, 24))
    order = find_order(cluster_of(readings), OrderRequest(seed=0, time_limit_s=2))
    assert order.cost.cost_us < 0.9 * order.cost.random_us
    assert "this may be noise" in str(doubt(order))


def test_equal_distances_are_called_structureless():
    order = find_order(cluster_of(np.full((20, 20), 50.0)), OrderRequest(seed=0, time_limit_s=2))
    assert order.names == order.listed
    assert "as a random one" in str(doubt(order))


@pytest.mark.parametrize("noise_us", [0.0, 1.0, 10.0])
def test_racks_under_noise_are_not_doubted(noise_us):
    measured = ring_instances.data_centre(48, seed=1, rack=8, racks_per_row=2)
    noise = np.random.default_rng(2).exponential(noise_us, measured.shape)
    order = find_order(cluster_of(measured + noise), OrderRequest(seed=0, time_limit_s=3))
    assert order.confirmed_gain is not None
    assert doubt(order) is None


def test_a_percentile_stands_for_a_pair_where_it_is_asked_for():
    cluster, _ = racks([4, 4])
    assert cluster.rtt is not None
    flat = np.where(np.isnan(cluster.rtt.rtt_us[10.0]), np.nan, 7.0)
    both = replace(cluster, rtt=replace(cluster.rtt, rtt_us={**cluster.rtt.rtt_us, 50.0: flat}))
    order = find_order(both, OrderRequest(percentile=50.0, time_limit_s=0.2))
    assert order.cost.cost_us == pytest.approx(8 * 7.0)
    assert order.solver.options["reading"] == "p50"
    with pytest.raises(WrongUseError, match=r"the cluster: .*99"):
        find_order(both, OrderRequest(percentile=99.0))


def test_a_cluster_without_readings_is_called_by_its_file():
    hosts = [Host("a", "10.0.0.1"), Host("b", "10.0.0.2")]
    with pytest.raises(WrongUseError, match=r"c\.json: holds no round-trip times"):
        find_order(Cluster(hosts, source="c.json"))
    with pytest.raises(WrongUseError, match="the cluster: holds no") as refused:
        find_order(Cluster(hosts))
    assert "plink probe measures them" in str(refused.value.hint)


def test_one_measurement_confirms_nothing_and_casts_no_doubt():
    cluster, _ = racks([4, 4, 4])
    order = find_order(cluster, OrderRequest(seed=0, time_limit_s=1))
    assert order.confirmed_gain is None
    assert doubt(order) is None


def test_an_interrupt_keeps_the_best_so_far():
    points = np.random.default_rng(1).random((200, 2))
    calls = itertools.count()

    def interrupt(_):
        if next(calls) == 1:
            raise KeyboardInterrupt

    request = OrderRequest(seed=0, time_limit_s=60)
    order = find_order(cluster_of(ring_instances.euclidean(points)), request, interrupt)
    assert order.solver.ended_by == "interrupt"
    assert order.cost.cost_us <= order.cost.listed_us
