"""Copies of all lanes for a snapshot, where lanes end an iteration one after the other."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from plink.hub.service import ServiceOptions
from plink.hub.serving.errors import ServiceError
from plink.hub.serving.keeping import Keeping
from plink.hub.serving.lanes import Lanes


class OneLane:
    """Event loop of one lane, in mode sync: copies at the end of the iteration that it is told."""

    def __init__(self, lane: int, *, has_begun: bool, reported: list[tuple[int, int]]) -> None:
        self.lane, self.iteration, self.has_begun = lane, 5, has_begun
        self.reported = reported
        self.wanted: int | None = None

    def copy_at(self, _tenant: int, iteration: int) -> bool:
        if iteration < self.iteration or (iteration == self.iteration and self.has_begun):
            return False
        self.wanted = iteration
        self.end(self.iteration)
        return True

    def end(self, iteration: int) -> None:
        if self.wanted == iteration:
            self.wanted = None
            self.reported.append((self.lane, iteration))

    def figures(self, _tenant: int, _lane: int) -> Any:
        return SimpleNamespace(iteration=self.iteration)

    def take_copy(self, _tenant: int, _lane: int) -> tuple[int, int, bytes, list[Any]]:
        assert self.wanted is None
        return 6, 1, b"", []


def test_copies_of_an_iteration_that_not_all_lanes_could_copy_do_not_count() -> None:
    """The first lane has ended iteration 5 and copies, the second is in it: both copy after 6."""
    reported: list[tuple[int, int]] = []
    loops: list[Any] = [
        OneLane(number, has_begun=number == 1, reported=reported) for number in range(2)
    ]
    lanes = Lanes(1, ServiceOptions("job", 2), loops, [[0], [1]])
    lanes._open, lanes._own, lanes._chunks = {0, 1}, loops, {0: [], 1: []}
    keeping = Keeping("job", lanes)

    async def save() -> int:
        pieces = asyncio.ensure_future(keeping.pieces(None))
        await asyncio.sleep(0)
        assert reported == [(0, 5)]
        loops[1].end(6)
        for event in reported:
            keeping.copied(*event)
        await asyncio.sleep(0)
        assert not pieces.done()
        loops[0].end(6)
        keeping.copied(*reported[-1])
        return (await pieces)[0]

    assert asyncio.run(save()) == 6


def test_a_snapshot_asked_for_before_the_last_one_is_taken_is_refused_and_then_made() -> None:
    reported: list[tuple[int, int]] = []
    loops: list[Any] = [OneLane(0, has_begun=False, reported=reported)]
    lanes = Lanes(1, ServiceOptions("job", 2), loops, [[0]])
    lanes._open, lanes._own, lanes._chunks = {0}, loops, {0: []}
    keeping = Keeping("job", lanes)

    async def save() -> None:
        first = asyncio.ensure_future(keeping.pieces(6))
        await asyncio.sleep(0)
        loops[0].end(6)
        keeping.copied(*reported[-1])
        with pytest.raises(ServiceError):
            await keeping.pieces(7)
        assert (await first)[0] == 6
        cancelled = asyncio.ensure_future(keeping.pieces(7))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        last = asyncio.ensure_future(keeping.pieces(7))
        await asyncio.sleep(0)
        loops[0].end(7)
        keeping.copied(*reported[-1])
        await last

    asyncio.run(save())
