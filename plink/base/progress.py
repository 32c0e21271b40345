"""Interface by which a long run reports its progress."""

from __future__ import annotations

from typing import Protocol


class ProgressListener(Protocol):
    """Told how far the run is."""

    def stage(self, name: str, total: int) -> None:
        """Report that a stage of `total` steps begins."""

    def step(self) -> None:
        """Report that a step of the current stage is done."""

    def say(self, text: str) -> None:
        """Report something that the user should know."""
