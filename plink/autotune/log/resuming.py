"""What a log has left of a job's tuning, for a daemon that is started anew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from plink.autotune.log import autotune_log
from plink.autotune.log.autotune_log import Entry, Start
from plink.autotune.log.replay import tuner_of
from plink.autotune.protocol.identity import Identity, identity
from plink.autotune.tuner.masters import forest_of
from plink.autotune.tuner.snapshot import restore
from plink.autotune.tuner.tuner import Tuner
from plink.base.errors import WrongUseError
from plink.base.text import bytes_text, counted
from plink.files import document
from plink.files.plan import Plan
from plink.plans.forest import Forest

# A job whose iterations reduce so much more or less is another one.
_OTHER_SIZE = 1.2

# Every run begins with plan 0: after so long it is taken for another run than the log's.
_SAME_RUN_S = 600.0


class UnusableLogError(Exception):
    """A log from which tuning cannot go on, and why."""


@dataclass(frozen=True)
class Kept:
    """Where a log ends.

    Args:
        plan: that tuning began with.
        tuner: with all that it had learned.
        forest: the newest plan.
        before: the plan before it, where no window shows that the newest was in force.
        windows: in the log.
        last_s: when the last of them was; None where there is none.
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
        """Why tuning cannot go on from here; None where it can.

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


def kept_of(path: str, plan: Plan) -> Kept | None:
    """What the log at `path` has left of a job with that plan; None where there is no file.

    Raises:
        UnusableLogError: a log that cannot be gone on from: tuning is to begin anew.
        WrongUseError: no log, which is not to be written over.
    """
    if not Path(path).exists():
        return None
    content = document.read_bytes(path)
    if not content:
        return None
    if not autotune_log.is_log(content):
        raise WrongUseError(
            f"{document.label(path)}: is there, and no log of plink autotune", "give another name"
        )
    whole_bytes = content.rfind(b"\n") + 1
    try:
        start, entries = autotune_log.parse(content, document.label(path))
        if start.plan.ranks != plan.ranks:
            raise UnusableLogError(f"{path} is of a job on other hosts")
        known = list(entries)
        tuner, before = _at_the_end(start, known)
    except (WrongUseError, ValueError) as error:
        raise UnusableLogError(str(error)) from None
    return Kept(
        start.plan,
        tuner,
        _newest(start, tuner),
        before,
        len(known),
        known[-1].now_s if known else None,
        whole_bytes,
        whole_bytes < len(content),
    )


def describe(kept: Kept, path: str) -> str:
    """What was found, for the terminal."""
    torn = ", the last line was cut and is left out" if kept.is_torn else ""
    return (
        f"{path}: {counted(kept.windows, 'window')}{torn}; tuning goes on from there if the ranks "
        "still have its plan"
    )


def _at_the_end(start: Start, entries: list[Entry]) -> tuple[Tuner, Forest | None]:
    """The tuner after all entries, and the plan before a last one that has no window yet."""
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
