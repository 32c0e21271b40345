"""Jobs of other collectives than all-reduce: what links carry, and what the tuner makes of it."""

from __future__ import annotations

import numpy as np
import pytest

from plink.autotune.tuner.interface import Action
from plink.autotune.tuner.loads import link_loads
from plink.autotune.tuner.masters import Layout, Masters, host_loads, normalise_shares, uplink_loads
from plink.simulate.jobs import QUIET, Job, run, while_changed
from plink.simulate.network import even

SHARDED = ("all-gather", "all-gather", "reduce-scatter")
RACKS = Layout(np.arange(8), np.repeat([0, 1, 2, 3], 2))


def test_loads_of_an_all_reduce_are_those_of_masters() -> None:
    masters = normalise_shares(np.array([1.0, 2.0, 3.0, 2.0]), np.arange(1.0, 9.0), RACKS)
    hosts, groups = link_loads(masters, RACKS, "all-reduce")
    assert hosts.tolist() == host_loads(masters, RACKS).tolist()
    assert groups.tolist() == uplink_loads(masters, RACKS).tolist()


@pytest.mark.parametrize("collective", ["reduce-scatter", "all-gather"])
def test_owners_have_their_segments_whatever_the_masters(collective: str) -> None:
    even_masters = Masters(np.full(4, 0.25), np.full(8, 0.5))
    hosts, groups = link_loads(even_masters, RACKS, collective)
    # Everyone sends all but its own eighth; a rack's uplink carries a quarter to or from each.
    assert hosts == pytest.approx(np.full(8, 7 / 8))
    assert groups == pytest.approx(np.full(4, 3 / 4))
    flat = Layout(np.arange(4), np.zeros(4, dtype=np.intp))
    # Without a star of its own, the last still sends its part of all other segments.
    hosts, _ = link_loads(Masters(np.ones(1), np.array([1, 1, 1, 0]) / 3), flat, collective)
    assert hosts[3] == pytest.approx(3 / 4)


@pytest.mark.parametrize("groups", [1, 4])
def test_a_sharded_job_is_not_tuned_where_masters_gain_nothing(groups: int) -> None:
    usual = even(8, groups=groups, uplink=1.0)
    found = run(
        usual,
        while_changed(usual, usual.with_host(3, 0.4), 60),
        40,
        noise=QUIET,
        collectives=SHARDED,
    )
    # A slow host sends and receives as much whoever the masters are: no false promise is tried.
    assert [action for _, action in found.changes() if action is Action.ROLL_BACK] == []
    assert found.steps[-1].truth_s <= found.steps[12].truth_s * 1.001


def test_an_iteration_takes_the_sum_of_its_collectives() -> None:
    usual = even(4)
    forest = run(usual, lambda _: usual, 1).first
    each = [
        Job(collectives=[name], compute_s=0.0).iteration_s(forest, usual)
        for name in ("all-gather", "reduce-scatter")
    ]
    both = Job(collectives=["all-gather", "reduce-scatter"], compute_s=0.0)
    assert both.iteration_s(forest, usual) == pytest.approx(sum(each))
    assert sum(each) == pytest.approx(Job(compute_s=0.0).iteration_s(forest, usual))


def test_a_mixed_job_is_tuned_for_what_it_reduces() -> None:
    usual = even(8)
    changed = usual.with_host(3, 0.4)
    mixed = ("all-reduce", "all-reduce", "all-gather")
    found = run(usual, while_changed(usual, changed, 60), 40, noise=QUIET, collectives=mixed)
    assert next(action for _, action in found.changes()) is Action.QUICKTUNE
    before_s = found.job.iteration_s(found.first, changed)
    assert found.steps[-1].truth_s < 0.85 * before_s
