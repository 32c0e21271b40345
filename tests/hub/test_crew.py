"""Workers that are lost, waited for, given up, and join while others go on."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from pathlib import Path
from unittest.mock import AsyncMock

import numpy as np
import pytest

from hub.runs import (
    ADMIN_SECRET,
    MANIFEST,
    Outcome,
    Service,
    Threads,
    Twin,
    gradient,
    service,
    train,
)
from hub.vanishing import break_connections, vanish
from plink.hub.admin import checkpoint, restore
from plink.hub.calling import HubError
from plink.hub.hyper import Hyper
from plink.hub.manifest import Key, Manifest
from plink.hub.reference import Floats
from plink.hub.service import ServiceOptions
from plink.hub.serving import tenant
from plink.hub.serving.crew import Crew
from plink.hub.serving.leading import Everywhere
from plink.hub.session.messages import Join

ONE = [Hyper(lr=1.0)] * 2
ITEMS = MANIFEST.items


def twin_of(served: Service, sets: list[list[int]]) -> Floats:
    """What the reference has after iterations of these workers."""
    twin = Twin(MANIFEST, served.options)
    for iteration, workers in enumerate(sets, 1):
        twin.step([gradient(worker, iteration, ITEMS) for worker in workers], ONE)
    return twin.values


@pytest.mark.parametrize("commit", ["stream", "step"])
@pytest.mark.parametrize("servers", [1, 2])
def test_a_worker_whose_connections_break_comes_back_and_no_bit_is_lost(
    commit: str, servers: int
) -> None:
    options = {"on_loss": "wait", "grace_s": 20.0, "commit": commit, "deterministic": True}
    with service(3, servers=servers, ports=2, **options) as served:

        def work(index: int) -> Outcome:
            with served.worker() as worker:
                first = np.random.default_rng(99).standard_normal(ITEMS, np.float32)
                worker.initialise(first)
                for iteration in range(1, 9):
                    worker.gradients[:] = gradient(worker.number, iteration, ITEMS)
                    worker.begin(ONE)
                    if index == 1 and iteration in (3, 6):
                        worker.push(0, iteration // 2)
                        time.sleep(0.05)
                        break_connections(worker)
                        worker.push(iteration // 2, 5)
                    else:
                        worker.push(0, 5)
                    if index == 2 and iteration == 5:
                        break_connections(worker)
                    worker.wait()
                return Outcome(worker.number, worker.values.copy(), [])

        threads = Threads()
        for index in range(3):
            threads.begin(lambda index=index: work(index))
        outcomes = threads.join()
        expected = twin_of(served, [[0, 1, 2]] * 8)
    for outcome in outcomes:
        assert np.array_equal(outcome.values, expected)


@pytest.mark.parametrize("commit", ["stream", "step"])
@pytest.mark.parametrize("servers", [1, 3])
def test_another_process_takes_a_lost_workers_place(commit: str, servers: int) -> None:
    options = {"on_loss": "wait", "grace_s": 20.0, "commit": commit, "deterministic": True}
    with service(2, servers=servers, ports=2, **options) as served:
        threads = Threads()

        def die() -> int:
            with served.worker() as worker:
                worker.initialise(np.random.default_rng(99).standard_normal(ITEMS, np.float32))
                for iteration in range(1, 4):
                    worker.gradients[:] = gradient(worker.number, iteration, ITEMS)
                    worker.begin(ONE)
                    if iteration < 3:
                        worker.push(0, 5)
                        worker.wait()
                # In the middle of the third.
                worker.push(0, 2)
                time.sleep(0.1)
                number = worker.number
                vanish(worker)
                return number

        threads.begin(lambda: train(served.worker(), ONE, 6))
        threads.begin(die)
        threads.threads[1].join()
        died = threads.results[1]
        with served.worker() as worker:
            assert worker.number == died
            assert worker.iteration == 3
            worker.initialise(np.zeros(ITEMS, np.float32))
            while worker.iteration <= 6:
                worker.gradients[:] = gradient(worker.number, worker.iteration, ITEMS)
                worker.push_pull(ONE)
            values = worker.values.copy()
        other = threads.join()[0]
        expected = twin_of(served, [[0, 1]] * 6)
    assert np.array_equal(values, expected)
    assert np.array_equal(other.values, expected)


@pytest.mark.parametrize("servers", [1, 2])
def test_who_does_not_come_back_in_time_is_named(servers: int) -> None:
    with service(2, servers=servers, on_loss="wait", grace_s=0.3) as served:
        threads = Threads()
        # Before both have come, another worker would take the place of a lost one.
        waiting, worker = served.worker(), served.worker()
        threads.begin(lambda: train(waiting, ONE, 10**6))
        worker.initialise(np.zeros(ITEMS, np.float32))
        number = worker.number
        vanish(worker)
        threads.end()
    sentence = str(threads.failures[0])
    assert f"worker {number} (127.0.0.1) is lost" in sentence
    assert sentence.endswith("and it did not come back in 0.3 s")


@pytest.mark.parametrize("pushed", [0, 2, 5])
@pytest.mark.parametrize("servers", [1, 2])
def test_others_go_on_without_a_lost_worker_all_chunks_alike(pushed: int, servers: int) -> None:
    """Whole numbers: a contribution that is lost or counted twice shows."""
    options = {"on_loss": "shrink", "commit": "step", "chunk_bytes": 4096}
    with service(3, servers=servers, ports=2, cores=2, **options) as served:
        threads = Threads()
        reached = threading.Barrier(3)

        def work(index: int) -> Floats | None:
            with served.worker() as worker:
                worker.initialise(np.zeros(ITEMS, np.float32))
                for iteration in range(1, 7):
                    worker.gradients[:] = 1.0
                    worker.begin(ONE)
                    if iteration == 3:
                        if index == 0:
                            worker.push(0, pushed)
                            time.sleep(0.1)
                            vanish(worker)
                            reached.wait()
                            return None
                        worker.push(1, 3)
                        reached.wait()
                        worker.push(0, 1)
                        worker.push(3, 5)
                    else:
                        worker.push(0, 5)
                    step = worker.wait()
                assert step.workers == 2
                return worker.values.copy()

        for index in range(3):
            threads.begin(lambda index=index: work(index))
        _, *values = threads.join()
    for its in values:
        assert np.array_equal(its, np.full(ITEMS, -6.0, np.float32))


@pytest.mark.parametrize("commit", ["stream", "step"])
@pytest.mark.parametrize("servers", [1, 3])
def test_a_worker_joins_while_others_go_on(commit: str, servers: int) -> None:
    with service(2, servers=servers, ports=2, commit=commit, deterministic=True) as served:
        threads = Threads()
        may_end, has_begun = threading.Event(), threading.Event()
        last = 0

        def work() -> tuple[Floats, list[int]]:
            with served.worker() as worker:
                first = np.random.default_rng(99).standard_normal(ITEMS, np.float32)
                worker.initialise(first)
                counts = []
                for iteration in itertools.count(1):
                    worker.gradients[:] = gradient(worker.number, iteration, ITEMS)
                    counts.append(worker.push_pull(ONE).workers)
                    time.sleep(0.01)
                    if iteration == 3:
                        has_begun.set()
                    if last and iteration == last:
                        may_end.wait()
                        return worker.values.copy(), counts
                raise AssertionError

        threads.begin(work)
        threads.begin(work)
        assert has_begun.wait(60.0)
        with served.worker() as worker:
            since = worker.iteration
            assert since > 2
            last = since + 4
            assert worker.number == 2
            worker.initialise(np.zeros(ITEMS, np.float32))
            while worker.iteration <= last:
                worker.gradients[:] = gradient(2, worker.iteration, ITEMS)
                worker.push_pull(ONE)
            values = worker.values.copy()
            may_end.set()
            (first, counts), (second, _) = threads.join()
        assert counts == [2] * (since - 1) + [3] * 5
        expected = twin_of(served, [[0, 1]] * (since - 1) + [[0, 1, 2]] * 5)
    for its in (values, first, second):
        assert np.array_equal(its, expected)


@pytest.mark.parametrize("servers", [1, 2])
def test_who_takes_the_place_of_one_that_was_lost_before_all_were_there_contributes(
    servers: int,
) -> None:
    options = {"on_loss": "shrink", "commit": "step", "chunk_bytes": 4096}
    with service(3, servers=servers, **options) as served:
        threads = Threads()

        def work() -> list[int]:
            with served.worker() as worker:
                worker.initialise(np.zeros(ITEMS, np.float32))
                counts = []
                while worker.iteration <= 8:
                    worker.gradients[:] = 2.0**worker.number
                    counts.append(worker.push_pull(ONE).workers)
                # All chunks were stepped by the same ones.
                assert len(np.unique(worker.values)) == 1
                return counts

        lost = served.worker()
        assert lost.number == 0
        lost.initialise(np.zeros(ITEMS, np.float32))
        threads.begin(work)
        lost.begin(ONE)
        lost.push(0, 3)
        time.sleep(0.1)
        vanish(lost)
        time.sleep(0.1)
        threads.begin(work)
        time.sleep(0.1)
        threads.begin(work)
        counts = threads.join()
    assert [its[-1] for its in counts] == [3, 3, 3]


def test_a_service_fails_if_its_last_worker_ends_an_iteration_in_part() -> None:
    """With connections, that takes a moment between two of them."""
    lanes = AsyncMock(Everywhere)
    lanes.iteration.return_value = 3
    lanes.has_all_of.return_value = True
    lanes.ended.return_value = (3, False)
    failures: list[str] = []
    options = ServiceOptions("job", 1, commit="step", on_loss="shrink")

    async def lose() -> None:
        crew = Crew(options, lanes, failures.append)
        seat = await crew.seat(Join("0" * 64))
        assert await crew.lost(seat.number, seat.incarnation, "lost") is None

    asyncio.run(lose())
    assert failures == ["the last worker was lost when it had ended an iteration in part"]


def test_staleness_is_never_above_what_was_asked_for() -> None:
    staleness = 2
    with service(3, mode="ssp", staleness=staleness, ports=2) as served:
        threads = Threads()
        done = [0, 0, 0]
        spreads = []

        def work(index: int) -> None:
            with served.worker() as worker:
                worker.initialise(np.zeros(ITEMS, np.float32))
                for iteration in range(1, 13):
                    worker.push_pull(ONE)
                    done[index] = iteration
                    spreads.append(iteration - min(done))
                    time.sleep(0.03 if index == 0 else 0.0)

        for index in range(3):
            threads.begin(lambda index=index: work(index))
        threads.join()
    # Who has values of iteration i knows that all have pushed i - staleness, not that they know it.
    assert 0 < max(spreads) <= staleness + 1


@pytest.mark.parametrize("servers", [1, 2])
def test_async_workers_do_not_wait_for_each_other_and_lose_nothing(servers: int) -> None:
    with service(3, servers=servers, mode="async", ports=2, cores=2) as served:
        threads = Threads()

        def work(iterations: int) -> None:
            with served.worker() as worker:
                worker.initialise(np.zeros(ITEMS, np.float32))
                for _ in range(iterations):
                    worker.gradients[:] = 1.0
                    worker.push_pull(ONE)

        for iterations in (5, 9, 30):
            threads.begin(lambda iterations=iterations: work(iterations))
        threads.join()
        with served.worker() as worker:
            worker.initialise(np.zeros(ITEMS, np.float32))
            assert np.array_equal(worker.values, np.full(ITEMS, -44.0, np.float32))


@pytest.mark.parametrize("mode", ["async", "ssp"])
def test_the_last_push_of_a_worker_that_leaves_counts(mode: str) -> None:
    # So much that a worker says that it leaves long before it has sent all.
    manifest = Manifest((Key("a", (6_000_000,)),))
    staleness = 1 if mode == "ssp" else 0
    with service(1, mode=mode, staleness=staleness, manifest=manifest) as served:
        with served.worker() as worker:
            worker.initialise(np.zeros(manifest.items, np.float32))
            worker.gradients[:] = 1.0
            worker.begin(ONE[:1])
            worker.push(0, 1)
        with served.worker() as worker:
            worker.initialise(np.zeros(manifest.items, np.float32))
            assert (worker.values == -1.0).all()


def test_who_leaves_before_its_first_push_is_not_waited_for(tmp_path: Path) -> None:
    with service(1, mode="async", snapshots=tmp_path) as served, served.worker() as worker:
        worker.initialise(np.zeros(ITEMS, np.float32))
        for _ in range(3):
            worker.push_pull(ONE)
        checkpoint(served.addresses, ADMIN_SECRET, "job")
    with service(1, mode="async", snapshots=tmp_path) as served:
        restore(served.addresses, ADMIN_SECRET, "job", "job-3")
        for _ in range(2):
            with served.worker() as worker:
                worker.initialise(np.zeros(ITEMS, np.float32))
                began_s = time.monotonic()
            assert time.monotonic() - began_s < tenant._LONGEST_ARRIVAL_S


def test_nobody_waits_for_one_that_has_left() -> None:
    with service(2, mode="ssp", staleness=1) as served:
        threads = Threads()

        def work(iterations: int) -> int:
            with served.worker() as worker:
                worker.initialise(np.zeros(ITEMS, np.float32))
                for _ in range(iterations):
                    worker.push_pull(ONE)
                return worker.iteration

        for iterations in (2, 12):
            threads.begin(lambda iterations=iterations: work(iterations))
        assert threads.join() == [3, 13]


def test_a_worker_of_a_service_that_failed_says_so_at_once() -> None:
    with service(2) as served:
        worker = served.worker()
        other = served.worker()
        worker.initialise(np.zeros(ITEMS, np.float32)) if worker.number == 0 else None
        other.initialise(np.zeros(ITEMS, np.float32))
        with other:
            number = worker.number
            other.begin(ONE)
            vanish(worker)
            with pytest.raises(HubError, match=f"worker {number} .* is lost"):
                other.wait(60.0)
            with pytest.raises(HubError, match="is lost"):
                other.begin(ONE)
