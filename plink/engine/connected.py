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
    """Base class of objects that are closed at the end of their context."""

    @abstractmethod
    def close(self) -> None:
        """Close the object and release what it holds."""

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
    """Base class of an engine's parts: a rank that is connected with all others.

    Args:
        rank: of this process.
        ranks: how many there are.
    """

    rank: int
    ranks: int
    _native: core.Engine

    def check(self) -> None:
        """Raise an error if the engine has failed or is closed.

        Raises:
            EngineError: it names the culprit.
        """
        self._native.check()
