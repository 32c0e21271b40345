"""Workers that carry unequal shares of a buffer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.forests import random_forest, stars
from engine.group import group
from plink.engine import Engine, EngineError, _native
from plink.engine.forest import native

WAIT_S = 20.0
CHUNK_BYTES = 256


def dealt(
    seed: int, chunks: int, weights: list[float]
) -> tuple[list[int], list[int], np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    forest = native(random_forest(seed, 4, 3))
    _, routes, workers = _native.deal(
        forest, 64 * chunks, 4, CHUNK_BYTES, len(weights), weights=weights
    )
    return routes, workers, np.array(weights) / sum(weights)


@given(
    st.integers(0, 1000),
    st.integers(1, 400),
    st.lists(st.floats(0.01, 10.0), min_size=2, max_size=5),
)
def test_workers_take_every_routes_chunks_in_proportion(
    seed: int, chunks: int, weights: list[float]
) -> None:
    routes, workers, share = dealt(seed, chunks, weights)
    if len(set(workers)) == 1:
        return
    for route in set(routes):
        own = [worker for worker, at in zip(workers, routes, strict=True) if at == route]
        found = np.bincount(own, minlength=len(weights))
        # What one route was short of, the next makes up for.
        assert np.all(np.abs(found - share * len(own)) <= 2.0 + 1e-9)
    found = np.bincount(workers, minlength=len(weights))
    assert np.all(np.abs(found - share * chunks) <= 1.0 + 1e-9 * chunks)


@given(st.integers(0, 1000), st.lists(st.floats(0.1, 10.0), min_size=2, max_size=4))
def test_a_worker_is_busy_from_the_first_chunk_to_the_last(seed: int, weights: list[float]) -> None:
    chunks = 300
    _, workers, share = dealt(seed, chunks, weights)
    for begin in range(0, chunks, 100):
        part = np.bincount(workers[begin : begin + 100], minlength=len(weights))
        assert np.all(np.abs(part - share * 100) < 8.0)


def test_without_weights_chunks_go_in_turn() -> None:
    forest = native(stars(3))
    plain = _native.deal(forest, 64 * 30, 4, CHUNK_BYTES, 2)
    assert plain == _native.deal(forest, 64 * 30, 4, CHUNK_BYTES, 2, weights=[])


def test_what_one_worker_carries_goes_to_the_one_with_the_largest_share() -> None:
    *_, workers = _native.deal(native(stars(3)), 5000, 4, 0, 3, weights=[0.2, 0.5, 0.3])
    assert set(workers) == {1}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "there are 2 workers, not 1"),
        ([1.0, -1.0], "negative"),
        ([1.0, float("nan")], "negative"),
        ([0.0, 0.0], "no positive, finite sum"),
        ([1.0, float("inf")], "no positive, finite sum"),
    ],
)
def test_weights_that_cannot_be(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _native.deal(native(stars(3)), 100, 4, 0, 2, weights=weights)


def added(engine: Engine) -> None:
    array = np.full(100_000, engine.rank + 1.0)
    engine.allreduce(array).wait(WAIT_S)
    assert np.all(array == 6.0)


def test_results_are_right_while_shares_change() -> None:
    with group(stars(3), workers=3, shared_memory=False) as ranks:
        ranks.on_all(added)
        before = [worker.size_bytes for worker in ranks.engines[0].statistics().workers]
        ranks.on_all(lambda engine: engine._native.weigh_workers([8.0, 1.0, 1.0], 2))
        for _ in range(3):
            ranks.on_all(added)
        statistics = ranks.engines[0].statistics()
        assert [worker.weight for worker in statistics.workers] == [0.8, 0.1, 0.1]
        found = [worker.size_bytes for worker in statistics.workers]
        # One in turn, two by weight.
        assert sum(found) - sum(before) == 3 * 800_000
        assert found[0] - before[0] == pytest.approx(800_000 * (1 / 3 + 2 * 0.8), rel=0.05)
        # A plan that is installed keeps them.
        ranks.on_all(lambda engine: engine.install(stars(3), engine.next_collective))
        ranks.on_all(added)
        assert ranks.engines[0].statistics().workers[0].weight == 0.8
        ranks.on_all(lambda engine: engine._native.weigh_workers([], engine.next_collective))
        ranks.on_all(added)
        assert len({worker.weight for worker in ranks.engines[0].statistics().workers}) == 1
        with pytest.raises(ValueError, match="collective 2 has begun"):
            ranks.engines[0]._native.weigh_workers([1.0, 1.0, 1.0], 2)


def test_shares_that_only_one_rank_has_are_noticed() -> None:
    with group(stars(2), workers=2) as ranks:
        ranks.engines[1]._native.weigh_workers([3.0, 1.0], 0)

        def failure(engine: Engine) -> str:
            with pytest.raises(EngineError) as caught:
                engine.allreduce(np.ones(100_000)).wait(WAIT_S)
            return str(caught.value)

        assert all("called another collective" in said for said in ranks.on_all(failure))


def test_nothing_is_balanced_where_every_rank_has_one_address() -> None:
    with group(stars(2)) as ranks:
        for _ in range(3):
            ranks.on_all(Engine.balance)
        assert {engine.next_collective for engine in ranks.engines} == {0}
