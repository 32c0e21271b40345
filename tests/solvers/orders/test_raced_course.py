"""Courses of several heats: what is tried, what goes on, and whose order counts."""

from __future__ import annotations

import numpy as np
import pytest

from plink.solvers.annealing.courses import ROUNDS, TREES, TREES_OF_FEW, RacedCourse, leg_at
from plink.solvers.limits import Deadline

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


def softness_of(race, heat):
    return round(race.falling.softness[0] * heat, 9)


@pytest.mark.parametrize("race", [ROUNDS, TREES])
def test_the_heat_that_found_most_goes_on_from_the_start_again(race):
    best = race.heats[1]
    smoothed = Smoothed({softness_of(race, best): 7.0})
    course = RacedCourse(smoothed, race, START, SPREAD, hotter=1.0, moves=8)
    for progress in np.linspace(0.0, 1.0, 1001):
        course.step(float(progress), Deadline(1.0))
    heats = [*race.heats, *(best for _ in race.courses)]
    *courses, polish = smoothed.begun
    assert [softness for _, softness in courses] == pytest.approx(
        [SPREAD * softness_of(race, heat) for heat in heats], rel=0.1
    )
    assert all(order == START for order, _ in courses)
    assert polish[1] == pytest.approx(SPREAD * race.polish.softness[0], rel=0.1)


@pytest.mark.parametrize("race", [ROUNDS, TREES, TREES_OF_FEW])
def test_the_time_is_shared_out_once(race):
    assert sum(race.shares) == pytest.approx(1.0)
    legs = [leg_at(progress, race.shares) for progress in np.linspace(0.0, 1.0, 1001)]
    assert sorted(legs) == legs
    assert {leg for leg, _ in legs} == set(range(len(race.shares)))
