"""A machine of mode tree as an engine drives it."""

from __future__ import annotations

import time

import numpy as np
import pytest

from engine.group import group
from plink.engine import Forest
from plink.training.control import _native
from plink.training.control.actions import Release, Warn
from plink.training.control.events import Announced, Done
from plink.training.control.requests import Request, Tensor
from plink.training.control.settings import Settings
from plink.training.control.shape import places

PARENTS = [-1, 0, 1]
# Engines look after each other more seldom.
SOON_S = 3.0


def a_forest() -> Forest:
    parents = np.array([PARENTS], np.int32)
    return Forest(np.array([1.0]), parents, parents)


def announced(name: str) -> Announced:
    return Announced((Request(name, (Tensor("float32", (4,)),)),))


@pytest.mark.parametrize("rank", range(3))
def test_who_waits_alone_is_told_in_time(rank: int) -> None:
    settings = Settings(stall_warning_s=0.2)
    with group(a_forest()) as ranks:
        boxes = [engine.letter_box for engine in ranks.engines]
        machines = [_native.Tree(place, settings) for place in places(PARENTS)]
        drivers = [_native.Driver(*pair) for pair in zip(machines, boxes, strict=True)]
        # By then all supervisors sleep.
        time.sleep(0.2)
        drivers[rank].tell(announced("x"))
        for driver in drivers:
            actions, _, _ = driver.next(SOON_S)
            # On a busy machine the next warning may come together with the first.
            assert {type(action) for action in actions} == {Warn}
        for driver in drivers:
            driver.close("over")


def test_each_of_many_that_are_announced_alone_is_released_everywhere() -> None:
    with group(a_forest()) as ranks:
        boxes = [engine.letter_box for engine in ranks.engines]
        machines = [_native.Tree(place, Settings()) for place in places(PARENTS)]
        drivers = [_native.Driver(*pair) for pair in zip(machines, boxes, strict=True)]
        for i in range(300):
            for turn in range(3):
                drivers[(i + turn) % 3].tell(announced(f"t{i % 5}"))
            for driver in drivers:
                actions, _, _ = driver.next(SOON_S)
                (release,) = actions
                assert isinstance(release, Release)
                (batch,) = release.batches
                assert [request.name for request in batch.requests] == [f"t{i % 5}"]
                driver.tell(Done())
        for driver in drivers:
            driver.close("over")
