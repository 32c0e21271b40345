"""Warnings about incomplete results."""

from __future__ import annotations

import warnings


class PlinkWarning(UserWarning):
    """Warning that a result lacks hosts or pairs, or is partly not to be trusted."""


def warn(text: str, stacklevel: int = 3) -> None:
    """Issue a warning that points to the user's call of the library.

    Args:
        text: warning's text.
        stacklevel: frames from here to the user's, which is 3 where the function itself warns.
    """
    warnings.warn(text, PlinkWarning, stacklevel=stacklevel)
