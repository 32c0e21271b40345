"""When gradients get another schedule: windows in, decisions out. No clock, no network, no chance.

It plans when it has learned what iterations take, and anew when the network or the profile has
moved. A schedule has to promise a gain; then it is on trial, and goes if iterations are slower with
it. What did not keep its promise makes the next one promise more. While the plan of aggregation is
on trial, or after it has changed, nothing is decided: one change at a time can be judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from plink.training.overlap.candidates import AUTO, Candidate, candidates, fewest_within
from plink.training.overlap.measured import shift
from plink.training.overlap.network import Network
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule
from plink.training.overlap.timeline import communicated_s

_DEVIATIONS_PER_MAD = 1.4826


class Action(Enum):
    """What all ranks are to do."""

    WAIT = "wait"
    INSTALL = "install"
    ROLL_BACK = "roll back"


@dataclass(frozen=True)
class PlannerOptions:
    """How it decides.

    Args:
        wanted: "auto" for the best of all, or the name of one kind of schedule.
        in_flight: collectives that the engine runs at once.
        least_gain: what a schedule has to promise, as a share of an iteration.
        most_gain: how much that can become after broken promises.
        indifferent: of schedules that end within that share of an iteration, the one with the
            fewest collectives is taken: each costs the processor something that no model has.
        worse: iterations that are longer by that share are not noise.
        deviations: nor such that are longer by so many standard deviations, if that is more.
        learning_windows: before the first decision.
        trial_windows: in which a schedule is judged.
        remembered_windows: of which the noise is known.
        moved_network: by which share collectives take longer or shorter on another network.
        moved_profile: by which share of the backward pass gradients come at other times.
        forgiven_windows: after so many without a change a broken promise counts half.
    """

    wanted: str = AUTO
    in_flight: int = 2
    least_gain: float = 0.03
    most_gain: float = 0.24
    indifferent: float = 0.01
    worse: float = 0.01
    deviations: float = 3.0
    learning_windows: int = 2
    trial_windows: int = 2
    remembered_windows: int = 20
    moved_network: float = 0.1
    moved_profile: float = 0.1
    forgiven_windows: int = 100


@dataclass(frozen=True)
class Window:
    """What some iterations under one schedule were like, on all ranks together.

    Args:
        iteration_s: the median, of the slowest rank.
        profile: the maximum over ranks.
        network: as it is known now.
        is_network_new: what was known before does not hold any more.
        has_network: startup and rate are told apart.
        plan: of aggregation, its number.
        is_frozen: that plan is on trial, or is about to change.
        deviation: of the median by chance, as a share of it: its standard error.
    """

    iteration_s: float
    profile: Profile
    network: Network
    is_network_new: bool = False
    has_network: bool = True
    plan: int = 0
    is_frozen: bool = False
    deviation: float = 0.0


@dataclass(frozen=True)
class Decision:
    """What is to be done.

    Args:
        action: of all ranks.
        reason: in words.
        names: of the gradients, in the order in which they stand in the pool from now on.
        schedule: in force from now on.
        name: how it was made.
    """

    action: Action
    reason: str
    names: tuple[str, ...]
    schedule: Schedule
    name: str


@dataclass(frozen=True)
class _InForce:
    names: tuple[str, ...]
    schedule: Schedule
    name: str


@dataclass(frozen=True)
class _Trial:
    """Args: `before`, what it took with it, what the new one promised as a share of that."""

    before: _InForce
    before_s: float
    promised: float


class Planner:
    """Of one job.

    Args:
        names: of gradients, as they stand in the pool.
        schedule: in force at first.
        name: how it was made.
        options: how it decides.
    """

    def __init__(
        self,
        names: Sequence[str],
        schedule: Schedule,
        name: str,
        options: PlannerOptions | None = None,
    ) -> None:
        self.options = options or PlannerOptions()
        self._in_force = _InForce(tuple(names), schedule, name)
        self._least_gain = self.options.least_gain
        self._plan: int | None = None
        # Of windows under the schedule in force, on one network.
        self._iterations_s: list[float] = []
        self._deviation = 0.0
        self._is_void = self._was_new = False
        self._has_learned = self._has_planned = False
        self._quiet_windows = 0
        self._trial: _Trial | None = None
        self._planned: tuple[Network, Profile] | None = None

    @property
    def is_on_trial(self) -> bool:
        """Whether the schedule in force has still to show that it is not worse."""
        return self._trial is not None

    def decide(self, window: Window) -> Decision:
        """What to do after another window."""
        plan, self._plan = self._plan, window.plan
        was_new, self._was_new = self._was_new, window.is_network_new
        if window.is_network_new:
            self._planned = None
        if plan is not None and window.plan != plan:
            # A trial was one under other conditions.
            self._iterations_s, self._trial, self._planned = [], None, None
            return self.wait("another plan of aggregation is in force")
        if self._is_void:
            # Its first steps may have been those of the schedule before.
            self._is_void = False
            return self.wait("the schedule has just changed")
        if window.is_frozen:
            return self.wait("the plan of aggregation is on trial")
        if window.is_network_new and self._trial is None:
            self._iterations_s = []
            if not was_new:
                # It may be of two networks: what iterations take now, the next one tells.
                return self.wait("the network has changed")
        self._iterations_s = [*self._iterations_s, window.iteration_s][
            -self.options.remembered_windows :
        ]
        self._learn_noise(window)
        self._forgive()
        if self._trial is not None:
            return self._judge(self._trial)
        return self._watch(window)

    def _watch(self, window: Window) -> Decision:
        needed = 1 if self._has_learned else self.options.learning_windows
        if len(self._iterations_s) < needed:
            return self.wait(f"learning, {len(self._iterations_s)} of {needed} windows")
        self._has_learned = True
        if not window.has_network:
            return self.wait("startup and rate of collectives cannot be told apart yet")
        if self._planned is not None and not self._has_moved(window, *self._planned):
            return self.wait("nothing has moved")
        return self._plan_anew(window)

    def _plan_anew(self, window: Window) -> Decision:
        options, is_first = self.options, not self._has_planned
        self._planned, self._has_planned = (window.network, window.profile), True
        now_s, took_s = self._predicted_s(window), self._usual_s()
        found = candidates(window.profile, window.network, options.in_flight, options.wanted)
        best = fewest_within(found, options.indifferent * took_s)
        gain = (now_s - best.communicated_s) / took_s
        if is_first and options.wanted != AUTO:
            new = _in_force(window.profile, best)
            return self._install(Action.INSTALL, new, None, f"{best.name}, as asked for")
        if best.schedule.cuts == self._in_force.schedule.cuts or gain < self._least_gain:
            return self.wait(f"{best.name} promises {100 * gain:.1f} % less, which is too little")
        trial = _Trial(self._in_force, took_s, gain)
        reason = f"{best.name} promises {100 * gain:.1f} % less"
        return self._install(Action.INSTALL, _in_force(window.profile, best), trial, reason)

    def _judge(self, trial: _Trial) -> Decision:
        needed = self.options.trial_windows
        if len(self._iterations_s) < needed:
            return self.wait(f"on trial, {len(self._iterations_s)} of {needed} windows")
        gained = 1.0 - self._usual_s() / trial.before_s
        kept = 0.5 * trial.promised
        self._least_gain = (
            self.options.least_gain
            if gained >= kept
            else min(self.options.most_gain, 2.0 * self._least_gain)
        )
        # Windows vary as a whole, and there are few of them.
        allowed = max(self.options.worse, self.options.deviations * self._deviation)
        said = f"iterations take {-100 * gained:+.1f} %, {-100 * trial.promised:+.1f} % promised"
        if gained < -allowed:
            return self._install(Action.ROLL_BACK, trial.before, None, said)
        self._trial = None
        return self.wait(f"kept: {said}")

    def _has_moved(self, window: Window, network: Network, profile: Profile) -> bool:
        if shift(profile, window.profile) > self.options.moved_profile:
            return True
        groups = self._schedule.groups(self._as_in_force(window.profile))
        sizes_bytes = [group.size_bytes for group in groups]
        for size_bytes in (min(sizes_bytes), max(sizes_bytes)):
            before_s = max(network.alone_s(size_bytes), network.line_s(size_bytes))
            after_s = max(window.network.alone_s(size_bytes), window.network.line_s(size_bytes))
            if abs(after_s - before_s) > self.options.moved_network * before_s:
                return True
        return False

    def _predicted_s(self, window: Window) -> float:
        """When all is reduced with the schedule in force, whose order may not be the profile's."""
        return communicated_s(self._as_in_force(window.profile), self._schedule, window.network)

    @property
    def _schedule(self) -> Schedule:
        return replace(self._in_force.schedule, in_flight=self.options.in_flight)

    def _as_in_force(self, profile: Profile) -> Profile:
        return in_order_of(profile, self._in_force.names)

    def _install(
        self, action: Action, new: _InForce, trial: _Trial | None, reason: str
    ) -> Decision:
        self._in_force, self._trial = new, trial
        self._iterations_s, self._quiet_windows = [], 0
        self._is_void = True
        return Decision(action, reason, new.names, new.schedule, new.name)

    def _usual_s(self) -> float:
        return float(np.median(self._iterations_s))

    def _learn_noise(self, window: Window) -> None:
        """Of a window's iteration time, as a share; kept where a change leaves too few windows."""
        if len(self._iterations_s) >= 2 * self.options.learning_windows:
            values = np.array(self._iterations_s)
            usual_s = float(np.median(values))
            mad_s = float(np.median(np.abs(values - usual_s)))
            self._deviation = _DEVIATIONS_PER_MAD * mad_s / usual_s
        self._deviation = max(self._deviation, window.deviation)

    def _forgive(self) -> None:
        self._quiet_windows += 1
        if self._quiet_windows >= self.options.forgiven_windows:
            self._quiet_windows = 0
            self._least_gain = max(self.options.least_gain, 0.5 * self._least_gain)

    def wait(self, reason: str) -> Decision:
        """Nothing is done, for that reason."""
        now = self._in_force
        return Decision(Action.WAIT, reason, now.names, now.schedule, now.name)


def in_order_of(profile: Profile, names: Sequence[str]) -> Profile:
    """The same gradients as they stand in a pool: each is sent when those before it are there.

    Args:
        profile: in ready order.
        names: the same in another.
    """
    sizes = dict(zip(profile.names, profile.sizes_bytes, strict=True))
    ready_s = dict(zip(profile.names, profile.ready_s, strict=True))
    in_turn_s = np.maximum.accumulate(np.array([ready_s[name] for name in names]))
    return Profile(
        tuple(names), tuple(sizes[name] for name in names), tuple(float(s) for s in in_turn_s)
    )


def _in_force(profile: Profile, best: Candidate) -> _InForce:
    return _InForce(profile.names, best.schedule, best.name)
