"""Choice of the forest along which ranks aggregate, made while they connect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from plink.engine.forest import Prepared


class Choice(Protocol):
    """Protocol by which rank 0 chooses the forest from what each rank reports, and all follow.

    What is told travels as JSON, with the addresses that ranks exchange anyway. Where a method of
    rank 0's raises a `PlinkError`, all ranks get its sentence as a `WrongUseError`.
    """

    def told(self) -> Any:
        """Return this rank's information for rank 0; on rank 0, before it waits for the others."""

    def decided(self, told: Sequence[Any]) -> Any:
        """Return rank 0's decision for all ranks, from the information of each."""

    def forest(self, decided: Any) -> Prepared:
        """Return the checked forest that follows from rank 0's decision.

        Raises:
            EngineError: another version of plink decided so.
        """


class Given:
    """Choice of a forest that every rank has already.

    Args:
        forest: the same on every rank.
    """

    def __init__(self, forest: Prepared) -> None:
        self._forest = forest

    def told(self) -> None:
        """Return nothing: this choice needs no information."""

    def decided(self, told: Sequence[Any]) -> None:
        """Return no decision: every rank has the forest."""

    def forest(self, decided: Any) -> Prepared:  # noqa: ARG002 - a choice's
        """Return the given forest, whatever was decided."""
        return self._forest
