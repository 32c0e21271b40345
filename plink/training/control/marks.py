"""Announcements by position: which sources of a subtree have announced which table entries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set


class Marks:
    """Sets of positions: what all have announced is what all sets have in common.

    Args:
        sources: who announces: a rank, and its children, each for all below it.
    """

    def __init__(self, sources: Iterable[int]) -> None:
        self._said: dict[int, set[int]] = {source: set() for source in sorted(sources)}
        # Of all that are marked, in the order in which they first were.
        self._since_s: dict[int, float] = {}
        self._passed_on: set[int] = set()
        # Marked since `complete` was last asked.
        self._news: set[int] = set()

    @property
    def oldest_s(self) -> float:
        """Return since when the oldest mark exists; infinity without marks."""
        return next(iter(self._since_s.values()), math.inf)

    def __contains__(self, position: int) -> bool:
        return position in self._since_s

    def __iter__(self) -> Iterator[int]:
        """Iterate over marks in the order in which they were first set."""
        return iter(self._since_s)

    def mark(self, source: int, positions: Sequence[int], now_s: float) -> int | None:
        """Record announced positions of a source.

        Returns:
            The first one that the source had announced already; from there on none is marked.
        """
        said = self._said[source]
        if not self.has_none(source, positions):
            seen = set(said)
            for i, position in enumerate(positions):
                if position in seen:
                    self.mark(source, positions[:i], now_s)
                    return position
                seen.add(position)
        said.update(positions)
        self._news.update(positions)
        for position in positions:
            self._since_s.setdefault(position, now_s)
        return None

    def has_none(self, source: int, positions: Sequence[int]) -> bool:
        """Return whether the source could mark all of these, of which none is there twice."""
        said = self._said[source]
        return said.isdisjoint(positions) and len(set(positions)) == len(positions)

    def look_again(self) -> None:
        """All that is marked may be complete, since fewer have to announce it."""
        self._news.update(self._since_s)

    def complete(self, sources: Iterable[int]) -> list[int]:
        """Return the positions that all sources have announced since the last call, ascending."""
        complete, self._news = self._news - self._passed_on, set()
        for source in sources:
            complete &= self._said[source]
        self._passed_on |= complete
        return sorted(complete)

    def since_s(self, position: int) -> float:
        """Return when a position was first marked."""
        return self._since_s[position]

    def sources(self, position: int) -> list[int]:
        """Return the sources that have announced a position, ascending."""
        return [source for source, said in self._said.items() if position in said]

    def is_said(self, source: int, position: int) -> bool:
        """Return whether the source has announced it."""
        return position in self._said[source]

    def is_passed_on(self, position: int) -> bool:
        """Return whether `complete` has told of it."""
        return position in self._passed_on

    def forget(self, positions: Set[int]) -> None:
        """Clear the marks at these positions."""
        for said in self._said.values():
            said.difference_update(positions)
        self._passed_on -= positions
        self._news -= positions
        for position in positions:
            self._since_s.pop(position, None)

    def clear(self) -> None:
        """Clear all marks."""
        self.forget(set(self._since_s))
