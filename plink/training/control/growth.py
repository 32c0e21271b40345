"""When the coordinator lets the caches of all ranks grow."""

from __future__ import annotations

from collections import OrderedDict


class Growth:
    """A name that gave its place away and comes back was given up too early.

    Without this a program with one collective more than the cache holds would never find any in it,
    since all are used in turn.

    Args:
        most: positions at most.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._evicted: OrderedDict[str, None] = OrderedDict()

    def evicted(self, name: str, bound: int) -> None:
        """Record an evicted name; as many are remembered as there are positions."""
        self._evicted[name] = None
        while len(self._evicted) > bound:
            self._evicted.popitem(last=False)

    def bound(self, bound: int, names: list[str]) -> int:
        """Return how many positions there are to be when these names come, of so many before."""
        came_back = [name for name in names if name in self._evicted]
        for name in came_back:
            del self._evicted[name]
        return min(2 * bound, self._most) if came_back else bound
