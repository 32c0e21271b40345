"""Every collective on every kind of forest, several under way at once, against numpy."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from engine.between import MisleadingStore, between
from engine.forests import binary_tree, chains, random_forest, stars
from engine.group import QUICK, group
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.engine import DirectoryStore, Engine, Forest, Work

Array = npt.NDArray[Any]

WAIT_S = 30.0
ROUNDS = 4


class Job:
    """What every rank of a job contributes to one round of all collectives, and should get."""

    def __init__(self, ranks: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.ranks = ranks
        self.root = int(rng.integers(ranks))
        self.counts = rng.integers(0, 20_000, ranks).tolist()
        self.ends = np.cumsum(self.counts)
        self.whole = rng.integers(0, 1000, (ranks, int(rng.integers(1, 60_000))))
        self.segments = rng.integers(0, 1000, (ranks, sum(self.counts))).astype(np.float32)
        self.lengths = rng.integers(0, 3000, (ranks, ranks))
        self.messages = [
            [rng.integers(0, 99, length).astype(np.int32) for length in row] for row in self.lengths
        ]

    def own(self, rank: int) -> slice:
        """A rank's segment."""
        return slice(self.ends[rank] - self.counts[rank], self.ends[rank])

    def gathered(self) -> Array:
        """Each rank's own segment, one after another."""
        return np.concatenate([self.segments[r][self.own(r)] for r in range(self.ranks)])

    def call(self, engine: Engine) -> tuple[list[Work], Callable[[], None]]:
        """Call every collective; returns the works and what checks their results."""
        rank, root, counts = engine.rank, self.root, self.counts
        reduced, broadcast, to_root = (self.whole[rank].copy() for _ in range(3))
        scattered, from_root = (np.full(counts[rank], -1, np.float32) for _ in range(2))
        everything = np.full(sum(counts), -1, np.float32)
        at_root = np.full(sum(counts), -1, np.float32) if rank == root else None
        own = self.segments[rank][self.own(rank)]
        sent = np.concatenate(self.messages[rank])
        received = np.full(self.lengths[:, rank].sum(), -1, np.int32)
        works = [
            engine.allreduce(reduced),
            engine.reduce_scatter(self.segments[rank], scattered, "sum", counts, priority=1),
            engine.broadcast(broadcast, root),
            engine.all_gather(own, everything, counts, priority=3),
            engine.reduce(to_root, root, priority=2),
            engine.all_to_all(
                sent, received, self.lengths[rank].tolist(), self.lengths[:, rank].tolist()
            ),
            engine.gather(own, at_root, root, counts),
            engine.scatter(self.segments[root] if rank == root else None, from_root, root, counts),
            engine.barrier(),
        ]

        def check() -> None:
            total = self.whole.sum(axis=0)
            assert np.array_equal(reduced, total)
            assert np.array_equal(broadcast, self.whole[root])
            assert np.array_equal(to_root, total if rank == root else self.whole[rank])
            assert np.array_equal(scattered, self.segments.sum(axis=0)[self.own(rank)])
            assert np.array_equal(everything, self.gathered())
            assert at_root is None or np.array_equal(at_root, self.gathered())
            assert np.array_equal(from_root, self.segments[root][self.own(rank)])
            assert np.array_equal(received, np.concatenate([row[rank] for row in self.messages]))

        return works, check


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"in_flight": 1, "deterministic": True},
        {"in_flight": 7, "workers": 3, "shared_memory": False},
    ],
)
@pytest.mark.parametrize(
    "forest", [stars(4), chains(5), binary_tree(6), random_forest(3, 5, 4), stars(1), stars(2)]
)
def test_every_collective_has_its_result(forest: Forest, options: dict[str, object]) -> None:
    with group(forest, **options) as ranks:

        def run(engine: Engine) -> None:
            jobs = [Job(forest.ranks, seed) for seed in range(ROUNDS)]
            for works, check in [job.call(engine) for job in jobs]:
                for work in works:
                    work.wait(WAIT_S)
                check()

        ranks.on_all(run)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32"])
@pytest.mark.parametrize("is_deterministic", [False, True])
def test_sums_that_are_passed_on_by_others(dtype: str, is_deterministic: bool) -> None:
    """Small numbers, whose sums and means every type has exactly; every inner rank passes on."""

    def stored(values: Array) -> Array:
        if dtype == "bfloat16":
            return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return values.astype(dtype)

    with group(chains(4), deterministic=is_deterministic, chunk_bytes=1024) as ranks:

        def run(engine: Engine) -> None:
            all_values = np.random.default_rng(3).integers(0, 15, (4, 4000)) * 4
            own, segment = stored(all_values[engine.rank]), stored(np.zeros(1000))
            to_root = own.copy()
            works = [
                engine.reduce_scatter(own, segment, "mean", dtype=dtype),
                engine.reduce(to_root, engine.ranks - 1, dtype=dtype),
            ]
            for work in works:
                work.wait(WAIT_S)
            mine = slice(1000 * engine.rank, 1000 * (engine.rank + 1))
            assert np.array_equal(segment, stored(all_values.sum(axis=0)[mine] / 4))
            is_root = engine.rank == engine.ranks - 1
            assert np.array_equal(to_root, stored(all_values.sum(axis=0)) if is_root else own)

        ranks.on_all(run)


def test_a_collective_in_place_reads_what_it_writes() -> None:
    with group(random_forest(9, 4, 3), in_flight=4) as ranks:

        def run(engine: Engine) -> None:
            whole = np.repeat(np.arange(4.0), 5000) + engine.rank
            own = whole[5000 * engine.rank :][:5000]
            engine.reduce_scatter(whole, own).wait(WAIT_S)
            assert np.all(own == 4 * engine.rank + 6)
            engine.all_gather(own, whole).wait(WAIT_S)
            assert np.array_equal(whole, np.repeat(4 * np.arange(4.0) + 6, 5000))

        ranks.on_all(run)


def test_a_later_collective_of_higher_priority_overtakes(tmp_path: Path) -> None:
    """A small one ends before a large one that was called first and has sent what buffers hold."""
    options = replace(QUICK, in_flight=2, chunk_bytes=16384, shared_memory=False)
    large = [np.full(12_000_000, rank + 1.0, np.float32) for rank in range(2)]
    urgent = [np.full(40_000, rank + 1.0, np.float32) for rank in range(2)]
    with between() as somebody, ThreadPoolExecutor(2) as threads, ExitStack() as stack:
        stores = [DirectoryStore(tmp_path), MisleadingStore(tmp_path, somebody)]
        made = [
            threads.submit(Engine, rank, 2, store, stars(2), options)
            for rank, store in enumerate(stores)
        ]
        engines = [stack.enter_context(one.result(WAIT_S)) for one in made]
        # Nothing arrives before both ranks have called both.
        somebody.gate.clear()
        first = [engine.allreduce(large[engine.rank]) for engine in engines]
        then = [engine.allreduce(urgent[engine.rank], priority=1) for engine in engines]
        somebody.gate.set()
        for work in (*first, *then):
            work.wait(WAIT_S)
        assert all(np.all(array == 3.0) for array in (*large, *urgent))
        for late, early in zip(first, then, strict=True):
            assert late.ended_s is not None
            assert early.ended_s is not None
            assert early.ended_s < late.ended_s


def test_a_rank_that_waits_before_it_calls_the_next_is_not_blocked_by_it() -> None:
    """The others call an urgent one at once; this one only when the first has ended."""
    with group(chains(3), in_flight=4) as ranks:

        def run(engine: Engine) -> None:
            for _ in range(10):
                first, urgent = np.ones(200_000), np.ones(200_000)
                work = engine.allreduce(first)
                if engine.rank == 1:
                    work.wait(WAIT_S)
                    time.sleep(0.01)
                engine.allreduce(urgent, priority=9).wait(WAIT_S)
                work.wait(WAIT_S)
                assert np.all(first == 3.0)
                assert np.all(urgent == 3.0)

        ranks.on_all(run)


def test_works_tell_when_they_were_called_begun_and_over() -> None:
    with group(stars(2), in_flight=1) as ranks:

        def run(engine: Engine) -> None:
            before = time.monotonic()
            works = [engine.allreduce(np.ones(500_000)) for _ in range(3)]
            for work in works:
                work.wait(WAIT_S)
            after = time.monotonic()
            for work in works:
                assert work.begun_s is not None
                assert work.ended_s is not None
                assert before <= work.posted_s <= work.begun_s <= work.ended_s <= after
            assert works[0].ended_s is not None
            assert works[2].begun_s is not None
            assert works[0].posted_s <= works[1].posted_s
            assert works[0].begun_s is not None
            assert works[0].begun_s < works[2].begun_s

        ranks.on_all(run)


def test_what_cannot_be_is_refused_and_disturbs_nothing() -> None:
    with group(stars(2)) as ranks:

        def run(engine: Engine) -> None:
            six, three = np.ones(6), np.ones(3)
            calls: list[Callable[[], Work]] = [
                lambda: engine.reduce_scatter(np.ones(7), three),
                lambda: engine.reduce_scatter(six, np.ones(2)),
                lambda: engine.reduce_scatter(six, three, "product"),
                lambda: engine.reduce_scatter(six, three, counts=[6]),
                lambda: engine.reduce_scatter(six, three, counts=[-1, 7]),
                lambda: engine.reduce_scatter(six, three, "and"),
                lambda: engine.all_gather(three, np.ones(8)),
                lambda: engine.broadcast(six, 2),
                lambda: engine.reduce(six, -1),
                lambda: engine.gather(three, None, engine.rank),
                lambda: engine.gather(three, None, 5),
                lambda: engine.all_to_all(six, six, [1, 2]),
                lambda: engine.all_to_all(six, np.ones(5)),
                lambda: engine.broadcast(np.ones((3, 4)).T, 0),
                lambda: engine.broadcast(six, 0.0),  # type: ignore[arg-type]
                lambda: engine.broadcast(six, 0, priority=1 << 40),
                lambda: engine.reduce_scatter(six, three, counts=[2.5, 3.5]),  # type: ignore[list-item]
                lambda: engine.reduce_scatter(six, three, counts=[1 << 70, 3]),
                # What overlaps would be overwritten before it is sent.
                lambda: engine.all_to_all(six, six),
                lambda: engine.all_gather(six[1:4], six),
                lambda: engine.all_gather(six[3 - 3 * engine.rank :][:3], six),
                lambda: engine.reduce_scatter(six, six[1:4]),
                lambda: engine.gather(six[1:4], six, engine.rank),
            ]
            for wrong in calls:
                with pytest.raises(WrongUseError):
                    wrong()
            engine.allreduce(six).wait(WAIT_S)
            assert np.all(six == 2.0)

        ranks.on_all(run)
