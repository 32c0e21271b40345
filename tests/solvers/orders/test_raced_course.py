"""Courses of several heats: what is tried, what goes on, and whose order counts."""

from __future__ import annotations

import numpy as np
import pytest

from plink.solvers.annealing.raced_course import HardCourse, RacedCourse
from plink.solvers.annealing.races import ROUNDS, TREES, TREES_OF_FEW, leg_at
from plink.solvers.limits.deadline import Deadline

START = [0, 1, 2]
SPREAD = 10.0


class Smoothed:
    """Annealing whose cost is that of the softness it began with; it remembers what it did."""

    def __init__(self, costs):
        self.costs = costs
        self.best, self.best_cost, self.current_cost = START, 100.0, 100.0
        self.begun = []
        self._is_begun = False

    def restart(self, order):
        self.begun.append((order, None))
        self._is_begun = True

    def run(self, moves, softness, temperature, deadline):
        if self._is_begun or not self.begun:
            order = self.begun.pop()[0] if self.begun else START
            self.begun.append((order, softness))
            self._is_begun = False
            self.current_cost = self.costs.get(round(softness / SPREAD, 9), 50.0)
        return moves


class Hard:
    """Annealing that finds an order of some cost at once."""

    def __init__(self, cost):
        self.best, self.best_cost = [2, 1, 0], 100.0
        self.cost, self.begun, self.runs = cost, 0, 0

    def restart(self, order):
        assert sorted(order) == START
        self.begun += 1

    def mean_change(self, swaps):
        return 0.0

    def run(self, moves, temperature, deadline):
        assert temperature > 0.0
        self.best_cost = self.cost
        self.runs += 1
        return moves


def raced(smoothed, hard, race):
    course = None if hard is None else HardCourse(hard, SPREAD, seed=1)
    found = RacedCourse(smoothed, course, race, START, SPREAD, hotter=1.0, moves=8)
    for progress in np.linspace(0.0, 1.0, 1001):
        found.step(float(progress), Deadline(1.0))
    return found


def softness_of(race, heat):
    return round(race.falling.softness[0] * heat, 9)


@pytest.mark.parametrize("race", [ROUNDS, TREES])
@pytest.mark.parametrize("has_hard", [True, False])
def test_the_heat_that_found_most_goes_on_from_the_start_again(race, has_hard):
    best = race.heats[1]
    smoothed = Smoothed({softness_of(race, best): 7.0})
    hard = Hard(8.0) if has_hard else None
    raced(smoothed, hard, race)
    heats = [*race.heats, *(best for _ in race.courses)]
    *courses, polish = smoothed.begun
    assert [softness for _, softness in courses] == pytest.approx(
        [SPREAD * softness_of(race, heat) for heat in heats], rel=0.1
    )
    assert all(order == START for order, _ in courses)
    assert polish[1] == pytest.approx(SPREAD * race.polish.softness[0], rel=0.1)
    if hard is not None:
        assert hard.begun == 1


@pytest.mark.parametrize("race", [ROUNDS, TREES])
def test_the_cost_itself_goes_on_where_that_found_most_and_its_order_is_polished(race):
    smoothed, hard = Smoothed({}), Hard(3.0)
    found = raced(smoothed, hard, race)
    assert hard.begun == 1 + len(race.courses)
    assert (found.best, found.best_cost) == (hard.best, 3.0)
    assert len(smoothed.begun) == len(race.heats) + 1
    assert smoothed.begun[-1][0] == hard.best


@pytest.mark.parametrize("race", [ROUNDS, TREES, TREES_OF_FEW])
def test_the_time_is_shared_out_once(race):
    for each in (race, race.without_hard()):
        assert sum(each.shares) == pytest.approx(1.0)
        assert each.shares[-1] == pytest.approx(race.shares[-1])
        legs = [leg_at(progress, each.shares) for progress in np.linspace(0.0, 1.0, 1001)]
        assert sorted(legs) == legs
        taken = {leg for leg, _ in legs}
        assert taken == {leg for leg, share in enumerate(each.shares) if share > 0.0}
