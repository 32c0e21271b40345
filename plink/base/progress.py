"""Interface for the progress of a long run."""

from __future__ import annotations

from typing import Protocol


class ProgressListener(Protocol):
    """Observer that is told the progress of a run."""

    def stage(self, name: str, total: int) -> None:
        """Report that a stage of `total` steps begins."""

    def step(self) -> None:
        """Report that a step of the current stage is done."""

    def say(self, text: str) -> None:
        """Report a message to the user."""
