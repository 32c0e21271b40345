"""A training job on such a network, what its ranks would report, and the tuner that follows it.

An iteration takes the computing and then the last flow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from plink.autotune.tuner.interface import Action, Decision, Window
from plink.autotune.tuner.tuner import Tuner
from plink.optimize.plans.demand import Demand
from plink.optimize.plans.traffic import traffic_bytes, traffic_of
from plink.plans.forest import Forest, make_forest
from plink.plans.names import ALL_REDUCE
from plink.simulate.network import Floats, State, flow_times_s
from plink.solvers.forests.kinds import flat, two_level

WINDOW_S = 5.0

# The window in which the network changes: after the tuner has learned what is usual.
CHANGE = 10


@dataclass(frozen=True)
class Noise:
    """How readings differ from the truth: lognormal, and now and then far out.

    Args:
        iteration, busy: standard deviations of the logarithm.
        outliers: how many iterations, and how many flows of a window, are out of line; by a factor
            of a Pareto distribution without variance.
    """

    iteration: float = 0.05
    busy: float = 0.15
    outliers: float = 0.02


QUIET = Noise(0.0, 0.0, 0.0)


class Job:
    """A job on such a network.

    Args:
        size_bytes: of the gradients.
        compute_s: of an iteration, before anything is sent.
        iterations: in a window.
        noise: of its readings.
        seed: of the noise.
        collectives: that an iteration calls, one after the other, each on all of the gradients;
            overlapping nothing.
    """

    def __init__(
        self,
        size_bytes: float = 102e6,
        compute_s: float = 0.1,
        iterations: int = 10,
        noise: Noise = QUIET,
        seed: int = 0,
        *,
        collectives: Sequence[str] = (ALL_REDUCE,),
    ) -> None:
        self.size_bytes = size_bytes
        self.compute_s = compute_s
        self.iterations = iterations
        self.noise = noise
        self.collectives = collectives
        self._random = np.random.default_rng(seed)
        self._known: tuple[Forest, State, tuple[Floats, Floats, float]] | None = None

    def iteration_s(self, forest: Forest, state: State) -> float:
        """What an iteration takes without noise."""
        return self.compute_s + self._flows(forest, state)[2]

    def window(self, plan: int, forest: Forest, state: State) -> Window:
        """What the ranks report of the next iterations, a rank on each host."""
        sent, times_s, moved_s = self._flows(forest, state)
        noise, random, shape = self.noise, self._random, sent.shape
        took = self.compute_s + moved_s
        lost = np.zeros(shape)
        for sender, receiver in state.flows_bytes_s:
            lost[sender, receiver] = 100.0
        return Window(
            plan,
            took * self._factors(noise.iteration, (self.iterations,)),
            sent,
            times_s * self._factors(noise.busy, shape),
            lost,
            random.uniform(1e-4, 1.5e-4, len(sent)),
            {name: self.collectives.count(name) * self.size_bytes for name in self.collectives},
        )

    def _factors(self, deviation: float, shape: tuple[int, ...]) -> Floats:
        factors = self._random.lognormal(0.0, deviation, shape)
        is_out = self._random.random(shape) < self.noise.outliers
        return np.where(is_out, factors * (1.0 + self._random.pareto(1.5, shape)), factors)

    def _flows(self, forest: Forest, state: State) -> tuple[Floats, Floats, float]:
        """Bytes and busy seconds of each flow, and how long all of an iteration's take."""
        if self._known is not None and self._known[0] is forest and self._known[1] is state:
            return self._known[2]
        each = [
            traffic_bytes(traffic_of(Demand(name, self.size_bytes), forest))
            for name in self.collectives
        ]
        times = [flow_times_s(sent, state) for sent in each]
        found = np.sum(each, axis=0), np.sum(times, axis=0), sum(float(one.max()) for one in times)
        self._known = (forest, state, found)
        return found


@dataclass(frozen=True)
class Step:
    """A window, and what was decided on it.

    Args:
        decision: on what was measured.
        truth_s: what an iteration takes without noise, from then on.
        forest: in force from then on.
    """

    decision: Decision
    truth_s: float
    forest: Forest


@dataclass(frozen=True)
class TunedRun:
    """All of it.

    Args:
        steps: a window each.
        job: that ran.
        tuner: at the end.
        first: the forest that the job came with.
    """

    steps: list[Step]
    job: Job
    tuner: Tuner
    first: Forest

    def changes(self) -> list[tuple[int, Action]]:
        """The windows at whose end the plan changed."""
        return [
            (at, step.decision.action)
            for at, step in enumerate(self.steps)
            if step.decision.forest is not None
        ]


def first_forest(state: State) -> Forest:
    """Flat without groups, else of two levels: what `plink plan` would make."""
    hosts, uplinks = state.hosts_bytes_s, state.uplinks_bytes_s
    routes = flat(hosts) if len(uplinks) == 1 else two_level(state.group_of, hosts, uplinks)
    return make_forest(*routes)


def run(
    state: State,
    at: Callable[[int], State],
    windows: int,
    *,
    seed: int = 0,
    noise: Noise | None = None,
    collectives: Sequence[str] = (ALL_REDUCE,),
) -> TunedRun:
    """A job that came with a plan for `state`, on the network that `at` gives for each window."""
    forest = first = first_forest(state)
    job = Job(noise=noise or Noise(), seed=seed, collectives=collectives)
    tuner = Tuner(first, range(len(state.group_of)), state.group_of.tolist(), job.size_bytes)
    steps = []
    for number in range(windows):
        now = at(number)
        window = job.window(tuner.plan, forest, now)
        decision = tuner.decide(number * WINDOW_S, window)
        forest = forest if decision.forest is None else decision.forest
        steps.append(Step(decision, job.iteration_s(forest, now), forest))
    return TunedRun(steps, job, tuner, first)


def while_changed(usual: State, changed: State, until: int) -> Callable[[int], State]:
    """The network as usual, changed from window `CHANGE` up to `until`, and as usual again."""
    return lambda number: changed if CHANGE <= number < until else usual
