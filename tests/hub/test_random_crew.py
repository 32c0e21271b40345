"""Workers die and join at random; whole numbers show what is lost or counted twice."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from hub.processes import running, serving
from hub.runs import ADMIN_SECRET, MANIFEST, Threads, service
from hub.vanishing import break_connections, vanish
from plink.hub.admin import create_service, server_status
from plink.hub.calling import HubError
from plink.hub.hyper import Hyper
from plink.hub.reference import Floats
from plink.hub.service import ServiceOptions
from plink.hub.worker import Worker
from support.running import wait_for
from support.seeds import with_seeds

ITEMS = MANIFEST.items
# Sums of these say which are in them; divided by their number they stay exact.
SCALE = 5040.0
# Of more the mean would be rounded, and with larger numbers the sum.
MOST_AT_ONCE = 8
ONE = [Hyper(lr=1.0)] * 2


class Record:
    """What every iteration was stepped by, as each worker saw it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.steps: dict[int, tuple[float, int]] = {}

    def add(self, iteration: int, values: Floats, workers: int) -> None:
        """All chunks of an iteration have the same set, and all workers see the same."""
        steps = np.unique(values)
        assert len(steps) == 1, (iteration, steps)
        with self._lock:
            assert self.steps.setdefault(iteration, (float(steps[0]), workers))[0] == steps[0]


def is_mean_of_a_set(step: float, workers: int) -> bool:
    """Whether so many different workers' gradients have that mean."""
    total = round(step * workers / SCALE)
    mean = np.float32(total * SCALE) / np.float32(workers)
    return bool(mean == np.float32(step)) and bin(total).count("1") == workers


@pytest.mark.parametrize(("servers", "stays"), [(1, False), (2, True), (3, False)])
@with_seeds(1, 20)
def test_no_contribution_is_lost_or_doubled_while_workers_die_and_join(
    servers: int, stays: bool, seed: int
) -> None:
    """With one that stays, so that there is always something to join, or at times with nobody."""
    generator = random.Random(seed)
    record = Record()
    is_over = threading.Event()
    # With small chunks each of all lanes has some.
    options = {"on_loss": "shrink", "commit": "step", "optimizer": "none", "chunk_bytes": 4096}
    with service(4, servers=servers, ports=2, cores=2, **options) as served:
        threads = Threads()
        lives: list[str] = []

        def live(patience: int, end: str, pushed: int) -> None:
            with contextlib.suppress(HubError), served.worker() as worker:
                run(worker, patience, end, pushed)

        def run(worker: Worker, patience: int, end: str, pushed: int) -> None:
            worker.initialise(np.zeros(ITEMS, np.float32))
            while not is_over.is_set():
                worker.gradients[:] = SCALE * 2.0**worker.number
                iteration = worker.begin(ONE)
                patience -= 1
                if patience == 0 and end == "die":
                    worker.push(0, pushed)
                    time.sleep(0.002)
                    vanish(worker)
                    lives.append(end)
                    return
                worker.push(0, 5)
                step = worker.wait(60.0)
                record.add(iteration, worker.values, step.workers)
                if patience == 0:
                    lives.append("leave")
                    return

        if stays:
            threads.begin(lambda: live(10**9, "stay", 5))
        for _ in range(3):
            threads.begin(lambda: live(10, "die", 3))
        for _ in range(20):
            time.sleep(generator.uniform(0.0, 0.03))
            while threads.alive > MOST_AT_ONCE:
                time.sleep(0.01)
            patience = generator.randrange(1, 12)
            end = generator.choice(["die", "die", "leave"])
            # Where the only one left has pushed all, lanes may be told in part to step: then the
            # service fails.
            pushed = generator.randrange(6 if stays else 5)
            threads.begin(lambda life=(patience, end, pushed): live(*life))
        done = len(record.steps)
        for _ in range(4):
            threads.begin(lambda: live(10**9, "stay", 5))
        wait_for(lambda: len(record.steps) >= done + 20)
        is_over.set()
        threads.join()
        for address in served.addresses:
            (found,) = server_status(address, ADMIN_SECRET).services
            assert found.failure is None
    assert lives.count("die") > 3
    assert len(record.steps) > 20
    for iteration, (step, workers) in record.steps.items():
        assert is_mean_of_a_set(step, workers), (iteration, step, workers)


@with_seeds(1)
def test_killed_processes_of_workers_leave_all_servers_with_the_same_sets(
    seed: int, tmp_path: Path
) -> None:
    generator = random.Random(seed)
    options = ServiceOptions("job", 3, "none", commit="step", on_loss="shrink", chunk_bytes=4096)
    with contextlib.ExitStack() as stack:
        them = [stack.enter_context(serving(cores=2)) for _ in range(2)]
        addresses = [its[0] for _, its in them]
        secret = create_service(addresses, ADMIN_SECRET, options)
        task = {"servers": addresses, "namespace": "job", "secret": secret.decode(), "seed": 5}
        task |= {"keys": [[30_000, 0], [9, 0]], "hypers": [{"lr": 1.0}], "scale": SCALE}
        task |= {"iterations": 10**6, "until_there": str(tmp_path / "end")}
        workers = list(stack.enter_context(running([task] * 3)))
        for worker in workers:
            assert worker.hear()["event"] == "running"
        for _ in range(2):
            time.sleep(generator.uniform(0.0, 0.05))
            victim = workers.pop(generator.randrange(len(workers)))
            victim.process.send_signal(signal.SIGKILL)
            victim.end()
            workers += stack.enter_context(running([task]))
            assert workers[-1].hear()["event"] == "running"

        def iteration() -> int:
            return server_status(addresses[0], ADMIN_SECRET).services[0].iteration

        # Whoever joins contributes two iterations later.
        joined = iteration()
        wait_for(lambda: iteration() > joined + 4)
        (tmp_path / "end").touch()
        ends = [worker.hear() for worker in workers]
    assert {end["event"] for end in ends} == {"done"}
    steps: dict[str, list[float]] = {}
    for end in ends:
        for iteration, step in end["seen"].items():
            assert steps.setdefault(iteration, step) == step
    for least, most, count in steps.values():
        assert least == most
        assert is_mean_of_a_set(least, int(count))
    assert {count for *_, count in steps.values()} >= {2, 3}


@with_seeds(1, 20)
def test_connections_that_break_at_random_lose_nothing(seed: int) -> None:
    generator = random.Random(seed)
    with service(3, servers=2, ports=2, on_loss="wait", grace_s=30.0) as served:
        threads = Threads()

        def work(breaks: set[int]) -> Floats:
            with served.worker() as worker:
                worker.initialise(np.zeros(ITEMS, np.float32))
                for iteration in range(1, 41):
                    worker.gradients[:] = 2.0**worker.number
                    worker.begin(ONE)
                    half = iteration % 5
                    worker.push(0, half)
                    if iteration in breaks:
                        break_connections(worker)
                    worker.push(half, 5)
                    worker.wait(60.0)
                return worker.values.copy()

        for _ in range(3):
            breaks = set(generator.sample(range(1, 41), 6))
            threads.begin(lambda breaks=breaks: work(breaks))
        for values in threads.join():
            assert np.allclose(values, -40.0 * 7.0 / 3.0, rtol=1e-5)
            assert len(np.unique(values)) == 1
