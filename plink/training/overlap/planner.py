"""When gradients get another schedule: windows in, decisions out. No clock, no network, no chance.

It plans when it has learned what iterations take, and anew when the network or the profile has
moved, or a schedule was tried. One has to promise a gain; then it is on trial, and goes if it does
not keep it: what was measured decides, the prediction only what is tried. What did not keep its
promise makes the next one promise more. While the plan of aggregation is on trial, or after it has
changed, nothing is decided: one change at a time can be judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plink.training.overlap.candidates import AUTO, Candidate, candidates, fewest_within
from plink.training.overlap.decisions import Action, Decision, PlannerOptions, Window
from plink.training.overlap.experience import Experience, InForce, in_order_of, predict_duration
from plink.training.overlap.measured import shift
from plink.training.overlap.network import Network
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule

_DEVIATIONS_PER_MAD = 1.4826


@dataclass(frozen=True)
class _Trial:
    """Args: `before`, what it took, in how many windows, what the new one promised as a share."""

    before: InForce
    before_s: float
    before_windows: int
    promised: float


class Planner:
    """Planner of one job's schedules.

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
        self._in_force = InForce(tuple(names), schedule, name)
        self._experience = Experience(self.options.in_flight)
        self._least_gain = self.options.least_gain
        self._plan: int | None = None
        # Of windows under the schedule in force, on one network.
        self._iterations_s: list[float] = []
        self._deviation = 0.0
        self._was_new = self._has_learned = self._has_planned = False
        self._quiet_windows = self._moved_windows = 0
        self._trial: _Trial | None = None
        self._planned: tuple[Network, Profile] | None = None

    @property
    def is_on_trial(self) -> bool:
        """Whether the schedule in force has still to show that it is better."""
        return self._trial is not None

    @property
    def is_settled(self) -> bool:
        """Whether nothing is to be decided, as long as nothing moves."""
        return self._trial is None and self._planned is not None

    def decide(self, window: Window) -> Decision:
        """Return the decision after another window."""
        plan, self._plan = self._plan, window.plan
        was_new, self._was_new = self._was_new, window.is_network_new
        if window.is_network_new:
            self._planned = None
            self._experience.forget()
        if plan is not None and window.plan != plan:
            # A trial was one under other conditions.
            self._iterations_s, self._trial, self._planned = [], None, None
            self._experience.forget()
            return self.wait("another plan of aggregation is in force")
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
        if self._planned is not None:
            has_moved = self._has_moved(window, *self._planned)
            self._moved_windows = self._moved_windows + 1 if has_moved else 0
            if self._moved_windows < self.options.moved_windows:
                return self.wait("nothing has moved for long" if has_moved else "nothing has moved")
            if self._has_moved(window, *self._planned, self.options.forgotten):
                self._experience.forget()
            return self._plan_anew(window, max(self._least_gain, self.options.drifted_gain))
        return self._plan_anew(window, self._least_gain)

    def _plan_anew(self, window: Window, least_gain: float) -> Decision:
        options, is_first = self.options, not self._has_planned
        self._planned, self._has_planned = (window.network, window.profile), True
        self._moved_windows = 0
        self._experience.add(self._in_force, self._usual_s())
        each_s = self._experience.per_collective_s(window.profile, window.network)
        if is_first and options.wanted != AUTO:
            of_kind = candidates(
                window.profile, window.network, options.in_flight, options.wanted, each_s
            )
            asked = fewest_within(of_kind, options.indifferent * self._usual_s())
            new = _in_force(window.profile, asked)
            return self._install(Action.INSTALL, new, None, f"{asked.name}, as asked for")
        best, gain = self._best(window, each_s)
        said = ""
        if gain < least_gain and self._suspected_s(window) > each_s:
            each_s = self._suspected_s(window)
            best, gain = self._best(window, each_s)
            said = f" if each collective costs {1e3 * each_s:.2g} ms beside the line"
        if gain < least_gain:
            return self.wait(f"{best.name} promises {100 * gain:.1f} % less, which is too little")
        trial = _Trial(self._in_force, self._usual_s(), len(self._iterations_s), gain)
        reason = f"{best.name} promises {100 * gain:.1f} % less{said}"
        return self._install(Action.INSTALL, _in_force(window.profile, best), trial, reason)

    def _best(self, window: Window, each_s: float) -> tuple[Candidate, float]:
        """Return the best of the current and the untried schedules, and the share it promises.

        Args:
            window: the last.
            each_s: what a collective costs beside the line.
        """
        options, took_s, now = self.options, self._usual_s(), self._in_force
        now_s = each_s * len(now.schedule.cuts) + predict_duration(
            now, window.profile, window.network, options.in_flight
        )
        every = candidates(
            window.profile, window.network, options.in_flight, options.wanted, each_s
        )
        # What was tried and is not in force was not better, whatever is predicted of it.
        found = [one for one in every if not self._experience.has(one.schedule)]
        found.append(Candidate(now.name, now.schedule, now_s))
        found.sort(key=lambda one: one.communicated_s)
        best = fewest_within(found, options.indifferent * took_s)
        return best, (now_s - best.communicated_s) / took_s

    def _suspected_s(self, window: Window) -> float:
        """Return a collective's cost besides the line if that is why iterations take so long."""
        now, options = self._in_force, self.options
        predicted_s = predict_duration(now, window.profile, window.network, options.in_flight)
        return (self._usual_s() - predicted_s) / len(now.schedule.cuts)

    def _judge(self, trial: _Trial) -> Decision:
        options, windows = self.options, len(self._iterations_s)
        gained = 1.0 - self._usual_s() / trial.before_s
        wanted = min(options.least_kept, 0.5 * trial.promised)
        # Windows vary as a whole, and there are few of them.
        noise = self._deviation * math.sqrt(1.0 / windows + 1.0 / trial.before_windows)
        is_hopeless = gained < -max(options.hopeless, options.deviations * noise)
        is_clear = windows >= options.trial_windows and abs(gained - wanted) > noise
        if not (is_hopeless or is_clear or windows >= options.most_trial_windows):
            return self.wait(f"on trial, {windows} of {options.trial_windows} windows")
        self._experience.add(self._in_force, self._usual_s())
        # What was learned of it may make another one better.
        self._trial, self._planned = None, None
        is_kept = gained >= wanted
        self._least_gain = (
            options.least_gain if is_kept else min(options.most_gain, 2.0 * self._least_gain)
        )
        said = f"iterations take {-100 * gained:+.1f} %, {-100 * trial.promised:+.1f} % promised"
        if not is_kept:
            return self._install(Action.ROLL_BACK, trial.before, None, said)
        return self.wait(f"kept: {said}")

    def _has_moved(
        self, window: Window, network: Network, profile: Profile, times: float = 1.0
    ) -> bool:
        """Return whether one of them is another now, by so many times what counts as such."""
        if shift(profile, window.profile) > times * self.options.moved_profile:
            return True
        in_turn = in_order_of(window.profile, self._in_force.names)
        schedule = replace(self._in_force.schedule, in_flight=self.options.in_flight)
        sizes_bytes = [group.size_bytes for group in schedule.groups(in_turn)]
        for size_bytes in (min(sizes_bytes), max(sizes_bytes)):
            before_s = max(network.alone_s(size_bytes), network.line_s(size_bytes))
            after_s = max(window.network.alone_s(size_bytes), window.network.line_s(size_bytes))
            if abs(after_s - before_s) > times * self.options.moved_network * before_s:
                return True
        return False

    def _install(self, action: Action, new: InForce, trial: _Trial | None, reason: str) -> Decision:
        self._in_force, self._trial = new, trial
        self._iterations_s, self._quiet_windows = [], 0
        return Decision(action, reason, new.names, new.schedule, new.name)

    def _usual_s(self) -> float:
        return float(np.median(self._iterations_s))

    def _learn_noise(self, window: Window) -> None:
        """Estimate the noise of a window's time, as a share; kept if too few windows are left."""
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
        """Return the decision to wait, with its reason."""
        now = self._in_force
        return Decision(Action.WAIT, reason, now.names, now.schedule, now.name)


def _in_force(profile: Profile, best: Candidate) -> InForce:
    return InForce(profile.names, best.schedule, best.name)
