"""What orders and predictions work on: the best estimate of distances, or readings as they are."""

from __future__ import annotations

import json

import numpy as np
import pytest

import plink
from ordering.clusters import cluster_of
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.cli import run
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.groups import Grouping, Partition
from plink.formats.hosts import Group
from plink.formats.measurements import Halves
from plink.model.distance import distances
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.optimize.prediction import forecast_costs

RACK = np.repeat(np.arange(5), 2)
SIZE = len(RACK)
WITHIN_US, BETWEEN_US = 10.0, 13.0


def beside_load(seed: int = 1) -> Cluster:
    """Five racks of two, read in two passes; the pair of one rack met a slow core in both."""
    rng = np.random.default_rng(seed)
    truth = np.where(RACK[:, None] == RACK[None, :], WITHIN_US, BETWEEN_US)
    slow = np.where(rng.random((2, SIZE, SIZE)) < 0.3, 1.4, 1.0)
    odd, even = truth * slow * np.exp(np.abs(rng.normal(0.0, 0.01, slow.shape)))
    odd[0, 1], odd[1, 0], even[0, 1], even[1, 0] = 13.6, 15.9, 14.3, 17.2
    odd[0, 2], odd[2, 0], even[0, 2], even[2, 0] = 13.0, 13.1, 13.1, 13.2
    for half in (odd, even):
        np.fill_diagonal(half, np.nan)
    plain = cluster_of(np.fmin(odd, even))
    counts = np.isfinite(odd).astype(np.int64)
    rtt = replace(plain.rtt, passes=2 * counts, halves_us=Halves(odd, even))
    return replace(plain, rtt=rtt)


def racks_of(cluster: Cluster) -> list[Group]:
    return [
        Group(f"g{rack + 1}", [cluster.names[host] for host in np.flatnonzero(rack == RACK)])
        for rack in np.unique(RACK)
    ]


def with_racks(cluster: Cluster) -> Cluster:
    return replace(cluster, groups=racks_of(cluster))


def crossings(cluster: Cluster, order) -> int:
    rack_of = dict(zip(cluster.names, RACK.tolist(), strict=True))
    racks = [rack_of[host.name] for host in order.hosts]
    return sum(one != other for one, other in zip(racks, racks[1:] + racks[:1], strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_a_ring_crosses_between_racks_as_rarely_as_it_can(seed):
    cluster = with_racks(beside_load(seed))
    assert crossings(cluster, find_order(cluster, OrderRequest(time_limit_s=1))) == 5


def test_readings_as_they_are_can_be_asked_for():
    cluster = with_racks(beside_load())
    order = find_order(cluster, OrderRequest(distances="readings", time_limit_s=1))
    assert order.cost.cost_us == pytest.approx(_ring_us(cluster, order), rel=1e-9)
    assert order.solver.options["distances"] == "readings"
    known = distances(replace(cluster, uses_readings=True))
    larger = np.fmax(cluster.rtt.readings_us, cluster.rtt.readings_us.T)
    assert np.allclose(known.matrix_us, np.nan_to_num(larger))
    assert known.deviation is None


def _ring_us(cluster: Cluster, order) -> float:
    place_of = {name: place for place, name in enumerate(cluster.names)}
    ring = [place_of[host.name] for host in order.hosts]
    readings = cluster.rtt.readings_us
    return sum(
        max(readings[one, other], readings[other, one])
        for one, other in zip(ring, ring[1:] + ring[:1], strict=True)
    )


def test_the_estimate_of_a_doubtful_pair_is_near_the_distance_of_its_rack():
    known = distances(with_racks(beside_load()))
    assert known.matrix_us[0, 1] == pytest.approx(WITHIN_US, rel=0.1)
    assert known.matrix_us[0, 2] == pytest.approx(BETWEEN_US, rel=0.05)
    assert known.deviation.shape == (SIZE, SIZE)


def test_an_order_is_predicted_to_cost_what_it_was_found_to_cost():
    cluster = with_racks(beside_load())
    order = find_order(cluster, OrderRequest(time_limit_s=1))
    row = forecast_costs(cluster, order, 1e6, algorithms=["ring"]).rows[0]
    assert row.order.latency_us == pytest.approx(order.cost.cost_us, rel=1e-9)


def test_groups_that_the_file_does_not_name_are_found():
    """Without the doctored pairs of the other cases: four racks of four."""
    rng = np.random.default_rng(3)
    rack = np.repeat(np.arange(4), 4)
    truth = np.where(rack[:, None] == rack[None, :], WITHIN_US, BETWEEN_US)
    slow = np.where(rng.random(truth.shape) < 0.2, 1.4, 1.0)
    bare = cluster_of(truth * slow * np.exp(np.abs(rng.normal(0.0, 0.01, truth.shape))))
    groups = [
        Group(f"g{number}", [bare.names[host] for host in np.flatnonzero(rack == number)])
        for number in range(4)
    ]
    found, named = distances(bare), distances(replace(bare, groups=groups))
    assert found.deviation is not None
    assert np.allclose(found.matrix_us, named.matrix_us)


def test_nothing_changes_where_plink_found_no_groups():
    cluster = replace(
        beside_load(), grouping=Grouping(method="levels", matrix="raw", levels=[], probability=0.1)
    )
    readings = cluster.rtt.readings_us
    assert distances(cluster).deviation is None
    assert distances(cluster).matrix_us[0, 3] == max(readings[0, 3], readings[3, 0])


def test_all_levels_in_the_file_count():
    cluster = beside_load()
    names = cluster.names
    levels = [Partition([names[:6], names[6:]]), Partition([g.hosts for g in racks_of(cluster)])]
    grouping = Grouping(method="levels", matrix="raw", levels=levels, probability=1.0)
    found = distances(replace(cluster, groups=racks_of(cluster), grouping=grouping))
    assert found.deviation is not None


def test_a_reading_of_zero_leaves_readings_as_they_are():
    readings = np.array([[0, 1, 3, 3], [2, 0, 3, 3], [3, 3, 0, 0], [3, 3, 0, 0]], dtype=float)
    plain = cluster_of(readings)
    cluster = replace(plain, groups=[Group("a", ["h0", "h1"]), Group("b", ["h2", "h3"])])
    assert distances(cluster).matrix_us[2, 3] == 0.0


def test_another_percentile_has_no_halves():
    cluster = with_racks(beside_load())
    rtt = replace(cluster.rtt, rtt_us={**cluster.rtt.rtt_us, 50.0: cluster.rtt.readings_us * 2.0})
    order = find_order(replace(cluster, rtt=rtt), OrderRequest(percentile=50.0, time_limit_s=1))
    usual = find_order(cluster, OrderRequest(time_limit_s=1))
    assert order.cost.cost_us > 1.7 * usual.cost.cost_us


def test_the_command_takes_readings_as_they_are(tmp_path, capsys):
    path = tmp_path / "c.json"
    cluster = with_racks(beside_load())
    cluster_file.write_cluster(str(path), cluster)
    costs = {}
    for source in ("estimate", "readings"):
        assert run(["order", str(path), "--distances", source, "--json"]) == 0
        costs[source] = json.loads(capsys.readouterr().out)["cost"]["cost_us"]
    expected = find_order(cluster, OrderRequest(distances="readings", time_limit_s=1))
    assert costs["readings"] == pytest.approx(expected.cost.cost_us)
    assert costs["estimate"] < costs["readings"]


def test_the_library_refuses_other_distances(tmp_path):
    path = tmp_path / "c.json"
    cluster_file.write_cluster(str(path), with_racks(beside_load()))
    with pytest.raises(WrongUseError):
        plink.order(plink.MeasuredCluster.read(str(path)), distances="guess")
