"""Warnings that a call issues about what its result lacks."""

from __future__ import annotations

import warnings


class PlinkWarning(UserWarning):
    """Warning that a result lacks hosts or pairs, or is not to be trusted everywhere."""


def warn(text: str) -> None:
    """Warn the caller of the library's function that calls this."""
    warnings.warn(text, PlinkWarning, stacklevel=3)
