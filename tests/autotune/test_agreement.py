"""All ranks change to the same plan at the same collective, whenever each of them got it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.autotune.ranks.agreement import Points, Stride, outcome, vote_of
from plink.base.errors import WrongUseError

words = st.integers(0, (1 << 63) - 1)


@given(st.lists(st.tuples(words, st.booleans()), min_size=1, max_size=8))
def test_an_outcome_is_what_all_hold(votes: Sequence[tuple[int, bool]]) -> None:
    reduced = np.minimum.reduce([vote_of(word, is_over) for word, is_over in votes])
    held = {word for word, _ in votes}
    result = outcome(reduced)
    assert result.plan_id == (held.pop() if len(held) == 1 else None)
    assert result.is_window_over == all(is_over for _, is_over in votes)


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


def test_a_stride_of_nothing_is_refused() -> None:
    with pytest.raises(WrongUseError):
        Stride(0, 1)
