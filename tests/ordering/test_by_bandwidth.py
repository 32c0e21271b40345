"""Orders of clusters of which bandwidths are known, and no times."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from ordering.bandwidths import bandwidths, racks_by_bandwidth
from ordering.clusters import racks
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats import document
from plink.formats import order as order_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.order import Order
from plink.formats.structs import FormatError, encode
from plink.model.distance import bandwidth_distances, filled_bandwidth_distances
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.quality import doubt
from plink.optimize.orders.request import OrderRequest

QUICK_S = 0.4


def test_the_slower_direction_counts_and_what_failed_does_not() -> None:
    found = bandwidth_distances(bandwidths([[0, 10, 0], [5, 0, np.nan], [0, 4, 0]]))
    assert found[0, 1] == found[1, 0] == pytest.approx(0.2)
    assert found[1, 2] == found[2, 1] == pytest.approx(0.25)
    assert np.isnan(found[0, 2])
    assert (np.diagonal(found) == 0.0).all()
    filled = filled_bandwidth_distances(bandwidths([[0, 10, 0], [5, 0, np.nan], [0, 4, 0]]))
    assert filled.s_per_gbit[0, 2] == filled.s_per_gbit[2, 0] == pytest.approx(0.25)
    assert filled.filled_pairs == 1


@pytest.mark.parametrize("size", [4, 5, 6, 7])
@pytest.mark.parametrize("seed", range(3))
def test_a_ring_equals_all_rings_tried(size: int, seed: int) -> None:
    rng = np.random.default_rng([51, size, seed])
    cluster = bandwidths(rng.uniform(1.0, 100.0, (size, size)))
    gbit_s = 1.0 / (bandwidth_distances(cluster) + np.diag(np.full(size, np.inf)))
    best = (0.0, 0.0)
    for rest in itertools.permutations(range(1, size)):
        ring = [0, *rest]
        hops = gbit_s[ring, np.roll(ring, -1)]
        best = max(best, (float(hops.min()), -float((1.0 / hops).sum())))
    # It ends as soon as it is proven, which takes no such time.
    found = find_order(cluster, OrderRequest(time_limit_s=60))
    assert found.objective == "bandwidth"
    assert found.bandwidth is not None
    assert found.bandwidth.bottleneck_gbit_s == pytest.approx(best[0])
    assert found.bandwidth.bound_gbit_s == pytest.approx(best[0])
    assert found.bandwidth.sum_s_per_gbit == pytest.approx(-best[1])
    assert found.bandwidth.bound_s_per_gbit == pytest.approx(-best[1])
    assert found.gap == 0.0


def leaving(order: Order, rack_of: np.ndarray) -> int:
    racks_in_turn = rack_of[[int(name[1:]) for name in order.names]]
    return int((racks_in_turn != np.roll(racks_in_turn, -1)).sum())


def test_a_ring_hardly_leaves_racks() -> None:
    cluster, rack_of = racks_by_bandwidth(24, 4, seed=52)
    found = find_order(cluster, OrderRequest(time_limit_s=1.0))
    # Once each, and perhaps once more for a wider bottleneck.
    assert 4 <= leaving(found, rack_of) <= 5
    assert found.bandwidth is not None
    assert found.bandwidth.bottleneck_gbit_s == found.bandwidth.bound_gbit_s
    assert found.bandwidth.sum_s_per_gbit < 0.7 * found.bandwidth.random_s_per_gbit
    assert doubt(found) is None


def test_rounds_follow_racks_and_not_the_noise_of_the_bottleneck() -> None:
    cluster, _ = racks_by_bandwidth(32, 4, seed=53)
    found = find_order(cluster, OrderRequest(algorithm="halving-doubling", time_limit_s=1.5))
    assert found.bandwidth is not None
    # Two of the five rounds leave racks, in place of all.
    assert found.bandwidth.sum_s_per_gbit < 0.7 * found.bandwidth.random_s_per_gbit
    bound = found.bandwidth.bound_gbit_s
    assert bound is not None
    assert 0.9 * bound <= found.bandwidth.bottleneck_gbit_s <= bound


def test_a_slow_link_is_not_used() -> None:
    cluster, _ = racks_by_bandwidth(16, 1, seed=54)
    assert cluster.bandwidth is not None
    cluster.bandwidth.gbit_s[3, 8] = 0.5
    for algorithm in ("ring", "tree", "halving-doubling"):
        found = find_order(cluster, OrderRequest(algorithm=algorithm, time_limit_s=QUICK_S))
        assert found.bandwidth is not None
        assert found.bandwidth.bottleneck_gbit_s > 8.0


def test_pairs_not_measured_are_avoided_and_prove_nothing() -> None:
    cluster, _ = racks_by_bandwidth(12, 1, seed=55)
    assert cluster.bandwidth is not None
    cluster.bandwidth.gbit_s[0, 2:] = cluster.bandwidth.gbit_s[2:, 0] = np.nan
    found = find_order(cluster, OrderRequest(time_limit_s=QUICK_S))
    assert found.filled_pairs == 10
    assert found.bandwidth is not None
    assert found.bandwidth.bound_s_per_gbit is None
    assert found.bandwidth.bound_gbit_s is not None
    assert found.bandwidth.bound_gbit_s >= found.bandwidth.bottleneck_gbit_s
    cluster.bandwidth.gbit_s[0, :] = cluster.bandwidth.gbit_s[:, 0] = np.nan
    assert find_order(cluster, OrderRequest(time_limit_s=QUICK_S)).unmeasured_hosts == ["h0"]


def test_times_go_before_bandwidth_unless_asked() -> None:
    timed, _ = racks([4, 4])
    by_bandwidth, _ = racks_by_bandwidth(8, 2, seed=56)
    both = replace(timed, bandwidth=by_bandwidth.bandwidth)
    assert find_order(both, OrderRequest(time_limit_s=QUICK_S)).objective == "latency"
    asked = find_order(both, OrderRequest(objective="bandwidth", time_limit_s=QUICK_S))
    assert asked.objective == "bandwidth"
    with pytest.raises(WrongUseError, match="holds no bandwidth"):
        find_order(timed, OrderRequest(objective="bandwidth"))
    with pytest.raises(WrongUseError, match="no round-trip time"):
        find_order(by_bandwidth, OrderRequest(objective="latency"))
    one = Cluster([Host("a", "a")])
    assert find_order(one, OrderRequest(objective="bandwidth")).names == ["a"]


def test_hosts_are_chosen() -> None:
    cluster, rack_of = racks_by_bandwidth(16, 4, seed=57)
    found = find_order(cluster, OrderRequest(ranks=4, time_limit_s=QUICK_S))
    assert leaving(found, rack_of) == 0
    assert len(found.unused) == 12


@pytest.fixture
def text() -> dict[str, object]:
    order = find_order(racks_by_bandwidth(6, 2, seed=58)[0], OrderRequest(time_limit_s=QUICK_S))
    return encode(order)


def test_the_file_has_no_times_and_reads_back(text: dict[str, object]) -> None:
    cost = text["cost"]
    assert isinstance(cost, dict)
    assert cost["kind"] == "bandwidth"
    assert not [key for key in cost if key.endswith("_us")]
    read = order_file.decode_order(text, "o.json")
    assert encode(read) == text
    assert read.bandwidth is not None
    assert read.cost.cost_us == pytest.approx(1e6 / read.bandwidth.bottleneck_gbit_s)


@pytest.mark.parametrize(
    ("member", "value", "place"),
    [
        ("bottleneck_gbit_s", 0, "cost.bottleneck_gbit_s"),
        ("bottleneck_gbit_s", 9.9, None),
        ("bound_gbit_s", 0.5, "cost"),
        ("sum_s_per_gbit", 7.0, None),
        ("bound_s_per_gbit", 99.0, "cost"),
        ("hops_gbit_s", [1.0], ""),
        ("hops_gbit_s", [0.0] * 6, "cost.hops_gbit_s[0]"),
        ("random_s_per_gbit", "much", "cost.random_s_per_gbit"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(
    text: dict[str, object], member: str, value: object, place: str | None
) -> None:
    inner = text["cost"]
    assert isinstance(inner, dict)
    hostile = json.loads(json.dumps({**text, "cost": {**inner, member: value}}))
    with pytest.raises(FormatError) as caught:
        order_file.decode_order(document.parse(document.dump(hostile), "o.json"), "o.json")
    assert place is None or caught.value.place == place


def test_a_file_without_its_figures_is_refused(text: dict[str, object]) -> None:
    del text["cost"]
    with pytest.raises(WrongUseError, match="cost"):
        order_file.decode_order(text, "o.json")
