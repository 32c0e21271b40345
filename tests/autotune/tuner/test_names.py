"""Decisions name hosts and groups as the plan does."""

from __future__ import annotations

import numpy as np

from plink.autotune.log.replay import tuner_of
from plink.autotune.tuner.bandwidth import SlowFlow, describe_slow, first_belief
from plink.autotune.tuner.interface import TunerOptions
from plink.base.replacing import replace
from plink.formats.hosts import Group
from plink.formats.plan import Plan, PlanRank
from plink.simulate.jobs import Job, Noise, first_forest
from plink.simulate.network import even

OPTIONS = TunerOptions()
NETWORK = even(6, groups=3)


def plan_of_racks() -> Plan:
    """Three racks of two hosts."""
    ranks = [PlanRank(f"node{host}", f"10.0.0.{host + 1}") for host in range(6)]
    groups = [
        Group(f"rack{group}", [f"node{2 * group}", f"node{2 * group + 1}"]) for group in range(3)
    ]
    return Plan("2lha", ranks, first_forest(NETWORK), 102_000_000, groups)


def test_flows_uplinks_and_hosts_are_named() -> None:
    plan = plan_of_racks()
    tuner = tuner_of(plan, OPTIONS)
    window = Job(noise=Noise(), seed=0).window(0, plan.forest, NETWORK)
    belief = first_belief([window], tuner.layout, OPTIONS)

    def said(*, flows: list[SlowFlow], rates_bytes_s: list[float]) -> str:
        seen = replace(belief, slow_flows=flows, rate_bytes_s=np.array(rates_bytes_s))
        return describe_slow(seen, tuner.layout, OPTIONS, tuner.names)

    alike = [1e9] * 12 + [np.inf] * 6
    flow = SlowFlow(1, 4, 1e6, 7)
    assert said(flows=[flow], rates_bytes_s=alike) == (
        "flows are slow whose hosts are not (node1 to node4, 7 segments sent again)"
    )
    slow_uplink = [1e9] * 12 + [1e8, 2e9, 2e9] * 2
    assert said(flows=[], rates_bytes_s=slow_uplink) == "slow uplinks: rack0"
    slow_hosts = [1e9, 1e9, 2e8, 1e9, 3e8, 1e9] * 2 + [np.inf] * 6
    assert said(flows=[], rates_bytes_s=slow_hosts) == "slow hosts: node2 at 20 %, node4 at 30 %"
    assert said(flows=[], rates_bytes_s=alike) == "all hosts are alike"
