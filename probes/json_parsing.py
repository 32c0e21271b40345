"""JSON parser that limits memory, refuses duplicate keys and can be interrupted (Ctrl-C).

The standard library is all that this needs: training processes, which import nothing else of
`plink.probes`, read plans by it.

The native parser of Python hears no signal until it ends. So the outer levels of a file are parsed
by the standard library's parsers in Python, and what is inside, such as a row of a matrix, by the
native one.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable
from json.decoder import JSONArray, JSONObject  # type: ignore[attr-defined]  # not in the stubs
from typing import Any

# A list or an object takes some 16 times as much memory as text; a number at most 8 times.
_LEAST_BYTES_A_CONTAINER = 16
_CONTAINERS_OF_ANY_FILE = 1 << 18

# What holds a matrix, the matrix, its rows.
_OUTER_LEVELS = 3

_LIST_OF_CONTAINERS = re.compile(r"\[[ \t\n\r]*[\[{]")
_HALF_OF_A_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")

# Parses the value at a position of a text; returns it and the position after it.
_Scan = Callable[[str, int], tuple[Any, int]]


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
    try:
        value = _Decoder().decode(text)
    except ValueError as error:
        if "integer string conversion" in str(error):
            raise ValueError("a number has thousands of digits") from None
        raise
    if _HALF_OF_A_CHARACTER.search(content):
        # No output could encode it; a pair of halves is a character.
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("a string holds half of a surrogate pair") from None
    return value


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


class _Decoder(json.JSONDecoder):
    """Decoder that parses the outer levels of a text in Python."""

    scan_once: _Scan

    def __init__(self) -> None:
        super().__init__(parse_constant=_refuse_constant, object_pairs_hook=_without_repeats)
        native = self.scan_once
        for _ in range(_OUTER_LEVELS):
            self.scan_once = _scan_outer(self.scan_once, native)


def _scan_outer(inner: _Scan, native: _Scan) -> _Scan:
    def scan(text: str, at: int) -> tuple[Any, int]:
        if text.startswith("{", at):
            return JSONObject((text, at + 1), True, inner, None, _without_repeats, {})  # type: ignore[no-any-return]
        if _LIST_OF_CONTAINERS.match(text, at):
            return JSONArray((text, at + 1), inner)  # type: ignore[no-any-return]
        return native(text, at)

    return scan
