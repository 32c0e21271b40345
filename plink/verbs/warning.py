"""Warnings about incomplete results."""

from __future__ import annotations

import warnings


class PlinkWarning(UserWarning):
    """Warning that a result lacks hosts or pairs, or is partly not to be trusted."""


def warn(text: str) -> None:
    """Issue a warning that points to the caller of the library's function."""
    warnings.warn(text, PlinkWarning, stacklevel=3)
