"""A tuned job on a network that changes, run to its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autotune.tuner.network import Job, Noise, State
from plink.autotune.tuner.decision import Action, Decision
from plink.autotune.tuner.tuner import Tuner
from plink.plans.forest import Forest, make_forest
from solvers.forests.flat import flat
from solvers.forests.two_level import two_level

WINDOW_S = 5.0

# When the network changes in most tests: after the tuner has learned what is usual.
CHANGE = 10


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
class Run:
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
    return make_forest(routes.weights, routes.reduce_parents, routes.broadcast_parents)


def run(
    state: State,
    at: Callable[[int], State],
    windows: int,
    *,
    seed: int = 0,
    noise: Noise | None = None,
) -> Run:
    """A job that came with a plan for `state`, on the network that `at` gives for each window."""
    forest = first = first_forest(state)
    job = Job(noise=noise or Noise(), seed=seed)
    tuner = Tuner(first, range(len(state.group_of)), state.group_of.tolist(), job.size_bytes)
    steps = []
    for number in range(windows):
        now = at(number)
        window = job.window(tuner.plan, forest, now)
        decision = tuner.decide(number * WINDOW_S, window)
        forest = forest if decision.forest is None else decision.forest
        steps.append(Step(decision, job.iteration_s(forest, now), forest))
    return Run(steps, job, tuner, first)


def while_changed(usual: State, changed: State, until: int) -> Callable[[int], State]:
    """The network as usual, changed from window `CHANGE` up to `until`, and as usual again."""
    return lambda number: changed if CHANGE <= number < until else usual
