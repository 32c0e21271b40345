"""Checks of the arguments of the library's public functions; errors name argument and limits."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Sequence
from numbers import Integral
from typing import Any

from plink.base.errors import WrongUseError
from plink.base.size import parse_size
from plink.base.text import brief, join_texts

MAX_SEED = (1 << 63) - 1


def check_choice(name: str, value: object, allowed: Collection[str]) -> None:
    """Raise WrongUseError if an argument's value is not one of the allowed texts."""
    if value not in allowed:
        raise WrongUseError(
            f"{name} is {brief(value)}, expected {join_texts(sorted(allowed), 'or')}",
            suggest_nearest(value, allowed),
        )


def check_whole(name: str, value: object, low: int, high: int) -> None:
    """Raise WrongUseError unless a value is whole (8, 8.0, NumPy's 8) and from `low` to `high`."""
    number = to_finite_number(_as_builtin(value))
    if number is None or not number.is_integer() or not low <= number <= high:
        raise WrongUseError(
            f"{name} is {brief(value)}, expected a whole number from {low} to {high}"
        )


def check_integer(name: str, value: object, low: int, high: int | None = None) -> None:
    """Raise WrongUseError unless a value has an integer type and is from `low` to any `high`."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or not low <= value or (high is not None and value > high):  # type: ignore[operator]
        limits = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise WrongUseError(f"{name} is {brief(value)}, expected a whole number {limits}")


def check_real(name: str, value: object, low: float = -math.inf, high: float = math.inf) -> None:
    """Raise WrongUseError unless a value is a finite number from `low` to `high`, both allowed."""
    number = to_finite_number(_as_builtin(value))
    if number is None or not low <= number <= high:
        limits = "" if low == -math.inf else f" of at least {low:g}"
        if high < math.inf:
            limits = f" from {low:g} to {high:g}"
        what = "a number" if limits else "a finite number"
        raise WrongUseError(f"{name} is {brief(value)}, expected {what}{limits}")


def check_flag(name: str, value: object) -> None:
    """Raise WrongUseError if a value is neither True nor False."""
    if not isinstance(value, bool):
        raise WrongUseError(f"{name} is {brief(value)}, expected True or False")


def check_text(name: str, value: object, hint: str | None = None) -> None:
    """Raise WrongUseError if a value is not a text, or is an empty one."""
    if not isinstance(value, str) or not value:
        raise WrongUseError(f"{name} is {brief(value)}, expected a text", hint)


def check_texts(name: str, value: object) -> list[str]:
    """Return an argument, a text or a sequence of texts, as a list, or raise WrongUseError."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, Sequence) or not all(isinstance(each, str) for each in found):
        raise WrongUseError(f"{name} is {brief(value)}, expected a list of texts")
    return list(found)


def check_instance(
    name: str, value: object, kinds: type | tuple[type, ...], expected: str, hint: str | None = None
) -> None:
    """Raise WrongUseError if a value is not an instance of the allowed types.

    Args:
        name: the argument.
        value: what it is.
        kinds: the types allowed.
        expected: what they are, as in "a torch.nn.Module".
        hint: what to do instead, or None.
    """
    if not isinstance(value, kinds):
        raise WrongUseError(f"{name} is of type {type(value).__name__}, expected {expected}", hint)


def parse_size_argument(size: Any) -> int:
    """Return a size, `25MB` or a number of bytes, as a number of bytes, or raise WrongUseError."""
    if isinstance(size, str):
        return parse_size(size)
    if size is None:
        raise WrongUseError("size is None, expected a size such as 25MB, or a number of bytes")
    check_whole("size", size, 1, MAX_SEED)
    return int(size)


def to_finite_number(value: Any) -> float | None:
    """Return `value` as a float if it is a finite number and no boolean, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def suggest_nearest(value: object, allowed: Collection[str]) -> str | None:
    """Return the hint "did you mean ...?" with the most similar allowed text; None if none is."""
    found = difflib.get_close_matches(str(value), list(allowed), n=1)
    return f"did you mean {found[0]!r}?" if found else None


def _as_builtin(value: object) -> object:
    """Convert a NumPy number to Python's int, float or bool; return other values unchanged."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "ndim", None) == 0 else value
