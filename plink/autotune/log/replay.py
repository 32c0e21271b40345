"""Deciding again on what a log holds: to compare, or to go on where it ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from plink.autotune.log import records
from plink.autotune.log.records import Entry, Start
from plink.autotune.protocol.identity import Identity, identity
from plink.autotune.tuner.interface import Action, Decision, TunerOptions
from plink.autotune.tuner.masters import forest_of
from plink.autotune.tuner.names import Names
from plink.autotune.tuner.snapshot import restore
from plink.autotune.tuner.tuner import Tuner
from plink.base.errors import WrongUseError
from plink.base.text import bytes_text, format_count
from plink.formats import document
from plink.formats.limits import Amount, Text, Whole
from plink.formats.plan import Plan
from plink.formats.structs import Output
from plink.plans.forest import Forest

# A job whose iterations reduce so much more or less is another one.
_OTHER_SIZE = 1.2

# Every run begins with plan 0: after so long it is assumed to be another run than the log's.
_SAME_RUN_S = 600.0


class ReplayedDecision(Output, frozen=True, kw_only=True):
    """A decision made again.

    Attributes:
        now_s: the daemon's clock, in s since 1970
        iteration_s: median iteration of the window, in s
        action: what was done
        reason: why, in words
        plan: number of the plan in force from then on
        is_new_plan: whether it is another than before
        hosts: indices of the hosts to probe again
        host_names: names of these hosts
        of_groups: share of the buffer with masters in each group
        of_hosts: each host's share of its group's
        is_as_logged: whether the log has the same decision
    """

    now_s: float
    iteration_s: Amount
    action: Action
    reason: Text
    plan: Whole
    is_new_plan: bool
    hosts: Sequence[Whole]
    host_names: Sequence[str]
    of_groups: Sequence[Amount]
    of_hosts: Sequence[Amount]
    is_as_logged: bool


@dataclass(frozen=True)
class Replayed:
    """A decision now, beside the one that the log has.

    Args:
        entry: of the log.
        decision: of the replay.
    """

    entry: Entry
    decision: Decision

    @property
    def is_same(self) -> bool:
        """Whether both say the same."""
        then = (self.entry.action, self.entry.reason, self.entry.plan)
        return then == (self.decision.action, self.decision.reason, self.decision.plan)


def tuner_of(plan: Plan, options: TunerOptions) -> Tuner:
    """Return a tuner for a job that begins with that plan.

    Raises:
        NoMastersError: the plan is neither flat nor of two levels.
    """
    return Tuner(
        plan.forest,
        plan.host_by_rank,
        plan.group_by_rank,
        plan.size_bytes,
        options,
        names=_names_of(plan),
    )


def _names_of(plan: Plan) -> Names:
    """Return the plan's names of hosts and groups, in the order of a tuner's layout."""
    host_of_group = dict(zip(plan.group_by_rank, (rank.host for rank in plan.ranks), strict=True))
    return Names(
        list(dict.fromkeys(rank.host for rank in plan.ranks)),
        [
            plan.groups[group].name if group < len(plan.groups) else host
            for group, host in sorted(host_of_group.items())
        ],
    )


def replay(start: Start, entries: Iterable[Entry]) -> Iterator[Replayed]:
    """Decide again, entry by entry; not those that follow on windows that the log lacks.

    Raises:
        NoMastersError: the plan is neither flat nor of two levels.
        ValueError: the state in the log is not valid.
    """
    tuner = tuner_of(start.plan, start.options)
    if start.state is not None:
        restore(tuner, dict(start.state))
    for entry in entries:
        if entry.unlogged:
            tuner = tuner_after(start, entry)
        else:
            yield Replayed(entry, tuner.decide(entry.now_s, entry.window))


def tuner_after(start: Start, entry: Entry) -> Tuner:
    """Return the tuner as it was after an entry that has its state.

    Raises:
        ValueError: the state is not valid.
    """
    tuner = tuner_of(start.plan, start.options)
    restore(tuner, dict(entry.state or {}))
    return tuner


class UnusableLogError(Exception):
    """A log from which tuning cannot go on, and why."""


@dataclass(frozen=True)
class ResumeState:
    """State at the end of a log, from which tuning continues.

    Args:
        plan: that tuning began with.
        tuner: with all that it had learned.
        forest: the newest plan.
        before: the plan before it, where no window shows that the newest was in force.
        windows: in the log.
        last_s: when the last of them was; None if there are no windows.
        whole_bytes: of the log, without a last line that was cut.
        is_torn: whether there is one.
    """

    plan: Plan
    tuner: Tuner
    forest: Forest
    before: Forest | None
    windows: int
    last_s: float | None
    whole_bytes: int
    is_torn: bool

    def why_not(self, now_s: float, plan: Identity, size_bytes: float) -> str | None:
        """Return why tuning cannot go on from here; None where it can.

        Args:
            now_s: seconds since 1970.
            plan: in force.
            size_bytes: that an iteration reduces.
        """
        if self.running(plan) is None:
            return "the ranks have another plan than the log"
        if plan.number == 0 and (self.last_s is None or now_s - self.last_s > _SAME_RUN_S):
            return (
                f"the log has no window of the last {_SAME_RUN_S / 60.0:.0f} minutes, "
                "so that this may be another run"
            )
        ratio = max(size_bytes, 1.0) / self.plan.size_bytes
        if not 1.0 / _OTHER_SIZE <= ratio <= _OTHER_SIZE:
            sizes = (bytes_text(each) for each in (size_bytes, self.plan.size_bytes))
            return "an iteration reduces {}, and {} in the log".format(*sizes)
        return None

    def running(self, plan: Identity) -> Forest | None:
        """The plan in force: the log's newest, or the one before, where the newest got lost."""
        for forest in (self.forest, self.before):
            if forest is not None and identity(plan.number, forest) == plan:
                return forest
        return None


def read_resume_state(path: str, plan: Plan) -> ResumeState | None:
    """Read the state at the end of a log of a job with that plan; None if there is no file.

    Raises:
        UnusableLogError: a log from which tuning cannot go on: it is to begin anew.
        WrongUseError: the file is not a log, and is not to be written over.
    """
    if not Path(path).exists():
        return None
    content = document.read_bytes(path)
    if not content:
        return None
    if not records.is_log(content):
        raise WrongUseError(
            f"{document.label(path)}: exists, and is not a log of plink autotune",
            "give another name",
        )
    whole_bytes = content.rfind(b"\n") + 1
    try:
        start, entries = records.parse(content, document.label(path))
        if start.plan.ranks != plan.ranks:
            raise UnusableLogError(f"{path} is the log of a job on other hosts")
        known = list(entries)
        tuner, before = _at_the_end(start, known)
    except (WrongUseError, ValueError) as error:
        raise UnusableLogError(str(error)) from None
    return ResumeState(
        start.plan,
        tuner,
        _newest(start, tuner),
        before,
        len(known),
        known[-1].now_s if known else None,
        whole_bytes,
        whole_bytes < len(content),
    )


def describe(state: ResumeState, path: str) -> str:
    """Describe the state for the terminal."""
    torn = ", the last line was cut and is left out" if state.is_torn else ""
    return (
        f"{path}: {format_count(state.windows, 'window')}{torn}; tuning goes on from there if the "
        "ranks still have its plan"
    )


def _at_the_end(start: Start, entries: list[Entry]) -> tuple[Tuner, Forest | None]:
    """Return the tuner after all entries, and the plan before a last one that has no window yet."""
    tuner = tuner_of(start.plan, start.options)
    states = [number for number, entry in enumerate(entries) if entry.state is not None]
    begin = states[-1] + 1 if states else 0
    state = entries[begin - 1].state if states else start.state
    if state is not None:
        restore(tuner, dict(state))
    before: Forest | None = None
    newest = _newest(start, tuner)
    for number, entry in enumerate(entries[begin:], begin + 2):
        if entry.window.plan == tuner.plan:
            before = None
        decision = tuner.decide(entry.now_s, entry.window)
        if (decision.action, decision.plan) != (entry.action, entry.plan):
            raise UnusableLogError(f"line {number} has another decision than plink makes now")
        if decision.forest is not None:
            before, newest = newest, decision.forest
    return tuner, before


def _newest(start: Start, tuner: Tuner) -> Forest:
    return forest_of(tuner.masters, tuner.layout) if tuner.plan else start.plan.forest
