"""A plan that has to show that it is not worse than the one before."""

from __future__ import annotations

from dataclasses import dataclass

from plink.autotune.tuner.finetune import Move
from plink.autotune.tuner.masters import Masters


@dataclass(frozen=True)
class Trial:
    """A plan on trial.

    Args:
        before: the masters to go back to.
        before_s: what an iteration took with them.
        promised: the share of it that is to be saved.
        move: the step of Finetune that made it; None for Quicktune.
    """

    before: Masters
    before_s: float
    promised: float = 0.0
    move: Move | None = None
