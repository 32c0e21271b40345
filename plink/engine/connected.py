"""Common state of an engine's parts: its rank, its failure and its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING

import plink.engine._native as core

if TYPE_CHECKING:
    # Of typing since Python 3.11; checkers know it everywhere.
    from typing_extensions import Self


class Closing(ABC):
    """Object that is closed at the end of its context."""

    @abstractmethod
    def close(self) -> None:
        """End everything."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Connected(Closing):
    """A rank that is connected with all others.

    Args:
        rank: of this process.
        ranks: how many there are.
    """

    rank: int
    ranks: int
    _native: core.Engine

    def check(self) -> None:
        """Raise what the engine has failed with, if it has.

        Raises:
            EngineError: it names the culprit.
        """
        self._native.check()
