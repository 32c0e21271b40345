"""The errors that a user sees: one sentence without a full stop, a hint, an exit code."""

from __future__ import annotations

EXIT_FAILED = 1
EXIT_WRONG_USE = 2
EXIT_INTERRUPTED = 130


class LabError(Exception):
    """Something failed.

    Args:
        message: what went wrong, naming the host, file or option.
        hint: what the user can do about it, or None.
    """

    exit_code = EXIT_FAILED

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class WrongUseError(LabError):
    """The user asked for something impossible."""

    exit_code = EXIT_WRONG_USE


class UnreadableStateError(LabError):
    """The saved state of a lab is damaged, or was written by another version."""
