"""A tuned run as its logs have it: what iterations took, what hosts sent, what was decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.autotune.log.records import Entry, Start
from plink.autotune.log.replay import tuner_after, tuner_of
from plink.autotune.tuner.bandwidth import hosts_bytes_s
from plink.autotune.tuner.interface import Action, TunerOptions
from plink.autotune.tuner.snapshot import restore
from plink.formats.plan import Plan

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# By so many windows before and after it a change is judged: as many as a plan's trial has.
_JUDGING = 3


@dataclass(frozen=True)
class Change:
    """A decision that was more than to wait, or a new beginning.

    Args:
        window: after which it was made.
        action: what was done; None where tuning began anew.
        reason: why.
        plan: number of the plan in force from then on.
        is_new_plan: whether it is another than before.
    """

    window: int
    action: Action | None
    reason: str
    plan: int
    is_new_plan: bool

    @property
    def what(self) -> str:
        """Describe the action in a word or two."""
        return "begun anew" if self.action is None else self.action.value


@dataclass(frozen=True)
class History:
    """History of a tuned run.

    Args:
        plan: that the first log began with.
        options: of the tuner.
        is_cut: whether there was something before the first window.
        at_s: (W,) when each window ended, by the daemon's clock.
        iteration_s: (W,) the median iteration of each.
        size_bytes: (W,) of the buffers in an iteration.
        plans: (W,) the number of the plan in force; where tuning began anew they go on.
        sent_bytes: (W, H) what each host sent to others in an iteration.
        rates_bytes_s: (W, H) what each host is believed to carry, from a replay; NaN without one,
            where nothing was believed yet, and where the log has other decisions.
        changes: decisions, in order.
        is_replayed: whether a replay decided as the log has it; None without one.
    """

    plan: Plan
    options: TunerOptions
    is_cut: bool
    at_s: Floats
    iteration_s: Floats
    size_bytes: Floats
    plans: Integers
    sent_bytes: Floats
    rates_bytes_s: Floats
    changes: Sequence[Change]
    is_replayed: bool | None

    @property
    def hosts(self) -> Sequence[str]:
        """Names by index."""
        return list(dict.fromkeys(rank.host for rank in self.plan.ranks))

    @property
    def windows(self) -> int:
        """How many there are."""
        return len(self.at_s)

    @property
    def seconds(self) -> float:
        """Seconds from the first window's end to the last's."""
        return float(self.at_s[-1] - self.at_s[0]) if self.windows else 0.0

    @property
    def throughput_bytes_s(self) -> Floats:
        """(W,) bytes of the job's buffers by the time of an iteration."""
        return self.size_bytes / self.iteration_s

    @property
    def new_plans(self) -> Sequence[Change]:
        """Changes of the plan."""
        return [change for change in self.changes if change.is_new_plan]

    def around(self, change: Change) -> tuple[float | None, float | None]:
        """Return the median iteration time in the last windows before a change, and that after it.

        None where there is no window of the one plan or the other.
        """
        after = change.window + 1
        return (
            self._median_s(range(change.window, max(-1, change.window - _JUDGING), -1)),
            self._median_s(range(after, min(self.windows, after + _JUDGING))),
        )

    def balance(self, window: int) -> float | None:
        """Return the busiest host's bytes over the least busy one's; None if one sent none."""
        sent = self.sent_bytes[window]
        return float(sent.max() / sent.min()) if sent.min() > 0.0 else None

    def _median_s(self, windows: Sequence[int]) -> float | None:
        """Return the median of those windows that have the plan of the first."""
        of_plan = [each for each in windows if self.plans[each] == self.plans[windows[0]]]
        return float(np.median(self.iteration_s[of_plan])) if of_plan else None


def history_of(
    parts: Iterable[tuple[Start, Iterable[Entry]]], *, with_replay: bool = True
) -> History:
    """The run that logs tell of.

    Args:
        parts: logs of one run, the oldest first.
        with_replay: to know what was believed; it takes as long as the decisions did.

    Raises:
        ValueError: no logs, a plan that cannot be tuned, a state that is not valid.
    """
    rows: list[_Row] = []
    changes: list[Change] = []
    starts: list[Start] = []
    first_plan = 0
    is_replayed = True if with_replay else None
    for start, entries in parts:
        starts.append(start)
        # A part with a state goes on from the one before, and so do its numbers of plans.
        is_anew = start.state is None and bool(rows)
        first_row = len(rows)
        if is_anew:
            shown = [row.plan for row in rows] + [change.plan for change in changes]
            first_plan = 1 + max(shown)
        believed = _Believed(start) if with_replay else None
        unknown = np.full(max(start.plan.host_by_rank) + 1, np.nan)
        for entry in entries:
            if not len(entry.window.iteration_s) or not entry.window.median_s > 0.0:
                continue
            rates = unknown if believed is None else believed.after(entry)
            if is_anew and len(rows) == first_row:
                changes.append(_new_log_change(first_row - 1, first_plan + entry.window.plan))
            rows.append(_row(entry, start.plan.size_bytes, first_plan, rates))
            if entry.action is not Action.WAIT:
                changes.append(_change(entry, len(rows) - 1, first_plan))
        if believed is not None:
            is_replayed = is_replayed and believed.is_same
    if not starts:
        raise ValueError("no logs")
    hosts = max(starts[0].plan.host_by_rank) + 1
    return History(
        starts[0].plan,
        starts[0].options,
        starts[0].state is not None,
        np.array([row.at_s for row in rows]),
        np.array([row.iteration_s for row in rows]),
        np.array([row.size_bytes for row in rows], dtype=np.float64),
        np.array([row.plan for row in rows], dtype=np.int64),
        np.array([row.sent_bytes for row in rows]).reshape(-1, hosts),
        np.array([row.rates_bytes_s for row in rows]).reshape(-1, hosts),
        changes,
        is_replayed,
    )


@dataclass(frozen=True)
class _Row:
    """A window; of a job of 1,000 hosts all of it would be too much."""

    at_s: float
    iteration_s: float
    size_bytes: int
    plan: int
    sent_bytes: Floats
    rates_bytes_s: Floats


class _Believed:
    """Rates of hosts that a tuner believes in when it decides again."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._tuner = tuner_of(start.plan, start.options)
        if start.state is not None:
            restore(self._tuner, dict(start.state))
        self.is_same = True

    def after(self, entry: Entry) -> Floats:
        """Return (H,) of each host; NaN where nothing is believed."""
        if entry.unlogged:
            self._tuner = tuner_after(self._start, entry)
        tuner = self._tuner
        if self.is_same and not entry.unlogged:
            decision = tuner.decide(entry.now_s, entry.window)
            self.is_same = (decision.action, decision.plan) == (entry.action, entry.plan)
        unknown = np.full(tuner.layout.hosts, np.nan)
        if not self.is_same or tuner.rates_bytes_s is None:
            return unknown
        rates = hosts_bytes_s(tuner.rates_bytes_s, tuner.layout)
        return np.where(np.isfinite(rates), rates, np.nan)


def _row(entry: Entry, size_bytes: int, first_plan: int, rates_bytes_s: Floats) -> _Row:
    window = entry.window
    return _Row(
        entry.now_s,
        window.median_s,
        size_bytes,
        first_plan + window.plan,
        window.sent_bytes.sum(axis=1),
        rates_bytes_s,
    )


def _change(entry: Entry, window: int, first_plan: int) -> Change:
    is_new = entry.plan != entry.window.plan
    return Change(window, entry.action, entry.reason, first_plan + entry.plan, is_new)


def _new_log_change(window: int, plan: int) -> Change:
    return Change(window, None, "a new log, with its own first plan", plan, is_new_plan=True)
