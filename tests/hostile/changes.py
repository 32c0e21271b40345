"""Valid files with something changed: every field of a JSON file, and the bytes of any file.

There are many, of which a caller may want few: contents are made when they are asked for.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from hostile.texts import NAMES, RAW_VALUES, STEERING, WRONG_TYPES

_NAMING = ("name", "address", "ssh_address", "user", "source", "destination", "host", "order")
_PLACE = '"the place of a raw value"'
_WRONG_VALUES = 3
_LIST_PLACES = 2
Path = tuple[str | int, ...]
Make = Callable[[], bytes]


def changed_json(content: bytes, values: int = _WRONG_VALUES) -> Iterator[tuple[str, Make]]:
    """A JSON file with one field changed at a time: name, and what makes its content.

    Every field is left out once, and gets some values of `WRONG_TYPES`, which follow from its place
    so that they are the same in every run. What names hosts gets every name of `NAMES`.

    Args:
        content: the file.
        values: how many of `WRONG_TYPES` a field gets.
    """
    data = json.loads(content)
    for path in _paths(data):
        place = ".".join(map(str, path))
        draw = random.Random(zlib.crc32(place.encode()))
        for value in draw.sample(WRONG_TYPES, values):
            yield f"{place} is {json.dumps(value)[:20]}", partial(_with, data, path, value)
        raw = draw.choice(RAW_VALUES)
        yield f"{place} is {raw[:12]}", partial(_with_raw, data, path, raw)
        yield f"{place} is missing", partial(_without, data, path)
        if isinstance(path[-1], int):
            yield f"{place} is there twice", partial(_twice, data, path)
    for path in _naming(data):
        place = ".".join(map(str, path))
        for name, text in NAMES.items():
            yield f"{place} is {name}", partial(_with, data, path, text)


def named_json(content: bytes, old: str) -> Iterator[tuple[str, Make]]:
    """A JSON file in which a host has another name everywhere, so that the file agrees."""
    data = json.loads(content)
    for name, text in NAMES.items():
        yield f"{old} is called {name}", partial(_all_renamed, data, old, text)


def steering_json(content: bytes) -> Iterator[tuple[str, Make]]:
    """A JSON file with one of its texts changed to what would steer a terminal."""
    data = json.loads(content)
    for path in _paths(data):
        if isinstance(_at(data, path), str):
            yield f"{'.'.join(map(str, path))} would steer", partial(_with, data, path, STEERING)


def changed_bytes(content: bytes, seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Any file cut short, and with bytes changed, put in, or moved."""
    draw = random.Random(seed)
    places = sorted({draw.randrange(len(content)) for _ in range(count)})
    for place in places:
        yield f"is cut at {place}", content[:place]
        other = bytes([draw.randrange(256)])
        yield f"has {other!r} at {place}", content[:place] + other + content[place + 1 :]
        junk = draw.choice((b"\0", b"\x1b[2J", b"\xff", b'"', b"9" * 400, b"\r", b",", b"\n", b"-"))
        yield f"has {junk[:6]!r} put in at {place}", content[:place] + junk + content[place:]
        end = min(len(content), place + draw.randrange(1, 40))
        part = content[place:end]
        yield f"has {place} to {end} twice", content[:end] + part + content[end:]


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every field; of a list the first places only."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value[:_LIST_PLACES]):
            yield from _paths(item, (*path, index))


def _naming(data: Any) -> Iterator[Path]:
    """The places of names and addresses, the first of each kind of place only."""
    seen = set()
    for path in _paths(data):
        kind = tuple(part for part in path if isinstance(part, str))
        if not kind or kind[-1] not in _NAMING or kind in seen:
            continue
        if isinstance(_at(data, path), (str, type(None))):
            seen.add(kind)
            yield path


def _at(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def _copied(data: Any, path: Path) -> tuple[Any, Any]:
    """A copy, and in it what holds the field."""
    copy = json.loads(json.dumps(data))
    return copy, _at(copy, path[:-1])


def _with(data: Any, path: Path, value: Any) -> bytes:
    copy, holder = _copied(data, path)
    holder[path[-1]] = value
    return json.dumps(copy).encode()


def _with_raw(data: Any, path: Path, raw: str) -> bytes:
    return _with(data, path, json.loads(_PLACE)).replace(_PLACE.encode(), raw.encode())


def _without(data: Any, path: Path) -> bytes:
    copy, holder = _copied(data, path)
    del holder[path[-1]]
    return json.dumps(copy).encode()


def _twice(data: Any, path: Path) -> bytes:
    copy, holder = _copied(data, path)
    holder.insert(path[-1], holder[path[-1]])
    return json.dumps(copy).encode()


def _all_renamed(data: Any, old: str, new: str) -> bytes:
    return json.dumps(_renamed(data, old, new)).encode()


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, old, new) for item in value]
    return new if value == old else value
