"""The plans among which scripts/bench autotune-lab looks for the best static one."""

from __future__ import annotations

import numpy as np
import pytest

from benchkit.plans import PARTS, other_plans
from plink.autotune.tuner.masters import layout_of, masters_of
from plink.formats.hosts import Group
from plink.formats.plan import Plan, PlanRank
from plink.plans.forest import make_forest
from plink.solvers.forests.kinds import flat, two_level

RANKS = [PlanRank(f"n{rank}", f"10.0.0.{rank + 1}") for rank in range(8)]


def test_of_a_flat_plan_the_hosts_concerned_get_less_and_less() -> None:
    routes = flat(np.ones(8))
    forest = make_forest(*routes)
    plan = Plan("flat", RANKS, forest, 1000)
    for (part, other), expected in zip(other_plans(plan, [2, 5]), PARTS, strict=True):
        layout = layout_of(other.forest, other.host_by_rank, other.group_by_rank)
        shares = masters_of(other.forest, layout).of_hosts
        assert part == expected
        assert shares[2] == shares[5] == pytest.approx(part * shares[0], abs=1e-6)


def test_of_two_levels_their_group_has_fewer_global_masters() -> None:
    group_of = np.repeat(np.arange(4), 2)
    routes = two_level(group_of, np.ones(8), np.ones(4))
    forest = make_forest(*routes)
    groups = [Group(f"r{g}", [RANKS[2 * g].host, RANKS[2 * g + 1].host]) for g in range(4)]
    plan = Plan("2lha", RANKS, forest, 1000, groups)
    for part, other in other_plans(plan, [0, 1]):
        layout = layout_of(other.forest, other.host_by_rank, other.group_by_rank)
        shares = masters_of(other.forest, layout).of_groups
        assert shares[0] == pytest.approx(part * shares[1], abs=1e-6)
        assert shares.sum() == pytest.approx(1.0)
