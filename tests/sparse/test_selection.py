"""Chunks, ramps and selections."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.training.sparse.chunks import Chunks, parts_of, runs
from plink.training.sparse.ramp import sent_chunks, sparsity_at
from plink.training.sparse.selection import largest, measure, next_ages
from plink.training.sparse.volume import sent_bytes

CHOSEN = st.lists(st.booleans(), min_size=1, max_size=40)


@given(CHOSEN, st.integers(1, 9), st.integers(0, 8), st.integers(0, 3))
def test_spans_hold_the_chosen_elements_once(
    chosen: list[bool], size: int, missing: int, most: int
) -> None:
    chunks = Chunks(len(chosen) * size - min(missing, size - 1), size)
    assert len(chunks) == len(chosen)
    marked = np.array(chosen)
    spans = list(chunks.spans(marked, most))
    elements = [e for where in spans for e in range(where.start, where.stop)]
    assert elements == [e for e in range(chunks.items) if chosen[e // size]]
    assert chunks.items_of(marked) == len(elements)
    if most:
        assert all(where.stop - where.start <= most * size for where in spans)
    else:
        assert len(spans) == len(runs(marked))


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, 7.0]), min_size=1, max_size=30), st.data())
def test_the_largest_are_chosen_and_of_equal_ones_the_first(
    norms: list[float], data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, len(norms)))
    chosen = np.flatnonzero(largest(np.array(norms), count)).tolist()
    assert chosen == sorted(sorted(range(len(norms)), key=lambda c: (-norms[c], c))[:count])


def test_norms_that_are_not_finite_choose_nothing() -> None:
    with pytest.raises(ValueError, match="finite"):
        largest(np.array([1.0, np.nan]), 1)


@given(st.integers(1, 50), st.integers(1, 9), st.integers(0, 99))
def test_norms_are_those_of_every_chunk(items: int, size: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=items)
    chunks = Chunks(items, size)
    norms = np.full(len(chunks), np.nan)
    measure(norms, 0, values, size)
    parts = [slice(*chunks.bounds(c, c + 1)) for c in range(len(chunks))]
    assert np.allclose(norms, [np.abs(values[part]).sum() for part in parts])


def test_sparsity_grows_linearly_from_nothing() -> None:
    grown = [sparsity_at(step, 0.8, 4) for step in range(6)]
    assert grown == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 0.8])
    # Norms are not known before the first step.
    assert [sparsity_at(step, 0.8, 0) for step in range(2)] == [0.0, 0.8]


@given(st.integers(1, 3000), st.floats(0, 0.999))
def test_never_less_is_sent_than_was_asked(chunks: int, sparsity: float) -> None:
    sent = sent_chunks(chunks, sparsity)
    assert 1 <= sent <= chunks
    assert sent >= (1 - sparsity) * chunks - 1e-6
    assert sent <= max(1, (1 - sparsity) * chunks + 1)


def test_shares_that_floats_do_not_hold_are_met() -> None:
    # 20 * 0.85 is 17, and 61 million in chunks of 32,000 are the paper's 1903 chunks.
    assert sent_chunks(20, 0.85) == 3
    assert sent_chunks(10, 0.3) == 7


def test_ages_count_the_steps_since_a_chunk_was_sent() -> None:
    ages = np.zeros(3, dtype=np.int64)
    for sent in ([True, False, False], [True, True, False], [False, True, False]):
        ages = next_ages(ages, np.array(sent))
    assert ages.tolist() == [1, 0, 3]


def test_chunks_of_several_pools_are_told_apart() -> None:
    parts = parts_of(np.array([True, False, True, True]), [1, 3])
    assert [part.tolist() for part in parts] == [[True], [False, True, True]]


def test_bytes_are_those_of_two_all_reduces() -> None:
    # Of four ranks each sends three halves of a buffer: 1000 elements of 4 bytes, 10 norms.
    assert sent_bytes(1000, 4, 10, 4) == 1.5 * (4000 + 40)
