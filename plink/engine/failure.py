"""Errors with which an engine fails."""

from __future__ import annotations

from plink.base.errors import PlinkError


class EngineError(PlinkError):
    """Failure of the ranks to go on together; the message names the culprit.

    Args:
        message: one sentence.
        rank: the culprit, or None where no rank is to blame.
        hint: what the user can do about it, or None.
    """

    def __init__(self, message: str, rank: int | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.rank = rank
