"""JSON text of plink's files, with one line per top-level item and per matrix row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from plink.base.lazy import lazy_imports
from plink.base.text import json_text
from plink.formats.matrices import Array

with lazy_imports():
    import orjson

# From and up to where numbers are written without an exponent.
_LEAST_PLAIN, _MOST_PLAIN = 1e-4, 1e16


def pieces(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the JSON text of a file's data in pieces, so that large matrices need no copy.

    Matrices are lists of rows, or arrays: NaN is null, and so is a whole number below 0.

    Raises:
        ValueError: a number is not finite.
    """
    yield from _value(data, 0)
    yield "\n"


def _value(value: Any, depth: int) -> Iterator[str]:
    margin, end = " " * (depth + 1), " " * depth
    if isinstance(value, np.ndarray):
        yield from _lines((_row(row) for row in value), margin, end)
    elif isinstance(value, Mapping) and value:
        before = "{\n"
        for key, item in value.items():
            yield f"{before}{margin}{_plain(str(key))}: "
            yield from _value(item, depth + 1)
            before = ",\n"
        yield f"\n{end}}}"
    elif isinstance(value, list) and any(isinstance(item, (list, Mapping)) for item in value):
        yield from _lines((_plain(item) for item in value), margin, end)
    else:
        yield _plain(value)


def _lines(rows: Iterator[str], margin: str, end: str) -> Iterator[str]:
    before = "[\n"
    for row in rows:
        yield f"{before}{margin}{row}"
        before = ",\n"
    yield f"\n{end}]"


def _row(row: Array) -> str:
    if np.isinf(row).any():
        raise ValueError("a matrix contains an infinite number, which JSON cannot represent")
    is_whole = row.dtype.kind == "i"
    if is_whole and (row < 0).any():
        return json.dumps([None if value < 0 else value for value in row.tolist()])
    if not is_whole and _has_exponents(row):
        # Only numbers stand in it, so that the word is one of them.
        return json.dumps(row.tolist()).replace("NaN", "null")
    text = orjson.dumps(np.ascontiguousarray(row), option=orjson.OPT_SERIALIZE_NUMPY)
    return text.replace(b",", b", ").decode()


def _has_exponents(row: Array) -> bool:
    """Return whether JSON would write any of these numbers with an exponent."""
    size = np.abs(row)
    return bool((((size < _LEAST_PLAIN) & (size > 0.0)) | (size >= _MOST_PLAIN)).any())


def _plain(value: Any) -> str:
    return json_text(value, allow_nan=False)
