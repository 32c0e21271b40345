"""An order stays usable while its cluster file grows, and is stale once its readings change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from doctor.clusters import drawn
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.groups import UplinkMeasurement
from plink.formats.hosts import Group
from plink.formats.order import OBJECTIVES, Order
from plink.formats.order_basis import is_made_from, order_basis
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest

CLUSTER = drawn(5).cluster(with_pairs=True)


def order_by(objective: str, cluster: Cluster = CLUSTER, **request: Any) -> Order:
    wanted = OrderRequest(objective=objective, time_limit_s=0.2, **request)  # type: ignore[arg-type]
    return find_order(cluster, wanted)


def slower(uplinks: UplinkMeasurement | None) -> UplinkMeasurement:
    assert uplinks is not None
    first, *others = uplinks.uplinks
    return replace(uplinks, uplinks=[replace(first, send_gbit_s=0.001), *others])


def test_parts_that_are_added_later_leave_an_order_by_latency_usable() -> None:
    bare = replace(CLUSTER, groups=(), grouping=None, uplinks=None, bandwidth=None, conditions=None)
    order = order_by("latency", bare)
    assert is_made_from(order, bare)
    assert is_made_from(order, replace(bare, groups=CLUSTER.groups))
    assert is_made_from(order, CLUSTER)
    assert is_made_from(order, replace(CLUSTER, uplinks=slower(CLUSTER.uplinks)))


def test_an_order_by_time_is_stale_once_rates_or_groups_change() -> None:
    order = order_by("contention")
    assert is_made_from(order, replace(CLUSTER, conditions=None, way=None))
    assert not is_made_from(order, replace(CLUSTER, uplinks=slower(CLUSTER.uplinks)))
    renamed = [Group(f"x{group.name}", group.hosts) for group in CLUSTER.groups]
    assert not is_made_from(order, replace(CLUSTER, groups=renamed))


def test_an_order_by_bandwidth_depends_on_no_round_trip() -> None:
    order = order_by("bandwidth")
    assert is_made_from(order, replace(CLUSTER, rtt=None, groups=()))
    assert not is_made_from(order, replace(CLUSTER, bandwidth=None))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_other_hosts_or_readings_make_every_order_stale(objective: str) -> None:
    basis = order_basis(CLUSTER, objective)
    first, *others = CLUSTER.hosts
    moved = replace(CLUSTER, hosts=[replace(first, address="10.9.9.9"), *others])
    assert order_basis(moved, objective) != basis
    assert CLUSTER.rtt is not None
    assert CLUSTER.bandwidth is not None
    again = {name: matrix + 1.0 for name, matrix in CLUSTER.rtt.rtt_us.items()}
    gbit_s = CLUSTER.bandwidth.gbit_s + 1.0
    measured = replace(
        CLUSTER,
        rtt=replace(CLUSTER.rtt, rtt_us=again),
        bandwidth=replace(CLUSTER.bandwidth, gbit_s=gbit_s),
    )
    assert order_basis(measured, objective) != basis


def test_the_percentile_that_was_asked_for_does_not_matter() -> None:
    assert is_made_from(order_by("latency", percentile=50.0), CLUSTER)


def test_what_is_unknown_is_the_same_whatever_bits_stand_for_it() -> None:
    assert CLUSTER.rtt is not None
    other = {
        name: np.where(np.isnan(m), -np.float64("nan"), m) for name, m in CLUSTER.rtt.rtt_us.items()
    }
    same = replace(CLUSTER, rtt=replace(CLUSTER.rtt, rtt_us=other))
    assert order_basis(same, "latency") == order_basis(CLUSTER, "latency")
