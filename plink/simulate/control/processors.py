"""Processors that the ranks of a host share."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

# Does something that begins now, and returns when it will have ended.
Task = Callable[[], float]


class Processors:
    """Each does one task at a time; tasks that wait begin in the order in which they came.

    Args:
        host_of: by rank.
        each: processors that a host has.
    """

    def __init__(self, host_of: Sequence[int], each: int) -> None:
        if each < 1:
            raise ValueError("a host has a processor at least")
        self._host_of = host_of
        self._idle = [each] * (max(host_of, default=-1) + 1)
        self._waiting: list[deque[Task]] = [deque() for _ in self._idle]

    def give(self, rank: int, task: Task) -> Task | None:
        """Return the task, if it can begin now; else it is kept until `take_back`."""
        host = self._host_of[rank]
        if not self._idle[host]:
            self._waiting[host].append(task)
            return None
        self._idle[host] -= 1
        return task

    def take_back(self, rank: int) -> Task | None:
        """A rank's task has ended; the one that begins now in its place."""
        host = self._host_of[rank]
        if self._waiting[host]:
            return self._waiting[host].popleft()
        self._idle[host] += 1
        return None
