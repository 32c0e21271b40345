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
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.formats.limits import Complete, constrain_to_words
from plink.formats.structs import check_members

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


class Key(Complete, frozen=True, forbid_unknown_fields=True):
    """Key: one parameter.

    Attributes:
        name: name of the parameter, which no other has
        shape: lengths of its dimensions, in numbers
        group: index of the group of parameters that share hyperparameters
        type: type in which the workers hold it

    Raises:
        WrongUseError: one of them is outside its limits.
    """

    name: Annotated[str, Meta(min_length=1, max_length=MOST_NAME_BYTES)]
    shape: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=MOST_ITEMS)], ...],
        Meta(min_length=1, max_length=MOST_DIMENSIONS),
    ]
    group: Annotated[int, Meta(ge=0, lt=MOST_GROUPS)] = 0
    type: Annotated[str, constrain_to_words(*TYPES)] = "float32"

    def __post_init__(self) -> None:
        check_members(self, f"key {brief(self.name)}: ")
        try:
            size = len(self.name.encode())
        except UnicodeEncodeError:
            size = 0
        if not 0 < size <= MOST_NAME_BYTES:
            raise WrongUseError(f"a key's name has {size} bytes, expected 1 to {MOST_NAME_BYTES}")
        if self.items > MOST_ITEMS:
            raise WrongUseError(f"key {self.name!r} has {self.items} numbers, more than possible")

    @property
    def items(self) -> int:
        """Number of values of the parameter."""
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class Chunks:
    """The chunks of a manifest, as arrays with one entry per chunk, in the flat array's order.

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


class Manifest(Complete, frozen=True, forbid_unknown_fields=True, dict=True):
    """The keys of a service, in the order in which they lie in the flat array.

    Attributes:
        keys: keys in the order of the flat array, with different names
        groups: number of groups of hyperparameters; each key is in one of them

    Raises:
        WrongUseError: names are not different, or a group is missing.
    """

    keys: Annotated[tuple[Key, ...], Meta(min_length=1, max_length=MOST_KEYS)]
    groups: Annotated[int, Meta(ge=1, le=MOST_GROUPS)] = 1

    def __post_init__(self) -> None:
        check_members(self)
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
        """Number of values of all keys together."""
        return sum(key.items for key in self.keys)

    @property
    def size_bytes(self) -> int:
        """Size of all values as float32, in bytes."""
        return self.items * ITEM_BYTES

    @functools.cached_property
    def offsets_items(self) -> Integers:
        """Offset of each key in the flat array, then the array's end, in numbers."""
        sizes = np.array([key.items for key in self.keys], dtype=np.int64)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 over all that workers must have alike: keys, order, shapes, types, groups."""
        text = json.dumps(msgspec.to_builtins(self), separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(b"plink hub manifest 1 " + text.encode()).hexdigest()

    def chunks(self, most_bytes: int = CHUNK_BYTES, *, by_key: bool = False) -> Chunks:
        """Cut the keys into chunks, always in the same way for the same manifest.

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


def _starts(keys: Sequence[Key], most_items: int) -> Iterator[tuple[Integers, int]]:
    """Yield, for each key that begins chunks, their offsets in the flat array and its number."""
    offset = 0
    group, room = -1, 0
    for number, key in enumerate(keys):
        if key.group == group and key.items <= room:
            room -= key.items
        else:
            yield np.arange(offset, offset + key.items, most_items, dtype=np.int64), number
            group, room = key.group, -key.items % most_items
        offset += key.items
