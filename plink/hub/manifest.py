"""Content of a service: keys, and the chunks that they are cut into.

All keys lie in one flat array in the manifest's order. A chunk is a contiguous piece of it, the
unit that is sent, aggregated and stepped (Luo 2020, §3.2.3: virtual keys of 32 KB). It never
crosses from one parameter group to another, so that one set of hyperparameters holds for all of it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.files.fields import Fields

ITEM_BYTES = 4
CHUNK_BYTES = 32 << 10

MOST_KEYS = 1 << 20
MOST_NAME_BYTES = 1024
MOST_ITEMS = 1 << 40
MOST_GROUPS = 1 << 10
MOST_DIMENSIONS = 64

# Of the worker's own parameters; values and sums are float32 in the service.
TYPES = ("float32", "float64", "float16", "bfloat16")

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Key:
    """Key: one parameter.

    Args:
        name: its own in the manifest.
        items: how many numbers it has.
        group: of parameters that share hyperparameters, from 0.
        shape: whose product is `items`; () stands for (items,).
        type: in which the workers hold it, one of `TYPES`.

    Raises:
        WrongUseError: one of them cannot be.
    """

    name: str
    items: int
    group: int = 0
    shape: tuple[int, ...] = ()
    type: str = "float32"

    def __post_init__(self) -> None:
        try:
            size = len(self.name.encode())
        except UnicodeEncodeError:
            size = 0
        if not 0 < size <= MOST_NAME_BYTES:
            raise WrongUseError(f"a key's name has {size} bytes, expected 1 to {MOST_NAME_BYTES}")
        if not 0 < self.items <= MOST_ITEMS:
            raise WrongUseError(f"key {self.name!r} has {self.items} numbers, expected 1 or more")
        if not 0 <= self.group < MOST_GROUPS:
            raise WrongUseError(
                f"key {self.name!r} is in group {self.group}, expected 0 to {MOST_GROUPS - 1}"
            )
        if not self.shape:
            object.__setattr__(self, "shape", (self.items,))
        if len(self.shape) > MOST_DIMENSIONS or math.prod(self.shape) != self.items:
            raise WrongUseError(f"key {self.name!r} has {self.items} numbers, not {self.shape}")
        if self.type not in TYPES:
            raise WrongUseError(f"key {self.name!r} is of {self.type!r}, not of {', '.join(TYPES)}")


@dataclass(frozen=True, eq=False)
class Chunks:
    """The chunks of a manifest, as arrays with an entry a chunk, in the order of the flat array.

    Args:
        offsets_items: where each begins in the flat array.
        items: how many numbers each has; the next begins right behind.
        groups: of all its keys.
        first_keys: the key that holds its first number.
        end_keys: one past the key that holds its last number.
    """

    offsets_items: Integers
    items: Integers
    groups: Integers
    first_keys: Integers
    end_keys: Integers

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True)
class Manifest:
    """The keys of a service, in the order in which they lie in the flat array.

    Args:
        keys: one at least, with different names.
        groups: how many there are; each key is in one of them.

    Raises:
        WrongUseError: names are not different, or a group is missing.
    """

    keys: tuple[Key, ...]
    groups: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", tuple(self.keys))
        if not 0 < len(self.keys) <= MOST_KEYS:
            raise WrongUseError(f"a manifest of {len(self.keys)} keys, expected 1 to {MOST_KEYS}")
        if not 0 < self.groups <= MOST_GROUPS:
            raise WrongUseError(f"{self.groups} groups, expected 1 to {MOST_GROUPS}")
        names = set()
        for key in self.keys:
            if key.name in names:
                raise WrongUseError(f"key {key.name!r} is there twice")
            names.add(key.name)
            if key.group >= self.groups:
                raise WrongUseError(
                    f"key {key.name!r} is in group {key.group}, but there are {self.groups} groups"
                )
        if self.items > MOST_ITEMS:
            raise WrongUseError(f"{self.items} numbers in all, at most {MOST_ITEMS} are possible")

    @functools.cached_property
    def items(self) -> int:
        """How many numbers there are in all."""
        return sum(key.items for key in self.keys)

    @property
    def size_bytes(self) -> int:
        """Bytes of all values."""
        return self.items * ITEM_BYTES

    @functools.cached_property
    def offsets_items(self) -> Integers:
        """Offset of each key in the flat array, and the end."""
        sizes = np.array([key.items for key in self.keys], dtype=np.int64)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 over all that workers must have alike: keys, order, shapes, types, groups."""
        text = json.dumps(self.to_json(), separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(b"plink hub manifest 1 " + text.encode()).hexdigest()

    def chunks(self, most_bytes: int = CHUNK_BYTES, *, by_key: bool = False) -> Chunks:
        """Return the keys in pieces, always the same for the same manifest.

        A key as large as a chunk or larger begins one of its own and is cut into full ones. A
        smaller one joins the chunk before it, if that is of its group and has room for all of it.

        Args:
            most_bytes: of a chunk's values in float32.
            by_key: a chunk a key instead, however large or small: for comparison only.
        """
        if most_bytes < ITEM_BYTES:
            raise WrongUseError(f"chunks of {most_bytes} bytes, expected {ITEM_BYTES} or more")
        if by_key:
            numbers = np.arange(len(self.keys), dtype=np.int64)
            starts, firsts = self.offsets_items[:-1], numbers
        else:
            pairs = list(_starts(self.keys, most_bytes // ITEM_BYTES))
            starts = np.concatenate([part for part, _ in pairs])
            firsts = np.concatenate([np.full(len(part), key, np.int64) for part, key in pairs])
        ends = np.append(starts[1:], self.items)
        groups = np.array([key.group for key in self.keys], dtype=np.int64)
        end_keys = np.searchsorted(self.offsets_items, ends, side="left").astype(np.int64)
        return Chunks(starts, ends - starts, groups[firsts], firsts, end_keys)

    def to_json(self) -> dict[str, Any]:
        """Encode the manifest for messages and snapshots."""
        keys = [
            {
                "name": key.name,
                "shape": list(key.shape),
                "group": key.group,
                "type": key.type,
            }
            for key in self.keys
        ]
        return {"keys": keys, "groups": self.groups}


def manifest_from_json(fields: Fields) -> Manifest:
    """Parse the output of `to_json`.

    Raises:
        WrongUseError: it is not valid.
    """
    groups = fields.integer("groups", 1, MOST_GROUPS)
    given = fields.objects("keys")
    if not 0 < len(given) <= MOST_KEYS:
        raise fields.error("keys", f"1 to {MOST_KEYS} keys")
    keys = []
    for key in given:
        shape = key.values.get("shape")
        if not isinstance(shape, list) or not 0 < len(shape) <= MOST_DIMENSIONS:
            raise key.error("shape", f"1 to {MOST_DIMENSIONS} whole numbers")
        sides = key.integers("shape", len(shape), 1, MOST_ITEMS)
        group = key.integer("group", 0, groups - 1)
        # The product of 64 numbers of 40 bits is small enough to be made.
        keys.append(Key(key.text("name"), math.prod(sides), group, tuple(sides), key.text("type")))
    return Manifest(tuple(keys), groups)


def _starts(keys: Sequence[Key], most_items: int) -> Iterator[tuple[Integers, int]]:
    """Yield where the chunks that begin in a key begin, and the key's number."""
    offset = 0
    group, room = -1, 0
    for number, key in enumerate(keys):
        if key.group == group and key.items <= room:
            room -= key.items
        else:
            yield np.arange(offset, offset + key.items, most_items, dtype=np.int64), number
            group, room = key.group, -key.items % most_items
        offset += key.items
