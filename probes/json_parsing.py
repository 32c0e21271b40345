"""JSON of listings of hosts, by the rules of plink's own files (`plink.files.json_parsing`)."""

from __future__ import annotations

import json
from typing import Any

# A list or an object takes some 16 times as much memory as text.
_LEAST_BYTES_A_CONTAINER = 16
_FREE_CONTAINERS = 1 << 18


def parse_json(content: bytes) -> Any:
    """Parse a JSON text.

    Raises:
        ValueError: not JSON, NaN or an infinity, a name twice in an object, or too many lists and
            objects for the text's length.
        RecursionError: too deeply nested.
    """
    containers = content.count(b"[") + content.count(b"{")
    if containers > max(_FREE_CONTAINERS, len(content) // _LEAST_BYTES_A_CONTAINER):
        raise ValueError(f"{containers:,} lists and objects are too many for its length")
    return json.loads(content, parse_constant=_refuse_constant, object_pairs_hook=_without_repeats)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a name is there twice in an object")
    return values


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")
