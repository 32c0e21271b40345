"""All ranks change to the same plan at the same collective, whenever each of them got it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.autotune.ranks.agreement import (
    MOST_COLLECTIVES,
    Points,
    Stride,
    outcome,
    propose_stride,
    vote_of,
)
from plink.base.errors import WrongUseError

words = st.integers(0, (1 << 63) - 1)


strides = st.integers(1, MOST_COLLECTIVES)


@given(st.lists(st.tuples(words, st.booleans(), strides), min_size=1, max_size=8))
def test_an_outcome_is_what_all_hold(votes: Sequence[tuple[int, bool, int]]) -> None:
    reduced = np.minimum.reduce([vote_of(*vote) for vote in votes])
    held = {word for word, _, _ in votes}
    result = outcome(reduced)
    assert result.plan_id == (held.pop() if len(held) == 1 else None)
    assert result.is_window_over == all(is_over for _, is_over, _ in votes)
    assert result.collectives == min(collectives for _, _, collectives in votes)


@given(st.lists(st.integers(0, 100), max_size=60), st.integers(1, 200), st.integers(1, 10))
def test_points_come_after_bytes_or_collectives(
    sizes: Sequence[int], size_bytes: int, collectives: int
) -> None:
    points = Points(Stride(size_bytes, collectives))
    since: list[int] = []
    for size in sizes:
        is_next = points.is_next(size)
        assert points.count(size) == is_next
        since.append(size)
        assert is_next == (sum(since) >= size_bytes or len(since) >= collectives)
        if is_next:
            since = []


def test_points_follow_time_in_whole_iterations() -> None:
    # 100 collectives a second, and a point every quarter of one.
    assert propose_stride(20, 0.2, 0.25, None) == 25
    assert propose_stride(20, 0.2, 0.25, 10) == 20
    # One iteration at least, however long it takes.
    assert propose_stride(10, 30.0, 0.25, 10) == 10
    # What begins in a burst tells little of the rate: twice as far at most.
    assert propose_stride(5, 1e-6, 0.25, None) == 10
    assert propose_stride(1, 0.0, 0.25, None) == 2
    assert propose_stride(MOST_COLLECTIVES, 1e-6, 0.25, 3) <= MOST_COLLECTIVES


def test_a_stride_of_nothing_is_refused() -> None:
    with pytest.raises(WrongUseError):
        Stride(0, 1)
