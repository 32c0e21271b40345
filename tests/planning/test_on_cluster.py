"""Plans of some of a cluster's hosts."""

from __future__ import annotations

import numpy as np
import pytest

from plink.formats.plan import Plan
from plink.optimize.plans.forecasting import forecast_plan, regroup_cluster
from plink.optimize.plans.planning import find_plan
from plink.optimize.plans.request import PlanRequest
from plink.plans.names import COLLECTIVES
from plink.simulate.datacentres import racks

SIZE_BYTES = 20_000_000
CLUSTER = racks(2, 4, rate_gbit_s=10, hop_us=5, oversubscription=4).cluster


def plan_between_workers(server: str) -> Plan:
    """Of seven hosts; the eighth was to serve, and does not."""
    request = PlanRequest(kind="2lha", size=SIZE_BYTES, servers=(f"{server}:2",))
    return find_plan(CLUSTER, request).plan


@pytest.mark.parametrize("server", ["h0", "h3", "h7"])
def test_hosts_without_a_rank_change_nothing_else(server: str) -> None:
    """Neither bounds nor uplinks: groups are the cluster's, with fewer hosts."""
    plan = plan_between_workers(server)
    assert len(plan.ranks) == 7
    assert regroup_cluster(plan, CLUSTER) is CLUSTER
    rows = forecast_plan(CLUSTER, plan).rows
    assert [row.collective for row in rows] == list(COLLECTIVES)
    assert all(row.bound_s <= row.time_s for row in rows)
    # 2 S (1 - 1/N) / B, of seven hosts.
    assert rows[0].bound_s == pytest.approx(2 * 6 / 7 * SIZE_BYTES * 8 / 10e9)


def test_a_plan_of_all_hosts_is_predicted_as_it_was_made() -> None:
    found = find_plan(CLUSTER, PlanRequest(kind="2lha", size=SIZE_BYTES)).plan
    (row,) = forecast_plan(CLUSTER, found, collectives=("all-reduce",)).rows
    times = {each.kind: each.time_s for each in found.predicted}
    assert row.time_s == pytest.approx(times["2lha"])
    assert np.isclose(row.bound_s, found.bound_s)
