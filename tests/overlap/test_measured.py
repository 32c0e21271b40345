"""Profiles from hooks, and what communication costs computing."""

from __future__ import annotations

import numpy as np
import pytest

from plink.training.overlap.measured import (
    covered_share,
    profile_of,
    shift,
    slowdown,
    usual_ready_s,
)
from plink.training.overlap.profile import Profile


def test_one_slow_step_changes_nothing() -> None:
    usual = np.array([0.1, 0.2, 0.3])
    steps = [usual, 1.01 * usual, 7.0 * usual, 0.99 * usual, usual]
    assert usual_ready_s(steps) == pytest.approx(usual)
    with pytest.raises(ValueError, match="a step"):
        usual_ready_s([])


def test_gradients_stand_as_they_become_ready() -> None:
    profile = profile_of(("a", "b", "c"), (1, 2, 3), np.array([0.3, 0.1, 0.3]))
    assert profile == Profile(("b", "a", "c"), (2, 1, 3), (0.1, 0.3, 0.3))


def test_a_longer_forward_pass_shifts_nothing() -> None:
    before = Profile(("a", "b"), (1, 1), (0.1, 0.2))
    assert shift(before, Profile(("a", "b"), (1, 1), (0.6, 0.7))) == pytest.approx(0.0)
    assert shift(before, Profile(("a", "b"), (1, 1), (0.1, 0.4))) == pytest.approx(0.0, abs=1e-9)
    longer = Profile(("a", "b", "c"), (1, 9, 1), (0.1, 0.4, 0.5))
    assert shift(Profile(("a", "b", "c"), (1, 9, 1), (0.1, 0.2, 0.3)), longer) > 0.5


def test_covered_time_counts_once() -> None:
    assert covered_share(0.0, 10.0, [1.0, 2.0, 8.0], [4.0, 3.0, 12.0]) == pytest.approx(0.5)
    assert covered_share(0.0, 1.0, [], []) == 0.0
    assert covered_share(1.0, 1.0, [0.0], [2.0]) == 0.0


def test_what_communication_costs_computing() -> None:
    shares = [0.0, 0.2, 0.5, 0.8, 1.0]
    spans_s = [0.1 * (1.0 + 0.3 * share) for share in shares]
    spans_s[2] = 9.0
    assert slowdown(spans_s, shares) == pytest.approx(0.3)
    assert slowdown([0.1, 0.1], [0.5, 0.5]) is None
