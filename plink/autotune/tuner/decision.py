"""What the tuner answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from plink.autotune.tuner.masters import Masters
from plink.plans.forest import Forest


class Action(Enum):
    """What a decision does."""

    WAIT = "wait"
    QUICKTUNE = "quicktune"
    FINETUNE = "finetune"
    ROLL_BACK = "roll back"
    REPROBE = "reprobe"


@dataclass(frozen=True)
class Decision:
    """A new plan or none, and why.

    Args:
        action: what is done.
        reason: a sentence.
        plan: the number of the plan in force from now on; a new one where there is a forest.
        masters: of that plan.
        forest: the new plan, checked; None where nothing changes.
        hosts: those that a re-probe is asked for.
    """

    action: Action
    reason: str
    plan: int
    masters: Masters
    forest: Forest | None = None
    hosts: Sequence[int] = ()
