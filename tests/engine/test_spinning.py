"""Who waits for a small buffer looks again and again before it sleeps, where it may."""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from engine.forests import stars
from engine.group import QUICK, group
from plink.base.replacing import replace
from plink.engine import Engine, Options

pytestmark = pytest.mark.timing

# Longer than any wait here.
EVER_US = 1e6
WAIT_S = 0.05
# Of the processor, in a wait; one that sleeps takes a tenth of that.
SPINS_S = 1e-3


@pytest.fixture
def busy_core() -> Iterator[None]:
    """This thread's only core, which another process wants all the time."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        yield
        other.kill()
    os.sched_setaffinity(0, before)


def busy_s(spin_us: float | None, clock: Callable[[], float]) -> Iterator[float]:
    """Yield the processor time, in s, of one wait after another for a rank that comes late.

    Args:
        spin_us: how long a rank may spin, in µs; None for plink's own choice.
        clock: processor time of the calling thread, or of the process.
    """
    options = replace(QUICK, spin_us=spin_us, shared_memory=False)
    with group(stars(2), options) as ranks:
        on_time, late = ranks.engines
        while True:
            arrays = [np.full(100, rank + 1.0) for rank in range(2)]
            # As little as can be between the call and the wait: a thread that is not quick enough
            # leaves the wait to another one.
            before = clock()
            work = on_time.allreduce(arrays[0])
            try:
                work.wait(WAIT_S)
            except TimeoutError:
                busy = clock() - before
            late.allreduce(arrays[1]).wait(20)
            work.wait(20)
            assert all(np.all(array == 3.0) for array in arrays)
            yield busy


def test_a_rank_sleeps_while_it_waits() -> None:
    assert statistics.median(itertools.islice(busy_s(0.0, time.thread_time), 7)) < SPINS_S


# A thread that takes more than 100 µs from the call to the wait finds that another of the process
# waits in its place; on a busy core it hardly ever is so quick, and gets only a part of the time.
# One wait that spins will do: how many it takes depends on the machine, and only pytest's limit
# bounds them.
def test_it_does_not_where_it_spins() -> None:
    assert any(busy > SPINS_S for busy in busy_s(EVER_US, time.process_time))


@pytest.mark.usefixtures("busy_core")
def test_it_does_not_spin_by_itself_on_a_core_that_others_want() -> None:
    assert statistics.median(itertools.islice(busy_s(None, time.thread_time), 7)) < SPINS_S


@pytest.mark.parametrize("shared_memory", [False, True])
def test_sums_are_right_however_long_it_spins(shared_memory: bool) -> None:
    for spin_us in (20.0, EVER_US):
        with group(stars(3), spin_us=spin_us, shared_memory=shared_memory) as ranks:
            arrays = [np.full(4000, rank + 1.0) for rank in range(3)]

            def reduce_often(engine: Engine, arrays: list[np.ndarray] = arrays) -> None:
                for _ in range(100):
                    engine.allreduce(arrays[engine.rank], "mean").wait(20)

            ranks.on_all(reduce_often)
        assert all(np.all(array == 2.0) for array in arrays)


def test_where_a_host_has_more_ranks_than_cores_none_spins_unless_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    assert Options().spin_time_us(ranks_of_host=3) > 0.0
    assert Options().spin_time_us(ranks_of_host=4) == 0.0
    assert Options(spin_us=7.0).spin_time_us(ranks_of_host=4) == 7.0
    assert Options(spin_us=0.0).spin_time_us(ranks_of_host=1) == 0.0
