"""Progress of a long call: the state that is reported, and the listener's interface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Progress:
    """Progress of a call: stage, steps done and in all; as text, `probing: 3 of 6`.

    Args:
        stage: name of the stage, or a remark on it.
        done: finished steps of the stage, or elapsed seconds of a search.
        total: steps of the stage, or the search's time limit in seconds; None where unknown.
    """

    stage: str
    done: float = 0.0
    total: float | None = None

    def __str__(self) -> str:
        if self.total is None:
            return self.stage
        return f"{self.stage}: {self.done:.3g} of {self.total:.3g}"


OnProgress = Callable[[Progress], None]


class ProgressListener(Protocol):
    """Interface of what shows or reports the progress of a long run."""

    def stage(self, name: str, total: int) -> None:
        """Report that a stage of `total` steps begins."""

    def step(self) -> None:
        """Report that a step of the current stage is done."""

    def say(self, text: str) -> None:
        """Report a message to the user."""
