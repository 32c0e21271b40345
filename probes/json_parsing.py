"""JSON parser that limits memory, refuses duplicate keys and can be interrupted (Ctrl-C).

The standard library is all that this needs: training processes, which import nothing else of
`plink.probes`, read plans by it.

The parser of Python is native, and deaf until it ends. So the outer levels of a file are taken
apart here, and what is inside, such as a row of a matrix, is given to it one by one.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable
from typing import Any

# A list or an object takes some 16 times as much memory as text; a number at most 8 times.
_LEAST_BYTES_A_CONTAINER = 16
_CONTAINERS_OF_ANY_FILE = 1 << 18

# What holds a matrix, the matrix, its rows.
_OUTER_LEVELS = 3

_SPACE = re.compile(r"[ \t\n\r]*")
_HALF_OF_A_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")


def parse_json(content: bytes) -> Any:
    """Parse JSON in UTF-8; refuse NaN, duplicate keys and too many lists and objects.

    Raises:
        ValueError: not JSON, NaN or an infinity, a name twice in an object, a number of too many
            digits, half of a character, or too many lists and objects for the text's length.
        RecursionError: too deeply nested.
    """
    mark_bytes = len(codecs.BOM_UTF8) if content.startswith(codecs.BOM_UTF8) else 0
    content = content[mark_bytes:]
    containers = content.count(b"[") + content.count(b"{")
    if containers > max(_CONTAINERS_OF_ANY_FILE, len(content) // _LEAST_BYTES_A_CONTAINER):
        raise ValueError(
            f"{containers:,} lists and objects exceed the limit for a text of this length"
        )
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        number = mark_bytes + error.start + 1
        raise ValueError(f"byte {number:,} is not text in UTF-8") from None
    value, end = _value(text, _past_space(text, 0), _OUTER_LEVELS)
    if (end := _past_space(text, end)) != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    if _HALF_OF_A_CHARACTER.search(content):
        # No output could encode it; a pair of halves is a character.
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("a string holds half of a surrogate pair") from None
    return value


def _value(text: str, at: int, levels: int) -> tuple[Any, int]:
    """Parse the JSON value at a position; return the value and the position after it."""
    first = text[at : at + 1]
    if levels and first == "{":
        return _object(text, at + 1, levels - 1)
    if levels and first == "[":
        begin = _past_space(text, at + 1)
        if text[begin : begin + 1] in ("[", "{"):
            return _array(text, begin, levels - 1)
    return _native(text, at)


def _object(text: str, at: int, levels: int) -> tuple[dict[str, Any], int]:
    """Parse a JSON object after its opening brace; return it and the position after its end."""
    pairs: list[tuple[str, Any]] = []
    at = _past_space(text, at)
    if text[at : at + 1] == "}":
        return {}, at + 1
    while True:
        if text[at : at + 1] != '"':
            raise json.JSONDecodeError(
                "Expecting property name enclosed in double quotes", text, at
            )
        name, at = _native(text, at)
        at = _past_space(text, at)
        if text[at : at + 1] != ":":
            raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
        value, at = _value(text, _past_space(text, at + 1), levels)
        pairs.append((name, value))
        at, is_end = _next(text, at, "}")
        if is_end:
            return _without_repeats(pairs), at


def _array(text: str, at: int, levels: int) -> tuple[list[Any], int]:
    """Parse a JSON list from its first value; return it and the position after its end."""
    values = []
    while True:
        value, at = _value(text, at, levels)
        values.append(value)
        at, is_end = _next(text, at, "]")
        if is_end:
            return values, at


def _next(text: str, at: int, end: str) -> tuple[int, bool]:
    """Return the position after a comma, or after the closing bracket, and whether it closed."""
    at = _past_space(text, at)
    character = text[at : at + 1]
    if character == end:
        return at + 1, True
    if character != ",":
        raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
    return _past_space(text, at + 1), False


def _native(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if "integer string conversion" in str(error):
            raise ValueError("a number has thousands of digits") from None
        raise


def _past_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _without_repeats(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            shown = name if len(name) <= 40 else f"{name[:37]}..."
            raise ValueError(f"the name {shown!r} occurs twice in an object")
        values[name] = value
    return values


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_without_repeats)
