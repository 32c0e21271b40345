"""A flat pool in chunks of one size, of which the last may be shorter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Chosen = npt.NDArray[np.bool_]
"""(C,): for each chunk whether it is meant."""


@dataclass(frozen=True)
class Chunks:
    """How a pool is cut.

    Args:
        items: elements of the pool.
        size: elements of a chunk; what is left is the last one.

    Raises:
        ValueError: one of them is not positive.
    """

    items: int
    size: int

    def __post_init__(self) -> None:
        if self.items < 1 or self.size < 1:
            raise ValueError("a pool and its chunks have an element at least")

    def __len__(self) -> int:
        """Return how many chunks, C."""
        return (self.items + self.size - 1) // self.size

    def bounds(self, first: int, end: int) -> tuple[int, int]:
        """Return the range of elements of chunks `first` to before `end`."""
        return first * self.size, min(end * self.size, self.items)

    def items_of(self, chosen: Chosen) -> int:
        """Elements of the chosen chunks together."""
        missing = len(self) * self.size - self.items
        return int(chosen.sum()) * self.size - (missing if chosen[-1] else 0)

    def spans(self, chosen: Chosen, most: int = 0) -> Iterator[slice]:
        """Yield the slices of the chosen chunks: neighbours together, in ascending order.

        Args:
            chosen: (C,).
            most: so many chunks in one span at most; 0 for any number.
        """
        for first, end in runs(chosen):
            step = most or end - first
            for begin in range(first, end, step):
                yield slice(*self.bounds(begin, min(begin + step, end)))


def runs(chosen: Chosen) -> list[tuple[int, int]]:
    """The first of each run of chosen chunks, and the one behind its last."""
    edges = np.flatnonzero(np.diff(chosen.astype(np.int8), prepend=0, append=0))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def parts_of(chosen: Chosen, counts: Sequence[int]) -> list[Chosen]:
    """Return the chunks of several pools, one behind the other, by pool: each has so many."""
    return np.split(chosen, np.cumsum(counts)[:-1])
