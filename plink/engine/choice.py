"""How ranks settle on a forest while they meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from plink.engine.forest import Prepared


class Choice(Protocol):
    """Rank 0 chooses, by what each rank tells of itself; the others follow.

    What is told travels as JSON, with the addresses that ranks exchange anyway. Where a method of
    rank 0's raises a `PlinkError`, all ranks get its sentence as a `WrongUseError`.
    """

    def told(self) -> Any:
        """Return this rank's information for rank 0; on rank 0, before it waits for the others."""

    def decided(self, told: Sequence[Any]) -> Any:
        """Decide at rank 0, from the ranks' information, what all ranks are to know."""

    def forest(self, decided: Any) -> Prepared:
        """Return the forest, checked, by what rank 0 decided.

        Raises:
            EngineError: another version of plink decided so.
        """


class Given:
    """Every rank has the forest already.

    Args:
        forest: the same on every rank.
    """

    def __init__(self, forest: Prepared) -> None:
        self._forest = forest

    def told(self) -> None:
        """Return nothing: this choice needs no information."""

    def decided(self, told: Sequence[Any]) -> None:
        """Decide nothing."""

    def forest(self, decided: Any) -> Prepared:  # noqa: ARG002 - a choice's
        """Return the one that is given."""
        return self._forest
