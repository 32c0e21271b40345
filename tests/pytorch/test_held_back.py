"""What is announced while the engine has enough to do."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest
import torch
from torch import Tensor
from torch.distributed import DistBackendError

from plink.torch.executors import Notifier, SerialExecutor
from plink.torch.named.negotiation import Negotiation
from plink.torch.named.works import NamedWork
from plink.torch.staging import HostStage
from plink.torch.work import NO_TIMEOUT
from plink.training.control import requests
from plink.training.control.requests import Request
from plink.training.control.settings import Settings
from plink.training.control.shape import places
from plink.training.control.tree import Tree

ENDS_S = 20.0


class Channel:
    """That of a rank without others."""

    def __init__(self) -> None:
        self._woken = threading.Event()

    def post_letter(self, rank: int, letter: bytes) -> None:
        raise AssertionError(f"a letter to rank {rank}")

    def letters(self, timeout_s: float) -> list[tuple[int, bytes | None]]:
        self._woken.wait(timeout_s)
        self._woken.clear()
        return []

    def wake_letters(self) -> None:
        self._woken.set()


class Piece:
    """A buffer that the engine reduces until it is told to end."""

    def __init__(self, items: int) -> None:
        self.items = items
        self.ended = threading.Event()

    def done(self) -> bool:
        return self.ended.is_set()

    def wait(self, timeout_s: float | None = None) -> None:
        assert self.ended.wait(ENDS_S)


class Rank:
    """The only one of its group."""

    def __init__(self, in_flight: int = 2) -> None:
        self.begun: list[Piece] = []
        self._has_begun = threading.Condition()
        self.starter, self.notifier = SerialExecutor("starter"), Notifier()
        self.negotiation = Negotiation(
            Tree(places([-1])[0], Settings(cycle_s=0.0)),
            cast(Any, Channel()),
            starter=self.starter,
            notifier=self.notifier,
            stage=HostStage,
            begin=self._begin,
            in_flight=in_flight,
        )

    def announce(self, *names: str, may_be_held: bool = True) -> list[NamedWork]:
        works = []
        for name in names:
            asked = Request(name, (requests.Tensor("float32", (3,)),))
            works.append(NamedWork(name, [torch.ones(3)], NO_TIMEOUT))
            self.negotiation.announce([asked], works[-1:], may_be_held=may_be_held)
        return works

    def await_begun(self, count: int) -> list[int]:
        """The sizes of those that have begun, once there are so many."""
        with self._has_begun:
            assert self._has_begun.wait_for(lambda: len(self.begun) >= count, ENDS_S)
            return [piece.items for piece in self.begun]

    def end(self) -> None:
        for piece in self.begun:
            piece.ended.set()
        self.negotiation.close()
        self.starter.end()
        self.notifier.end()

    def _begin(self, host: Tensor, _op: str) -> Piece:
        with self._has_begun:
            self.begun.append(Piece(host.numel()))
            self._has_begun.notify_all()
            return self.begun[-1]


@pytest.fixture
def rank() -> Iterator[Rank]:
    made = Rank()
    yield made
    made.end()


def busy(rank: Rank) -> None:
    """Two collectives are under way, which is what the engine runs at a time."""
    rank.announce("first")
    rank.await_begun(1)
    rank.announce("second")
    rank.await_begun(2)


def test_what_comes_while_two_are_under_way_shares_the_next_buffer(rank: Rank) -> None:
    busy(rank)
    works = rank.announce(*(f"x{i}" for i in range(9)))
    # Long enough for them to begin, if they were not held.
    time.sleep(0.05)
    assert rank.await_begun(2) == [3, 3]
    works += rank.announce("x9")
    rank.begun[0].ended.set()
    assert rank.await_begun(3) == [3, 3, 30]
    for piece in rank.begun:
        piece.ended.set()
    assert all(work.wait() for work in works)


def test_what_is_first_announced_while_the_interpreter_ends_ends_well(
    rank: Rank, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    works = rank.announce("late")
    assert rank.await_begun(1) == [3]
    rank.begun[0].ended.set()
    assert all(work.wait() for work in works)


def test_an_engine_that_runs_more_at_a_time_gets_more() -> None:
    rank = Rank(in_flight=3)
    try:
        busy(rank)
        rank.announce("third")
        assert rank.await_begun(3) == [3, 3, 3]
    finally:
        rank.end()


def test_what_may_not_be_held_takes_along_what_is(rank: Rank) -> None:
    busy(rank)
    rank.announce("held")
    rank.announce("urgent", may_be_held=False)
    assert rank.await_begun(3) == [3, 3, 6]


def test_a_name_that_is_held_is_pending(rank: Rank) -> None:
    busy(rank)
    rank.announce("held")
    with pytest.raises(DistBackendError, match="'held' is pending already"):
        rank.announce("held")


def test_a_rank_that_joins_holds_nothing(rank: Rank) -> None:
    busy(rank)
    rank.announce("held")
    assert rank.negotiation.join() == 0
    assert sum(rank.await_begun(3)) == 9


def test_what_is_held_fails_with_all_else(rank: Rank) -> None:
    busy(rank)
    (held,) = rank.announce("held")
    rank.negotiation.close()
    with pytest.raises(DistBackendError, match="process group has ended"):
        held.wait()
