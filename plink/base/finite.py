"""Check that a number from a file or argument is finite."""

from __future__ import annotations

import math
from typing import Any


def to_finite_number(value: Any) -> float | None:
    """Return `value` as a float if it is a finite number and no boolean, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
