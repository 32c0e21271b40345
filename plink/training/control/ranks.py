"""Sets of ranks, as people read them and as messages carry them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Ranks:
    """A set of ranks.

    Args:
        spans: first and last of each, ascending, with a gap between any two.
    """

    spans: tuple[tuple[int, int], ...] = ()

    @staticmethod
    def of(members: Iterable[int]) -> Ranks:
        """Build a set from single ranks, in any order."""
        spans: list[tuple[int, int]] = []
        for rank in sorted(set(members)):
            if spans and spans[-1][1] == rank - 1:
                spans[-1] = (spans[-1][0], rank)
            else:
                spans.append((rank, rank))
        return Ranks(tuple(spans))

    @staticmethod
    def below(ranks: int) -> Ranks:
        """Return the ranks 0 to `ranks` - 1."""
        return Ranks(((0, ranks - 1),)) if ranks else Ranks()

    def __bool__(self) -> bool:
        return bool(self.spans)

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.spans)

    def __contains__(self, rank: int) -> bool:
        return any(first <= rank <= last for first, last in self.spans)

    def __or__(self, other: Ranks) -> Ranks:
        if not self.spans or not other.spans:
            return self if self.spans else other
        merged: list[tuple[int, int]] = []
        for first, last in sorted(self.spans + other.spans):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        return Ranks(tuple(merged))

    def __sub__(self, other: Ranks) -> Ranks:
        left: list[tuple[int, int]] = []
        for first, last in self.spans:
            start = first
            for lost_first, lost_last in other.spans:
                if lost_last < start or lost_first > last:
                    continue
                if lost_first > start:
                    left.append((start, lost_first - 1))
                start = lost_last + 1
            if start <= last:
                left.append((start, last))
        return Ranks(tuple(left))

    def __and__(self, other: Ranks) -> Ranks:
        return self - (self - other)

    def __str__(self) -> str:
        """Such as `rank 3` or `ranks 0-2, 5`; of many the first few, and how many more."""
        shown = [
            str(first) if first == last else f"{first}-{last}"
            for first, last in self.spans[:_MOST_SHOWN]
        ]
        hidden = sum(last - first + 1 for first, last in self.spans[_MOST_SHOWN:])
        more = f" and {hidden} more" if hidden else ""
        return f"{'rank' if len(self) == 1 else 'ranks'} {', '.join(shown)}{more}"
