"""How far ahead of what is complete ranks begin."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.forests import stars
from engine.group import group
from plink.engine import Engine
from plink.engine._native import Pace, Window

CHUNK_BYTES = 32_768.0
MB = 1 << 20


def paced(bytes_per_s: float) -> Pace:
    pace = Pace()
    pace.bytes_per_s = bytes_per_s
    return pace


@given(
    st.integers(1, 400),
    st.integers(1, 50),
    st.floats(1.0, 5e6),
    st.floats(0.0, 1e10),
    st.lists(st.tuples(st.integers(0, 60), st.floats(0.0, 1.0)), max_size=80),
)
def test_the_oldest_chunk_that_is_not_complete_may_always_begin(
    chunks: int,
    routes: int,
    chunk_bytes: float,
    bytes_per_s: float,
    moves: list[tuple[int, float]],
) -> None:
    low, at_s = 0, 0.0
    window = Window(paced(bytes_per_s), chunks, low, chunk_bytes, routes)
    for chunks_more, seconds_more in moves:
        low = min(chunks, low + chunks_more)
        at_s += seconds_more
        before = window.end
        is_wider = window.advance(low, at_s)
        assert window.end >= before
        assert is_wider == (window.end > before)
        assert low == chunks or window.end > low


@pytest.mark.parametrize(
    ("bytes_per_s", "routes", "bytes_ahead"),
    [
        (0.0, 4, MB),  # not known yet
        (15e6, 4, MB),
        (100e6, 4, 5e6),
        (1e9, 4, 50e6),
        (0.0, 100, 100 * CHUNK_BYTES),  # one chunk for each route
    ],
)
def test_as_much_is_under_way_as_is_completed_in_a_moment(
    bytes_per_s: float, routes: int, bytes_ahead: float
) -> None:
    window = Window(paced(bytes_per_s), 100_000, 7, CHUNK_BYTES, routes)
    assert (window.end - 7) * CHUNK_BYTES == pytest.approx(bytes_ahead, abs=CHUNK_BYTES)


def test_the_pace_is_measured_and_kept_for_the_next_collective() -> None:
    pace = Pace()
    window = Window(pace, 10_000, 0, CHUNK_BYTES, 4)
    # The last rank is late by a second, then a chunk is complete each 100 µs.
    for low in range(1, 200):
        window.advance(low, 1.0 + low * 1e-4)
    assert pace.bytes_per_s == pytest.approx(CHUNK_BYTES / 1e-4, rel=0.01)
    following = Window(pace, 10_000, 0, CHUNK_BYTES, 4)
    assert following.end * CHUNK_BYTES == pytest.approx(pace.bytes_per_s * 0.05, rel=0.01)


def test_far_hosts_are_not_held_back() -> None:
    pace = Pace()
    pace.is_followed = False
    window = Window(pace, 10_000, 0, CHUNK_BYTES, 4)
    assert window.end >= 10_000
    assert not window.advance(17, 1.0)


def test_ranks_do_not_run_ahead_of_one_that_is_late() -> None:
    arrays = [np.full(4 * MB, rank + 1, dtype=np.float32) for rank in range(3)]
    with group(stars(3)) as ranks:
        works = [engine.allreduce(arrays[engine.rank]) for engine in ranks.engines[:2]]
        time.sleep(0.3)
        ahead = [bytes_sent(engine) for engine in ranks.engines[:2]]
        works.append(ranks.engines[2].allreduce(arrays[2]))
        for work in works:
            work.wait(20)
        in_all = [bytes_sent(engine) for engine in ranks.engines]
    assert min(ahead) > 0
    assert max(ahead) <= 1.1 * MB
    assert min(in_all) > 4 / 3 * arrays[0].nbytes - MB
    assert all(np.all(array == 6.0) for array in arrays)


def bytes_sent(engine: Engine) -> int:
    return sum(connection.bytes_sent for connection in engine.statistics().connections)
