"""Snapshots while training goes on, and services that go on from them elsewhere."""

from __future__ import annotations

import queue
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from hub.runs import ADMIN_SECRET, MANIFEST, Threads, Twin, gradient, run, service
from hub.test_serving import HYPERS
from plink.hub.admin import checkpoint, restore
from plink.hub.calling import HubError
from plink.hub.reference import Floats
from plink.hub.session.messages import Saved

ITEMS = MANIFEST.items


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adamw"])
@pytest.mark.parametrize("commit", ["stream", "step"])
def test_a_service_goes_on_from_a_snapshot_on_other_servers_bit_for_bit(
    optimizer: str, commit: str, tmp_path: Path
) -> None:
    hypers = HYPERS[optimizer]
    options = {"optimizer": optimizer, "commit": commit, "deterministic": True}
    with service(2, servers=2, ports=2, snapshots=tmp_path, **options) as served:
        run(served, hypers, 3)
        saved = checkpoint(served.addresses, ADMIN_SECRET, "job")
        assert {its.iteration for its in saved} == {3}
        # What comes after it is lost.
        run(served, hypers, 1)
    with service(2, ports=3, cores=2, snapshots=tmp_path, **options) as served:
        restore(served.addresses, ADMIN_SECRET, "job", "job-3")
        outcomes = run(served, hypers, 3)
        twin = Twin(MANIFEST, served.options)
        for iteration in range(1, 7):
            twin.step([gradient(w, iteration, ITEMS) for w in range(2)], hypers)
    for outcome in outcomes:
        assert np.array_equal(outcome.values, twin.values)


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    folder.mkdir()
    with service(1, snapshots=folder) as served:
        folder.rmdir()
        with pytest.raises(HubError, match=str(folder)):
            restore(served.addresses, ADMIN_SECRET, "job", "job-3")


@pytest.mark.parametrize("servers", [1, 2])
def test_a_snapshot_is_of_the_end_of_an_iteration_though_workers_go_on(
    servers: int, tmp_path: Path
) -> None:
    hypers = HYPERS["momentum"]
    options = {"optimizer": "momentum", "deterministic": True}
    is_under_way, is_saved = threading.Event(), threading.Event()
    last = 150
    with service(2, servers=servers, ports=2, snapshots=tmp_path, **options) as served:

        def work() -> dict[int, Floats]:
            with served.worker() as worker:
                worker.initialise(np.ones(ITEMS, np.float32))
                seen: dict[int, Floats] = {}
                while worker.iteration <= last:
                    its = worker.iteration
                    worker.gradients[:] = gradient(worker.number, its, ITEMS)
                    worker.push_pull(hypers)
                    seen[its] = worker.values.copy()
                    if its == 5:
                        is_under_way.set()
                    # Workers must not be done before the snapshot is, on a busy machine either.
                    if its >= 5:
                        is_saved.wait(0.1)
                return seen

        threads = Threads()
        threads.begin(work)
        threads.begin(work)
        is_under_way.wait()
        saved = checkpoint(served.addresses, ADMIN_SECRET, "job")
        is_saved.set()
        iteration = saved[0].iteration
        assert {its.iteration for its in saved} == {iteration}
        assert 5 <= iteration < last
        seen = threads.join()[0]
    with service(2, snapshots=tmp_path, **options) as served:
        restore(served.addresses, ADMIN_SECRET, "job", f"job-{iteration}")
        with served.worker() as worker:
            worker.initialise(np.zeros(ITEMS, np.float32))
            assert worker.iteration == iteration + 1
            assert np.array_equal(worker.values, seen[iteration])


def test_a_snapshot_of_an_iteration_that_is_passed_over_has_the_values_before_it(
    tmp_path: Path,
) -> None:
    """The only worker leaves while another one is to begin two iterations later."""
    options = {"on_loss": "shrink", "commit": "step"}
    with service(1, ports=2, cores=2, snapshots=tmp_path, **options) as served:
        leaving = served.worker()
        leaving.initialise(np.zeros(ITEMS, np.float32))
        leaving.gradients[:] = 1.0
        leaving.push_pull(HYPERS["sgd"])
        leaving.begin(HYPERS["sgd"])
        leaving.push(0, 2)
        # Who joins before any of it has arrived begins an iteration earlier.
        time.sleep(2.0)
        with served.worker() as joining:
            assert joining.iteration == 4
            # Of two, one is refused, which shows that the other one is waiting.
            asked: queue.Queue[list[Saved] | HubError] = queue.Queue()

            def ask() -> None:
                try:
                    asked.put(checkpoint(served.addresses, ADMIN_SECRET, "job"))
                except HubError as error:
                    asked.put(error)

            threads = Threads()
            threads.begin(ask)
            threads.begin(ask)
            assert isinstance(asked.get(timeout=100), HubError)
            leaving.push(2, 5)
            leaving.wait()
            expected = leaving.values.copy()
            leaving.close()
            saved = asked.get(timeout=100)
            assert isinstance(saved, list)
            assert {part.iteration for part in saved} == {3}
            joining.initialise(np.zeros(ITEMS, np.float32))
            assert np.array_equal(joining.values, expected)
        threads.join()
    with service(1, snapshots=tmp_path) as served:
        restore(served.addresses, ADMIN_SECRET, "job", "job-3")
        with served.worker() as worker:
            worker.initialise(np.zeros(ITEMS, np.float32))
            assert worker.iteration == 4
            assert np.array_equal(worker.values, expected)


def test_a_snapshot_that_is_not_there_or_of_other_servers_alone_is_refused(tmp_path: Path) -> None:
    with service(1, servers=2, snapshots=tmp_path) as served:
        run(served, HYPERS["sgd"], 1)
        checkpoint(served.addresses, ADMIN_SECRET, "job")
    (tmp_path / "job-1.1.snapshot").unlink()
    with service(1, snapshots=tmp_path) as served:
        for name in ("job-1", "other", "job-1.0.snapshot"):
            with pytest.raises(HubError, match=r"there is no snapshot other|1 of 2 parts"):
                restore(served.addresses, ADMIN_SECRET, "job", name)
        run(served, HYPERS["sgd"], 1)


def test_a_server_without_a_folder_says_so() -> None:
    with service(1) as served, pytest.raises(HubError, match="keeps no snapshots"):
        checkpoint(served.addresses, ADMIN_SECRET, "job")
