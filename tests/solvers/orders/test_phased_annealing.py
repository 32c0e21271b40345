"""Phases of annealing: what is tried, what goes on, and whose order counts."""

from __future__ import annotations

import numpy as np
import pytest

from plink.solvers.annealing.phased_annealing import (
    ROUNDS,
    TREES,
    PhasedAnnealing,
    find_phase,
)
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


def softness_of(schedule, factor):
    return round(schedule.cooling.softness[0] * factor, 9)


@pytest.mark.parametrize("schedule", [ROUNDS, TREES])
def test_the_temperature_that_found_most_goes_on_from_the_start_again(schedule):
    best = schedule.factors[1]
    smoothed = Smoothed({softness_of(schedule, best): 7.0})
    annealing = PhasedAnnealing(smoothed, schedule, START, SPREAD, hotter=1.0, moves=8)
    for progress in np.linspace(0.0, 1.0, 1001):
        annealing.step(float(progress), Deadline(1.0))
    factors = [*schedule.factors, *(best for _ in schedule.runs)]
    *runs, polish = smoothed.begun
    assert [softness for _, softness in runs] == pytest.approx(
        [SPREAD * softness_of(schedule, factor) for factor in factors], rel=0.1
    )
    assert all(order == START for order, _ in runs)
    assert polish[1] == pytest.approx(SPREAD * schedule.polish.softness[0], rel=0.1)


@pytest.mark.parametrize("schedule", [ROUNDS, TREES])
def test_the_time_is_shared_out_once(schedule):
    assert sum(schedule.shares) == pytest.approx(1.0)
    phases = [find_phase(progress, schedule.shares) for progress in np.linspace(0.0, 1.0, 1001)]
    assert sorted(phases) == phases
    assert {phase for phase, _ in phases} == set(range(len(schedule.shares)))
