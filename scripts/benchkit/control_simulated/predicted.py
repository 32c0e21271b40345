"""Releases of a lone tensor on one machine: measured with real ranks, and simulated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchkit.control.agreeing import parameters
from benchkit.control_simulated.released import late_rank
from benchkit.control_simulated.trainings import places_of
from plink.simulate.control.clocked import Clocked
from plink.simulate.control.costs import Costs
from plink.simulate.control.processors import Processors
from plink.training.control.actions import Action, Release
from plink.training.control.events import Announced, Done
from plink.training.control.settings import Settings
from plink.training.control.tree import Tree

Floats = NDArray[np.float64]

# Whoever is late is so by so much more than anything takes.
APART_S = 1.0
REPETITIONS = 12
# What a fit begins with, in seconds.
FIRST = ((1e-4, 2e-5, 1e-4, 1e-4, 5e-5), (3e-5, 1e-5, 2e-4, 1e-4, 3e-5))
STEPS = 150


@dataclass(frozen=True)
class Processing:
    """What ranks on one machine take of its processors, in seconds.

    Args:
        step_s: a thread that wakes, to step the machine or to announce.
        out_s: for each message that it sends.
        release_s: the program's thread, until it has what is released.
        after_s: and from then until it waits again.
        latency_s: of a message, without a processor.
    """

    step_s: float
    out_s: float
    release_s: float
    after_s: float
    latency_s: float


def releases_s(ranks: int, processing: Processing, processors: int) -> Floats:
    """(R, P) of each repetition, when ranks have what the last one announced at 0, ascending.

    Args:
        ranks: on the machine.
        processing: of each.
        processors: of the machine.
    """
    machine = _Machine(ranks, processing, processors)
    return np.array([machine.repeat(repetition) for repetition in range(REPETITIONS + 1)])[1:]


def fit_processing(measured_s: Floats, processors: int) -> Processing:
    """With which simulated releases are nearest to measured ones, of one number of ranks.

    Args:
        measured_s: (P,) medians, ascending.
        processors: of the machine.
    """

    def off(logarithms: Floats) -> float:
        processing = Processing(*np.exp(logarithms))
        found_s = np.median(releases_s(len(measured_s), processing, processors), axis=0)
        return float(np.mean((found_s / measured_s - 1.0) ** 2))

    fits: list[Any] = [
        minimize(off, np.log(first), method="Nelder-Mead", options={"maxiter": STEPS})
        for first in FIRST
    ]
    return Processing(*np.exp(min(fits, key=lambda fit: float(fit.fun)).x))


class _Machine:
    """All ranks of it, which announce one tensor again and again, the late one last."""

    def __init__(self, ranks: int, processing: Processing, processors: int) -> None:
        self._ranks = ranks
        self._processing = processing
        self._released_s: list[float] = []
        [lone] = parameters(1)
        self._announced = Announced((lone,))
        self._clock = Clocked(
            [Tree(place, Settings()) for place in places_of(ranks)],
            Costs(processing.latency_s, step_s=processing.step_s, out_s=processing.out_s),
            processors=Processors([0] * ranks, processors),
            do=self._do,
        )

    def repeat(self, repetition: int) -> list[float]:
        late = late_rank(repetition, self._ranks)
        begins_s = 2 * repetition * APART_S
        self._released_s = []
        for rank in range(self._ranks):
            at_s = begins_s + APART_S * (rank == late)
            tell = partial(self._tell, rank)
            self._clock.at(at_s, partial(self._clock.work, rank, self._processing.step_s, tell))
        self._clock.run(begins_s + 2 * APART_S)
        return [at_s - begins_s - APART_S for at_s in self._released_s]

    def _tell(self, rank: int) -> None:
        self._clock.tell(rank, self._announced)

    def _do(self, rank: int, action: Action, at_s: float) -> None:
        if isinstance(action, Release):
            note = partial(self._note, rank)
            work = partial(self._clock.work, rank, self._processing.release_s, note)
            self._clock.at(at_s, work)

    def _note(self, rank: int) -> None:
        self._released_s.append(self._clock.now_s)
        self._clock.tell(rank, Done())
        self._clock.work(rank, self._processing.after_s, _end)


def _end() -> None:
    """The program's thread waits again."""
