"""How buffers are cut and dealt."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.forests import random_forest, stars
from plink.engine import Forest, _native
from plink.engine.forest import native
from plink.solvers.forests.time import LEAST_CHUNK_BYTES
from plink.solvers.forests.time import chunk_bytes as predicted_chunk_bytes


def weighted(weights: list[float]) -> Forest:
    parents = np.full((len(weights), 2), -1, dtype=np.int32)
    parents[:, 1] = 0
    return Forest(np.array(weights), parents, parents)


@given(
    st.lists(st.floats(0.0, 100.0), min_size=1, max_size=9),
    st.integers(1, 200_000),
    st.integers(1, 100_000),
    st.integers(1, 4),
)
def test_routes_take_chunks_in_proportion_to_weight(
    weights: list[float], items: int, chunk_bytes: int, workers: int
) -> None:
    weights[0] += 1.0
    chunk_items, routes, of_worker = _native.deal(
        native(weighted(weights)), items, 4, chunk_bytes, workers
    )
    chunks = len(routes)
    assert sum(chunk_items) == items
    assert set(chunk_items[:-1]) <= {chunk_items[0]}
    assert chunk_items[-1] <= chunk_items[0]
    share = np.array(weights) / sum(weights) * chunks
    dealt = np.bincount(routes, minlength=len(weights))
    assert np.all(np.abs(dealt - share) < 1.0 + 1e-9 * chunks)
    assert np.all(dealt[np.array(weights) == 0.0] == 0)
    assert set(of_worker) <= set(range(workers))


@given(st.integers(1, 9), st.integers(1, 60), st.integers(1, 4))
def test_every_prefix_of_the_chunks_is_dealt_evenly(
    ranks: int, chunks_of_route: int, workers: int
) -> None:
    """All routes and all workers are busy at all times."""
    forest = stars(ranks)
    chunks = ranks * chunks_of_route
    _, routes, of_worker = _native.deal(native(forest), 64 * chunks, 4, 256, workers)
    assert len(routes) == chunks
    counts = np.zeros(ranks, dtype=int)
    for route in routes:
        counts[route] += 1
        assert counts.max() - counts.min() <= 1
    for route in range(ranks):
        carried = np.bincount(
            [w for w, r in zip(of_worker, routes, strict=True) if r == route], minlength=workers
        )
        assert carried.max() - carried.min() <= 1


@given(st.integers(1, 40_000), st.integers(2, 4))
def test_a_small_buffer_is_one_workers_unless_its_chunks_are_given(
    items: int, workers: int
) -> None:
    *_, of_worker = _native.deal(native(stars(4)), items, 4, 0, workers)
    assert (max(of_worker) == 0) == (items * 4 <= 64 * 1024)
    *_, of_worker = _native.deal(native(stars(4)), 64 * 9, 4, 256, workers)
    assert set(of_worker) == set(range(workers))


@given(st.integers(0, 1000), st.integers(0, 100_000))
def test_every_rank_deals_alike(seed: int, items: int) -> None:
    first = _native.deal(native(random_forest(seed, 4, 3)), items, 8, 0, 2)
    assert first == _native.deal(native(random_forest(seed, 4, 3)), items, 8, 0, 2)


@given(st.integers(1, 2**40), st.integers(1, 512))
def test_chunks_suit_the_buffer(size_bytes: int, routes: int) -> None:
    chunk = _native.chunk_bytes(size_bytes, routes)
    assert 1 <= chunk <= 256 * 1024
    if size_bytes >= routes * 32 * 256 * 1024:
        assert chunk == 256 * 1024


@given(st.integers(1, 2**40), st.integers(1, 512))
def test_times_are_predicted_with_the_chunks_that_there_are(size_bytes: int, routes: int) -> None:
    chunk = _native.chunk_bytes(size_bytes, routes)
    assert chunk <= predicted_chunk_bytes(size_bytes, routes) < chunk + 1


@given(st.integers(1, 512))
def test_the_smallest_chunk_is_the_one_that_times_are_predicted_with(routes: int) -> None:
    assert _native.chunk_bytes(1, routes) == LEAST_CHUNK_BYTES
    assert _native.chunk_bytes(routes * LEAST_CHUNK_BYTES, routes) == LEAST_CHUNK_BYTES
    assert _native.chunk_bytes(routes * (LEAST_CHUNK_BYTES + 1), routes) > LEAST_CHUNK_BYTES
