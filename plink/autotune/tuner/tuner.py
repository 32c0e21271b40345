"""The tuner: windows in, decisions out. It has no clock, no network and no chance.

It learns what iterations take and what links carry, then watches. A sudden change of the iteration
time, or links that lastingly promise a better plan, are answered by Quicktune. Every new plan is on
trial: it is rolled back if iterations are slower with it, and followed by Finetune if they are not.
When there is nothing left to move, learning begins anew.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.autotune.tuner.bandwidth import (
    Belief,
    believe,
    describe_slow,
    first_belief,
    hosts_bytes_s,
    reading_noise,
)
from plink.autotune.tuner.finetune import Move, next_move
from plink.autotune.tuner.interface import Action, Decision, Floats, TunerOptions, Window, median_s
from plink.autotune.tuner.masters import Masters, forest_of, host_loads, layout_of, masters_of
from plink.autotune.tuner.memory import Memory
from plink.autotune.tuner.names import Names, numbered_names
from plink.autotune.tuner.quicktune import needed_s, quicktune
from plink.autotune.tuner.trial import Trial
from plink.autotune.tuner.trigger import Baseline, change, is_sudden, learn, median_deviation
from plink.base.replacing import replace
from plink.plans.forest import Forest
from plink.plans.names import ALL_REDUCE

# Rates of links, and iteration times, are alike within so many deviations.
_NOISE_MULTIPLE = 3.0


class Tuner:
    """Tunes one job.

    Args:
        forest: of the plan in force.
        host_of: (P,) the host of each rank, 0 to H-1.
        group_of: (P,) the group of each rank.
        size_bytes: of the buffer in an iteration.
        options: how it decides.
        names: what decisions call hosts and groups; None for numbers.

    Raises:
        NoMastersError: the plan is neither flat nor of two levels.
    """

    def __init__(
        self,
        forest: Forest,
        host_of: Sequence[int],
        group_of: Sequence[int],
        size_bytes: float,
        options: TunerOptions | None = None,
        *,
        names: Names | None = None,
    ) -> None:
        self.options = options or TunerOptions()
        self.layout = layout_of(forest, host_of, group_of)
        self.names = names or numbered_names(self.layout)
        self.home = masters_of(forest, self.layout)
        self.masters = self.home
        self.plan = 0
        self.size_bytes = size_bytes
        self.memory = Memory()
        self.rates_bytes_s: Floats | None = None
        self.baseline: Baseline | None = None
        self.recent: list[Window] = []
        self.trial: Trial | None = None
        self.moves = 0

    def decide(self, now_s: float, window: Window) -> Decision:
        """Return the decision after another window.

        Args:
            now_s: of any clock that does not go back.
            window: measured under the plan in force; one of another plan is ignored.
        """
        if window.plan != self.plan:
            return self._wait(f"a window of plan {window.plan}, {self.plan} is in force")
        if not window.is_measured:
            return self._wait("a window in which nothing was sent")
        self.recent = [*self.recent, window][-self._windows_to_keep() :]
        if self.trial is not None:
            return self._judge(now_s, self.trial)
        if self.baseline is None:
            return self._learn()
        return self._watch(now_s, self.baseline)

    def _windows_to_keep(self) -> int:
        options = self.options
        return max(options.confirming_windows, options.trial_windows, 2 * options.learning_windows)

    def _learn(self) -> Decision:
        needed = self.options.learning_windows
        if len(self.recent) < needed:
            return self._count("learning", needed)
        self.baseline = learn([window.median_s for window in self.recent])
        noise = _NOISE_MULTIPLE * reading_noise(self.recent, self.layout)
        self.options = replace(self.options, alike=max(self.options.alike, noise))
        self.rates_bytes_s = self._form_belief(self.recent).rate_bytes_s
        # They stay: a plan that the next windows suggest has to be promised by these, too.
        return self._wait(
            f"learned: an iteration takes {self.baseline.median_s:.4g} s, "
            f"give or take {100 * self.baseline.deviation:.1f} %"
        )

    def _watch(self, now_s: float, baseline: Baseline) -> Decision:
        if is_sudden(baseline, [each.median_s for each in self.recent], self.options):
            return self._react(now_s, baseline)
        lasting = self.options.learning_windows
        later, earlier = self.recent[-lasting:], self.recent[-2 * lasting : -lasting]
        took_s = median_s(later)
        changed = f"iterations take {100 * change(baseline, took_s):+.1f} %"
        if len(earlier) == lasting and self._is_steady():
            belief = first_belief(later, self.layout, self.options)
            masters = self._choose_masters(now_s, belief)
            if self._is_better(now_s, masters, belief, took_s):
                # Windows that did not suggest this plan have to promise as much of it.
                control = first_belief(earlier, self.layout, self.options)
                if self._is_better(now_s, masters, control, median_s(earlier)):
                    return self._quicktune(now_s, masters, belief, took_s, changed)
        return self._wait(changed)

    def _is_steady(self) -> bool:
        """Whether no change has just begun, which would make readings those of two networks."""
        usual_s = median_s(self.recent)
        allowed = max(self.options.alike, _NOISE_MULTIPLE * self._deviation)
        latest = self.recent[-self.options.confirming_windows :]
        return all(abs(window.median_s / usual_s - 1.0) <= allowed for window in latest)

    def _react(self, now_s: float, baseline: Baseline) -> Decision:
        """Answer a sudden change."""
        windows = self.recent[-self.options.confirming_windows :]
        took_s = median_s(windows)
        changed = f"iterations take {100 * change(baseline, took_s):+.1f} %"
        belief = self._form_belief(windows)
        beliefs = [belief]
        if self.rates_bytes_s is not None and took_s < baseline.median_s:
            # What has become slower does not make iterations shorter.
            faster = np.maximum(belief.rate_bytes_s, self.rates_bytes_s)
            belief = replace(belief, rate_bytes_s=faster)
            # What limits nothing any more does not show what it carries: hosts may be alike again.
            beliefs = [belief, first_belief(windows, self.layout, self.options)]
        for each in beliefs:
            masters = self._choose_masters(now_s, each)
            if self._is_better(now_s, masters, each, took_s):
                return self._quicktune(now_s, masters, each, took_s, changed)
        return self._resign(belief, changed, took_s)

    def _is_better(
        self, now_s: float, masters: Masters, belief: Belief, iteration_s: float
    ) -> bool:
        is_home = masters is self.home
        least = self.options.least_gain_home if is_home else self.options.least_gain
        return self._gain(now_s, masters, belief, iteration_s) >= least

    def _quicktune(
        self, now_s: float, masters: Masters, belief: Belief, took_s: float, changed: str
    ) -> Decision:
        gain = self._gain(now_s, masters, belief, took_s)
        self.rates_bytes_s = belief.rate_bytes_s
        self.memory.saw(now_s, belief.slow_flows, self.options)
        is_home = masters is self.home
        trial = Trial(self.masters, took_s, 0.0 if is_home else gain)
        slow = describe_slow(belief, self.layout, self.options, self.names)
        reason = (
            f"{changed}, {slow}: {'the first plan' if is_home else 'new shares'}, "
            f"{100 * gain:.0f} % less expected"
        )
        decision = self._install(now_s, trial, masters, Action.QUICKTUNE, reason)
        return replace(decision, hosts=self._to_be_probed(belief))

    def _resign(self, belief: Belief, changed: str, took_s: float) -> Decision:
        """Accept what iterations take now: they have changed, and no plan would help."""
        self._settle(belief, took_s)
        hosts = self._to_be_probed(belief)
        if hosts:
            slow = describe_slow(belief, self.layout, self.options, self.names)
            reason = f"{changed}, {slow}: to be probed again"
            return Decision(Action.REPROBE, reason, self.plan, self.masters, hosts=hosts)
        return self._wait(f"{changed}, and no plan would change that")

    def _to_be_probed(self, belief: Belief) -> Sequence[int]:
        """The hosts at the ends of slow flows, also those that were probed lately."""
        return sorted({host for flow in belief.slow_flows for host in (flow.sender, flow.receiver)})

    def _judge(self, now_s: float, trial: Trial) -> Decision:
        needed = self.options.trial_windows
        if len(self.recent) < needed:
            return self._count("on trial", needed)
        took_s = median_s(self.recent)
        worse = took_s / trial.before_s - 1.0
        belief = self._form_belief(self.recent)
        if worse > self.options.sudden_change:
            # So much is rarely a plan's doing: the network may have changed again meanwhile.
            masters = self._choose_masters(now_s, belief)
            if self._is_better(now_s, masters, belief, took_s):
                changed = f"iterations take {100 * worse:+.1f} %"
                rates = self._hosts_bytes_s()
                self.memory.failed(now_s, self.masters, rates, self.layout, self.options)
                return self._quicktune(now_s, masters, belief, took_s, changed)
        # Whole windows vary, so that more iterations in each do not make it less.
        deviation = self._deviation * median_deviation(needed)
        allowed = max(self.options.worse, _NOISE_MULTIPLE * deviation)
        if worse > allowed or worse > allowed - self.options.least_kept * trial.promised:
            return self._roll_back(now_s, trial, worse)
        changed = f"kept: iterations take {100 * worse:+.1f} %"
        move = self._finetune(now_s, belief, trial.move)
        if move is None:
            self._settle(belief, took_s)
            return self._wait(f"{changed}, nothing left to move")
        self.rates_bytes_s = belief.rate_bytes_s
        self.moves += 1
        giver, taker = (self.names.hosts[host] for host in (move.giver, move.taker))
        reason = (
            f"{changed}; {giver} has {move.ratio:.2f} times the blame of {taker} and hands it "
            "masters"
        )
        # Against the best so far, so that small losses do not add up.
        best_s = took_s if trial.move is None else min(trial.before_s, took_s)
        trial = Trial(self.masters, best_s, move=move)
        return self._install(now_s, trial, move.masters, Action.FINETUNE, reason)

    def _roll_back(self, now_s: float, trial: Trial, worse: float) -> Decision:
        rates = self._hosts_bytes_s()
        failure = self.memory.failed(now_s, self.masters, rates, self.layout, self.options)
        reason = (
            f"iterations take {100 * worse:+.1f} % with this plan, which promised "
            f"{-100 * trial.promised:+.1f} % and is left alone for {failure.until_s - now_s:.0f} s"
        )
        self.baseline = Baseline(trial.before_s, self._deviation)
        return self._install(now_s, None, trial.before, Action.ROLL_BACK, reason)

    @property
    def _deviation(self) -> float:
        """Return the chance variation of an iteration time, as a share of it."""
        return 0.0 if self.baseline is None else self.baseline.deviation

    def _choose_masters(self, now_s: float, belief: Belief) -> Masters:
        """Return the masters that links call for, or those of now where these failed lately."""
        most = self._trusted_rates(now_s)
        belief = self._with_avoided(now_s, belief)
        masters = quicktune(belief, self.layout, self.home, self.options, most)
        rates = belief.hosts_bytes_s(self.layout)
        is_left_alone = self.memory.is_left_alone(now_s, masters, rates, self.layout)
        return self.masters if is_left_alone else masters

    def _gain(self, now_s: float, masters: Masters, belief: Belief, iteration_s: float) -> float:
        """Return the gain that masters promise, as a share of the iteration."""
        if masters is self.masters:
            return 0.0
        most = self._trusted_rates(now_s)
        moved = self.recent[-1].bytes_of if self.recent else {}
        now, then = (
            needed_s(
                moved or {ALL_REDUCE: self.size_bytes},
                each,
                belief,
                self.layout,
                self.options,
                most_bytes_s=most,
            )
            for each in (self.masters, masters)
        )
        return (now - then) / iteration_s

    def _finetune(self, now_s: float, belief: Belief, last: Move | None) -> Move | None:
        if self.moves >= self.options.finetune_moves:
            return None
        held = set(self.memory.damped(now_s, self.options))
        for flow in self.memory.avoided(now_s, self.options):
            held |= {flow.sender, flow.receiver}
        move = next_move(
            self.masters,
            self.recent,
            belief,
            self.layout,
            self.options,
            last=last,
            held=sorted(held),
        )
        if move is None:
            return None
        rates = belief.hosts_bytes_s(self.layout)
        is_left_alone = self.memory.is_left_alone(now_s, move.masters, rates, self.layout)
        return None if is_left_alone else move

    def _with_avoided(self, now_s: float, belief: Belief) -> Belief:
        """Return the belief with the flows added that were slow lately, and may be unused since."""
        seen = {(flow.sender, flow.receiver) for flow in belief.slow_flows}
        avoided = [
            flow
            for flow in self.memory.avoided(now_s, self.options)
            if (flow.sender, flow.receiver) not in seen
        ]
        return replace(belief, slow_flows=[*belief.slow_flows, *avoided])

    def _trusted_rates(self, now_s: float) -> Floats:
        """Return (H,) no limit; for hosts that go up and down, the lowest rate that they had."""
        most = np.full(self.layout.hosts, np.inf)
        for host, rate_bytes_s in self.memory.damped(now_s, self.options).items():
            most[host] = rate_bytes_s
        return most

    def _hosts_bytes_s(self) -> Floats:
        if self.rates_bytes_s is None:
            return np.ones(self.layout.hosts)
        return hosts_bytes_s(self.rates_bytes_s, self.layout)

    def _form_belief(self, windows: Sequence[Window]) -> Belief:
        if self.rates_bytes_s is None:
            return first_belief(windows, self.layout, self.options)
        return believe(self.rates_bytes_s, windows, self.layout, self.options)

    def _install(
        self, now_s: float, trial: Trial | None, masters: Masters, action: Action, reason: str
    ) -> Decision:
        if action is Action.QUICKTUNE:
            rates = self._hosts_bytes_s()
            before, after = (host_loads(each, self.layout) for each in (self.masters, masters))
            self.memory.changed(now_s, before, after, rates, self.options)
        forest = forest_of(masters, self.layout)
        self.masters = masters
        self.plan += 1
        self.trial = trial
        self.recent = []
        if action is not Action.FINETUNE:
            self.moves = 0
        return Decision(action, reason, self.plan, masters, forest)

    def _settle(self, belief: Belief, took_s: float) -> None:
        """Make what there is now the rule from now on."""
        self.rates_bytes_s = belief.rate_bytes_s
        self.baseline = Baseline(took_s, self._deviation)
        self.trial = None
        self.recent = []

    def _count(self, doing: str, needed: int) -> Decision:
        """Wait for more windows to learn from, or to judge a plan by."""
        seen = len(self.recent)
        return replace(self._wait(f"{doing} {seen} of {needed}"), windows_left=needed - seen)

    def _wait(self, reason: str) -> Decision:
        return Decision(Action.WAIT, reason, self.plan, self.masters)
