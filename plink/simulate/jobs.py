"""A training job on such a network, what its ranks would report, and the tuner that follows it.

An iteration takes the computing and then the last flow. What flows take is said by plink's own
model (`by_model`), or by SimGrid (`plink.simulate.tuning`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from plink.autotune.tuner.interface import Action, Decision, Window
from plink.autotune.tuner.tuner import Tuner
from plink.optimize.plans.traffic import Demand, build_traffic, traffic_bytes
from plink.plans.forest import Forest, make_forest
from plink.plans.names import ALL_REDUCE
from plink.simulate.network import Floats, State, flow_times_s
from plink.solvers.forests.kinds import flat, two_level

WINDOW_S = 5.0

# The window in which the network changes: after the tuner has learned what is usual.
CHANGE = 10


@dataclass(frozen=True)
class Noise:
    """Noise of simulated readings: lognormal, with occasional outliers.

    Args:
        iteration, busy: standard deviations of the logarithm.
        outliers: how many iterations, and how many flows of a window, are out of line; by a factor
            of a Pareto distribution without variance.
    """

    iteration: float = 0.05
    busy: float = 0.15
    outliers: float = 0.02


QUIET = Noise(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Carried:
    """Traffic of one call of a collective on a network.

    Args:
        sent_bytes: (H, H) by each host (row) to each other.
        busy_s: (H, H) how long each flow had something to send.
        time_s: until the last had ended.
    """

    sent_bytes: Floats
    busy_s: Floats
    time_s: float


@dataclass(frozen=True)
class Turn:
    """A network that changes within a window.

    Args:
        before, after: what links carry.
        at: after how many iterations; 4.3 is in the fifth, when three tenths of what it sends have
            been sent.
    """

    before: State
    after: State
    at: float


# A collective by its name, the size of its buffer, and the forest that it goes along, on a network;
# and when in it the network becomes another one, if it does.
Carry = Callable[[str, float, Forest, State, tuple[float, State] | None], Carried]


def by_model(
    collective: str,
    size_bytes: float,
    forest: Forest,
    state: State,
    change: tuple[float, State] | None = None,
) -> Carried:
    """Compute a time by plink's own model: flows begin together and share links fairly."""
    sent = traffic_bytes(build_traffic(Demand(collective, size_bytes), forest))
    times = flow_times_s(sent, state)
    if change is not None:
        at_s, after = change
        later = flow_times_s(sent, after)
        # What is left of a flow when the network changes goes on at the new network's pace.
        left = np.divide(times - at_s, times, out=np.zeros_like(times), where=times > at_s)
        times = np.where(times > at_s, at_s + left * later, times)
    return Carried(sent, times, float(times.max()))


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
        carry: what flows take.
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
        carry: Carry = by_model,
    ) -> None:
        self._carry = carry
        self.size_bytes = size_bytes
        self.compute_s = compute_s
        self.iterations = iterations
        self.noise = noise
        self.collectives = collectives
        self._random = np.random.default_rng(seed)
        self._known: tuple[Forest, State, tuple[Floats, Floats, float]] | None = None

    def iteration_s(self, forest: Forest, state: State) -> float:
        """Return the time of an iteration without noise."""
        return self.compute_s + self._flows(forest, state)[2]

    def window(self, plan: int, forest: Forest, network: State | Turn) -> Window:
        """Return the ranks' report of the next iterations, with one rank on each host."""
        if isinstance(network, Turn):
            sent, times_s, took = self._simulate_turn(forest, network)
            state = network.after
        else:
            state = network
            sent, times_s, moved_s = self._flows(forest, state)
            took = np.full(self.iterations, self.compute_s + moved_s)
        noise, random, shape = self.noise, self._random, sent.shape
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

    def _simulate_turn(self, forest: Forest, turn: Turn) -> tuple[Floats, Floats, Floats]:
        """Return bytes and mean busy seconds of each flow, and what each iteration takes."""
        whole = int(turn.at)
        sent, early_s, before_s = self._flows(forest, turn.before)
        # Of several collectives the first is the one in which it changes.
        first, *others = self.collectives
        change = ((turn.at - whole) * before_s / len(self.collectives), turn.after)
        turning = [self._carry(first, self.size_bytes, forest, turn.before, change)]
        turning += [self._carry(name, self.size_bytes, forest, turn.after, None) for name in others]
        _, late_s, after_s = self._flows(forest, turn.after)
        rest = self.iterations - whole - 1
        turning_s = np.sum([each.busy_s for each in turning], axis=0)
        busy_s: Floats = (whole * early_s + turning_s + rest * late_s) / self.iterations
        moved_s = [before_s] * whole + [sum(each.time_s for each in turning)] + [after_s] * rest
        return sent, busy_s, self.compute_s + np.array(moved_s)

    def _factors(self, deviation: float, shape: tuple[int, ...]) -> Floats:
        factors = self._random.lognormal(0.0, deviation, shape)
        is_out = self._random.random(shape) < self.noise.outliers
        return np.where(is_out, factors * (1.0 + self._random.pareto(1.5, shape)), factors)

    def _flows(self, forest: Forest, state: State) -> tuple[Floats, Floats, float]:
        """Return bytes and busy seconds of each flow, and how long all of an iteration's take."""
        if self._known is not None and self._known[0] is forest and self._known[1] is state:
            return self._known[2]
        each = [
            self._carry(name, self.size_bytes, forest, state, None) for name in self.collectives
        ]
        sent = np.sum([one.sent_bytes for one in each], axis=0)
        busy_s = np.sum([one.busy_s for one in each], axis=0)
        found = sent, busy_s, sum(one.time_s for one in each)
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
    """Record of a simulated job that was tuned.

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
        """Return the windows at whose end the plan changed."""
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
    at: Callable[[int], State | Turn],
    windows: int,
    *,
    seed: int = 0,
    noise: Noise | None = None,
    collectives: Sequence[str] = (ALL_REDUCE,),
    carry: Carry = by_model,
    size_bytes: float = 102e6,
) -> TunedRun:
    """A job that came with a plan for `state`, on the network that `at` gives for each window."""
    forest = first = first_forest(state)
    job = Job(size_bytes, noise=noise or Noise(), seed=seed, collectives=collectives, carry=carry)
    tuner = Tuner(first, range(len(state.group_of)), state.group_of.tolist(), job.size_bytes)
    steps = []
    for number in range(windows):
        now = at(number)
        window = job.window(tuner.plan, forest, now)
        decision = tuner.decide(number * WINDOW_S, window)
        forest = forest if decision.forest is None else decision.forest
        state = now.after if isinstance(now, Turn) else now
        steps.append(Step(decision, job.iteration_s(forest, state), forest))
    return TunedRun(steps, job, tuner, first)


def while_changed(usual: State, changed: State, until: int) -> Callable[[int], State]:
    """The network as usual, changed from window `CHANGE` up to `until`, and as usual again."""
    return lambda number: changed if CHANGE <= number < until else usual
