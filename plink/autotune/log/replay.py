"""The same decisions again, from a log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from plink.autotune.log.autotune_log import Entry, Start
from plink.autotune.tuner.decision import Decision
from plink.autotune.tuner.options import TunerOptions
from plink.autotune.tuner.snapshot import restore
from plink.autotune.tuner.tuner import Tuner
from plink.files.plan import Plan


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
    """A tuner for a job that begins with that plan.

    Raises:
        NoMastersError: the plan is neither flat nor of two levels.
    """
    return Tuner(plan.forest, plan.host_of, plan.group_of, plan.size_bytes, options)


def replay(start: Start, entries: Iterable[Entry]) -> Iterator[Replayed]:
    """Decide again, entry by entry.

    Raises:
        NoMastersError: the plan is neither flat nor of two levels.
        ValueError: the log's state is none.
    """
    tuner = tuner_of(start.plan, start.options)
    if start.state is not None:
        restore(tuner, dict(start.state))
    for entry in entries:
        yield Replayed(entry, tuner.decide(entry.now_s, entry.window))
