"""Sums and the like of real engines, against numpy."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.forests import binary_tree, chains, random_forest, stars
from engine.group import group
from plink.engine import Engine, Forest, Work, _native
from plink.engine.forest import native

pytestmark = pytest.mark.timing

Array = npt.NDArray[np.generic]

FORESTS = {
    "stars": stars(4),
    "chains": chains(3),
    "binary tree": binary_tree(6),
    "random": random_forest(3, 5, 4),
}
WHOLE = ("int32", "int64")
FLOATS = ("float16", "float32", "float64")
WAIT_S = 30.0


def contributions(ranks: int, items: int, dtype: str, seed: int = 0) -> list[Array]:
    """Whole numbers so small that every sum of them is exact in every type."""
    rng = np.random.default_rng([seed, items])
    return [rng.integers(-9, 10, items).astype(dtype) for _ in range(ranks)]


def reduced(arrays: list[Array], op: str) -> Array:
    stack = np.stack(arrays)
    if op == "mean":
        total = stack.astype(np.float64).sum(axis=0) / len(arrays)
        return np.trunc(total) if stack.dtype.kind == "i" else total.astype(stack.dtype)
    result: Array = {"sum": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and}[
        op
    ].reduce(stack)
    return result


@pytest.mark.parametrize("tcp_ranks", [(), (1,), range(6)], ids=["memory", "mixed", "tcp"])
@pytest.mark.parametrize("name", FORESTS)
def test_every_type_and_operation_at_every_kind_of_length(
    name: str, tcp_ranks: Collection[int]
) -> None:
    forest = FORESTS[name]
    cases = [
        (dtype, op, items)
        for dtype in (*WHOLE, *FLOATS)
        for op in ("sum", "mean", "min", "max", *(["and"] if dtype in WHOLE else []))
        for items in (0, 1, 63, 4099)
    ]
    with group(forest, tcp_ranks=tcp_ranks, chunk_bytes=1000) as ranks:
        for dtype, op, items in cases:
            arrays = contributions(forest.ranks, items, dtype)
            expected = reduced(arrays, op)
            ranks.on_all(
                lambda e, arrays=arrays, op=op: e.allreduce(arrays[e.rank], op).wait(WAIT_S)
            )
            for array in arrays:
                np.testing.assert_array_equal(array, expected, f"{op} of {items} {dtype}")


FORESTS_OF_ANY_SHAPE = st.builds(
    random_forest, st.integers(0, 1000), st.integers(1, 6), st.integers(1, 5)
)
OPTIONS = st.fixed_dictionaries(
    {
        "chunk_bytes": st.integers(1, 9000),
        "workers": st.integers(1, 3),
        "deterministic": st.booleans(),
        "shared_memory": st.booleans(),
    }
)


@given(FORESTS_OF_ANY_SHAPE, st.integers(0, 3000), OPTIONS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_forest_adds_up(forest: Forest, items: int, options: dict[str, object]) -> None:
    arrays = contributions(forest.ranks, items, "int64")
    expected = reduced(arrays, "sum")
    with group(forest, **options) as them:
        them.on_all(lambda engine: engine.allreduce(arrays[engine.rank]).wait(WAIT_S))
    for array in arrays:
        np.testing.assert_array_equal(array, expected)


def test_every_half_survives_being_widened_and_narrowed() -> None:
    every = np.arange(65536).astype(np.uint16)
    numbers = every[~np.isnan(every.view(np.float16))]
    brains = every[(every & 0x7FFF) <= 0x7F80]
    with group(stars(2)) as ranks:
        halves = [numbers.view(np.float16).copy() for _ in range(2)]
        ranks.on_all(lambda engine: engine.allreduce(halves[engine.rank], "mean").wait(WAIT_S))
        as_brains = [brains.copy() for _ in range(2)]
        ranks.on_all(
            lambda e: e.allreduce(as_brains[e.rank], "mean", dtype="bfloat16").wait(WAIT_S)
        )
    np.testing.assert_array_equal(halves[0].view(np.uint16), numbers)
    # The largest are infinite when doubled in 32 bits.
    doubled = (brains.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore"):
        small = np.isfinite(doubled + doubled)
    np.testing.assert_array_equal(as_brains[0][small], brains[small])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_halves_are_added_and_compared_as_numpy_does_it() -> None:
    # Every half with others, and some more, so that the last ones fill no vector.
    bits = np.concatenate([np.arange(1 << 16), np.arange(5)])
    pairs = [bits.astype(np.uint16), (bits * 31 + 7).astype(np.uint16)]
    halves = [each.view(np.float16) for each in pairs]
    wanted = {"sum": np.add, "min": np.minimum, "max": np.maximum}
    with group(stars(2)) as ranks:
        for op, combined in wanted.items():
            arrays = [each.copy() for each in halves]
            ranks.on_all(lambda e, a=arrays, op=op: e.allreduce(a[e.rank], op).wait(WAIT_S))
            np.testing.assert_array_equal(arrays[0], combined(*halves))
            np.testing.assert_array_equal(arrays[0].view(np.uint16), arrays[1].view(np.uint16))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_rounded_once_at_a_root_with_many_children(dtype: str) -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(5, 5000)).astype(np.float32)
    if dtype == "float16":
        arrays: list[Array] = [row.astype(np.float16) for row in values]
        wide = [array.astype(np.float32) for array in arrays]
    else:
        arrays = [(row.view(np.uint32) >> 16).astype(np.uint16) for row in values]
        wide = [(array.astype(np.uint32) << 16).view(np.float32) for array in arrays]
    with group(stars(5), deterministic=True) as ranks:
        ranks.on_all(lambda e: e.allreduce(arrays[e.rank], dtype=dtype).wait(WAIT_S))
        routes = routes_of_items(stars(5), 5000)
    # Each root adds the others, in ascending order, to its own.
    expected = np.empty(5000, dtype=np.float32)
    for root in range(5):
        total = wide[root].copy()
        for other in range(5):
            if other != root:
                total += wide[other]
        expected[routes == root] = total[routes == root]
    for array in arrays:
        np.testing.assert_array_equal(array.view(np.uint16), narrowed(expected, dtype))


def narrowed(values: npt.NDArray[np.float32], dtype: str) -> npt.NDArray[np.uint16]:
    """To the nearest, ties to even."""
    if dtype == "float16":
        return values.astype(np.float16).view(np.uint16)
    bits = values.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def routes_of_items(forest: Forest, items: int) -> npt.NDArray[np.int64]:
    """Of 2-byte items, dealt in chunks of the default size."""
    chunk_items, routes, _ = _native.deal(native(forest), items, 2, 0, 2)
    return np.repeat(np.array(routes), chunk_items)[:items]


def test_all_ranks_have_the_same_bytes_even_where_order_matters() -> None:
    rng = np.random.default_rng(2)
    arrays = [rng.normal(size=50_000).astype(np.float32) for _ in range(6)]
    with group(random_forest(7, 6, 5), chunk_bytes=4096) as ranks:
        ranks.on_all(lambda engine: engine.allreduce(arrays[engine.rank]).wait(WAIT_S))
    for array in arrays:
        np.testing.assert_array_equal(array.view(np.uint32), arrays[0].view(np.uint32))


def test_deterministic_runs_are_equal_bit_for_bit() -> None:
    rng = np.random.default_rng(4)
    original = [rng.normal(size=30_000).astype(np.float32) for _ in range(5)]
    results = []
    with group(binary_tree(5), chunk_bytes=2048, deterministic=True) as ranks:
        for _ in range(5):
            arrays = [array.copy() for array in original]
            ranks.on_all(lambda e, arrays=arrays: e.allreduce(arrays[e.rank]).wait(WAIT_S))
            results.append(arrays[0])
    # As the tree says: children in ascending order, after the node's own.
    low = (original[1] + original[3]) + original[4]
    expected = (original[0] + low) + original[2]
    for result in results:
        np.testing.assert_array_equal(result.view(np.uint32), expected.view(np.uint32))


def test_what_is_no_number_stays_in_minimum_and_maximum() -> None:
    arrays = [np.array([rank, np.nan if rank == 1 else 0.0]) for rank in range(3)]
    with group(chains(3)) as ranks:
        for op in ("min", "max"):
            ranks.on_all(
                lambda engine, op=op: engine.allreduce(arrays[engine.rank], op).wait(WAIT_S)
            )
            assert all(np.isnan(array[1]) for array in arrays)


def test_many_collectives_posted_at_once() -> None:
    sizes = [5, 70_000, 1, 0, 3000, 3000, 40_000, 2]
    arrays = [[np.full(size, rank + 1.0) for size in sizes] for rank in range(4)]
    with group(stars(4), chunk_bytes=8192) as ranks:

        def post_all(rank: int) -> list[Work]:
            return [ranks.engines[rank].allreduce(array) for array in arrays[rank]]

        works = ranks.on_all(lambda engine: post_all(engine.rank))
        assert [work.number for work in works[0]] == list(range(len(sizes)))
        for of_rank in works:
            for work in of_rank:
                work.wait(WAIT_S)
                assert work.done()
    for of_rank in arrays:
        for array in of_rank:
            np.testing.assert_array_equal(array, np.full(len(array), 10.0))


@pytest.mark.parametrize("shared_memory", [True, False])
def test_a_rank_that_posts_late_holds_nobody_up_but_the_sum(shared_memory: bool) -> None:
    """The early ranks fill its connections with two collectives that it has not begun."""
    arrays = [[np.full(400_000, rank + 1.0) for _ in range(3)] for rank in range(3)]
    with group(stars(3), shared_memory=shared_memory) as ranks:
        early = [
            [engine.allreduce(array) for array in arrays[engine.rank]]
            for engine in ranks.engines[:2]
        ]
        with pytest.raises(TimeoutError):
            early[0][0].wait(0.1)
        late = ranks.engines[2]
        for array in arrays[2]:
            late.allreduce(array).wait(WAIT_S)
        for works in early:
            for work in works:
                work.wait(WAIT_S)
    assert all(np.all(array == 6.0) for of_rank in arrays for array in of_rank)


@pytest.mark.parametrize("ahead", [0, 1])
def test_plans_change_at_the_agreed_collective(ahead: int) -> None:
    """Rank 0 installs each plan when it is due or a plan ahead, the others when it is due."""
    forests = [stars(4), chains(4), binary_tree(4), random_forest(5, 4, 3)]
    arrays = [[np.full(20_000, rank + 1.0) for _ in range(8)] for rank in range(4)]
    with group(forests[0], chunk_bytes=4096) as ranks:

        def run(engine: Engine) -> None:
            works = []
            for number, array in enumerate(arrays[engine.rank]):
                plan = number // 2 + (ahead if engine.rank == 0 else 0)
                if number % 2 == 0 and 0 < plan < len(forests):
                    engine.install(forests[plan], 2 * plan)
                works.append(engine.allreduce(array))
            for work in works:
                work.wait(WAIT_S)

        ranks.on_all(run)
        sent = [sum(p.bytes_sent for p in e.statistics().peers) for e in ranks.engines]
    assert all(np.all(array == 10.0) for of_rank in arrays for array in of_rank)
    # Every kind of plan sends each chunk ranks - 1 times each way.
    frames = 8 * len(routes_of_chunks(forests[0], 20_000)) * 2 * 3
    assert sum(sent) == 8 * 20_000 * 8 * 2 * 3 + 8 * frames


def routes_of_chunks(forest: Forest, items: int) -> list[int]:
    """Of 8-byte items in chunks of 4096 bytes."""
    routes: list[int] = _native.deal(native(forest), items, 8, 4096, 2)[1]
    return routes
