"""Bracket expansion of host names as in Slurm and pdsh: `gpu[01-16,20]`. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

MAX_NAMES = 65_536
MAX_LENGTH = 253
_MAX_DIGITS = 18


class RangeError(ValueError):
    """Error in a bracket expression; the message is the reason, without the expression."""


def split_outside_brackets(text: str) -> list[str]:
    """Return the comma-separated items of `text`, ignoring commas inside brackets.

    Raises:
        RangeError: brackets that do not match, or stand inside each other.
    """
    if "[" not in text and "]" not in text:
        return text.split(",")
    items: list[str] = []
    start = 0
    inside = False
    for index, character in enumerate(text):
        if character == "," and not inside:
            items.append(text[start:index])
            start = index + 1
        elif character == "[":
            if inside:
                raise RangeError("brackets are nested")
            inside = True
        elif character == "]":
            if not inside:
                raise RangeError("a bracket is closed that was not opened")
            inside = False
    if inside:
        raise RangeError("a bracket is not closed")
    return [*items, text[start:]]


def expand(pattern: str) -> list[str]:
    """Return every name that `pattern` expands to, the last bracket varying fastest.

    A range is padded to the width of its lower end: `[08-10]` is 08, 09, 10.

    Args:
        pattern: a name with any number of brackets, each a comma-separated list of numbers
            and of ranges `low-high`.

    Raises:
        RangeError: a bracket is not such a list, or the names are more than `MAX_NAMES` or longer
            than `MAX_LENGTH`.
    """
    choices: list[list[str]] = []
    count = 1
    length = 0
    for text, is_bracket in _pieces(pattern):
        options = _bracket(text) if is_bracket else [text]
        count *= len(options)
        if count > MAX_NAMES:
            raise RangeError(f"it expands to more than {MAX_NAMES:,} names")
        length += max(map(len, options))
        if length > MAX_LENGTH:
            raise RangeError(f"a name is longer than {MAX_LENGTH} characters")
        choices.append(options)
    return ["".join(combination) for combination in itertools.product(*choices)]


def _pieces(pattern: str) -> Iterator[tuple[str, bool]]:
    """Yield literal text, and the contents of brackets (marked True)."""
    # Called for its check that brackets match, which the scan below relies on.
    split_outside_brackets(pattern)
    rest = pattern
    while "[" in rest:
        literal, _, rest = rest.partition("[")
        inside, _, rest = rest.partition("]")
        yield literal, False
        yield inside, True
    yield rest, False


def _bracket(inside: str) -> list[str]:
    numbers: list[str] = []
    for part in inside.split(","):
        numbers.extend(_part(part))
        if len(numbers) > MAX_NAMES:
            raise RangeError(f"it expands to more than {MAX_NAMES:,} names")
    return numbers


def _part(part: str) -> list[str]:
    low, dash, high = part.partition("-")
    if not dash:
        return [_digits(low, part)]
    first, last = int(_digits(low, part)), int(_digits(high, part))
    if first > last:
        raise RangeError(f"the range {part} runs backwards")
    if high.startswith("0") and len(high) != len(low):
        raise RangeError(f"the ends of the range {part} are padded differently")
    if last - first >= MAX_NAMES:
        raise RangeError(f"the range {part} expands to more than {MAX_NAMES:,} names")
    return [str(number).zfill(len(low)) for number in range(first, last + 1)]


def _digits(text: str, part: str) -> str:
    if not text or not text.isascii() or not text.isdigit() or len(text) > _MAX_DIGITS:
        shown = part if len(part) <= 40 else part[:37] + "..."
        raise RangeError(f"{shown!r} in a bracket is neither a number nor a range")
    return text
