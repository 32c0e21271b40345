"""A rank that takes part in no training: what it calls is simulated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plink.autotune.ranks.agreement import Vote
from plink.autotune.ranks.client import Client
from plink.engine import Forest, Statistics
from support.running import wait_for


class Pending:
    """A work that ends when it is told to."""

    def __init__(self, *, has_ended: bool = False) -> None:
        self.has_ended = has_ended
        self.looks = 0

    def done(self) -> bool:
        self.looks += 1
        return self.has_ended

    def wait(self) -> None:
        assert self.has_ended

    def await_looks(self) -> None:
        """Return when it was looked at again some times."""
        self.looks = 0
        wait_for(lambda: self.looks > 2)


class Alone:
    """An engine whose all-reduces have the result that other ranks of one mind would give.

    Args:
        ending: how many of them end, the first ones.
    """

    next_collective = 0

    def __init__(self, ending: int) -> None:
        self.votes: list[Pending] = []
        self._ending = ending

    def allreduce(self, array: Vote, op: str = "sum", dtype: str | None = None) -> Any:
        self.votes.append(Pending(has_ended=len(self.votes) < self._ending))
        return self.votes[-1]

    def prepare(self, forest: Forest) -> Any:
        return forest

    def install(self, forest: Any, at_collective: int) -> None:
        pass

    def statistics(self) -> Statistics:
        return Statistics(0, [], [])


class Listening(Client):
    """Hears what the rank would say to the daemon."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def submit(self, task: Callable[[], Any]) -> None:
        self.heard.append(task())

    def close(self) -> None:
        pass
