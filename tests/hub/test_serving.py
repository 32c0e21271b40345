"""Whole services against the reference, bit for bit, and who is told what when it goes wrong."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
import pytest

from hub.runs import (
    ADMIN_SECRET,
    MANIFEST,
    Threads,
    Twin,
    first_values,
    gradient,
    run,
    service,
    train,
)
from hub.vanishing import vanish
from plink.base.errors import PlinkError
from plink.hub.admin import server_status
from plink.hub.calling import HubError
from plink.hub.hyper import OPTIMIZERS, Hyper
from plink.hub.manifest import Key, Manifest
from plink.hub.reference import Floats
from plink.hub.service import Quotas
from plink.hub.worker import Worker

ITERATIONS = 5

HYPERS = {
    "none": [Hyper(), Hyper()],
    "sgd": [Hyper(lr=0.1, weight_decay=0.01), Hyper(lr=0.2, maximize=True)],
    "momentum": [
        Hyper(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.02),
        Hyper(lr=0.05, momentum=0.8, dampening=0.3),
    ],
    "adam": [Hyper(lr=1e-3, weight_decay=0.1), Hyper(lr=2e-3, beta1=0.8)],
    "adamw": [Hyper(lr=1e-3, weight_decay=0.1), Hyper(lr=2e-3, beta2=0.99)],
}


def check(options: dict[str, Any], *, workers: int = 3, iterations: int = ITERATIONS) -> None:
    """All workers end with the reference's values, exactly."""
    with service(workers, **{"deterministic": True, "optimizer": "momentum", **options}) as served:
        hypers = HYPERS[served.options.optimizer]
        outcomes = run(served, hypers, iterations)
        twin = Twin(MANIFEST, served.options)
        for iteration in range(1, iterations + 1):
            twin.step([gradient(w, iteration, MANIFEST.items) for w in range(workers)], hypers)
            norm = outcomes[0].steps[iteration - 1].norm
            assert norm is None or norm == twin.norm
    assert [outcome.number for outcome in outcomes] == list(range(workers))
    for outcome in outcomes:
        assert np.array_equal(outcome.values, twin.values)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("commit", ["stream", "step"])
def test_every_optimiser_does_what_the_reference_does(optimizer: str, commit: str) -> None:
    check({"optimizer": optimizer, "commit": commit})


@pytest.mark.parametrize(
    ("servers", "ports", "cores"), [(1, 1, 2), (1, 4, 2), (1, 2, 4), (2, 2, 1), (3, 1, 1)]
)
def test_where_chunks_live_changes_no_bit(servers: int, ports: int, cores: int) -> None:
    check({"servers": servers, "ports": ports, "cores": cores, "optimizer": "adam"})


@pytest.mark.parametrize("chunk_bytes", [1024, 4096, 65536, 1 << 20])
def test_how_large_chunks_are_changes_no_bit(chunk_bytes: int) -> None:
    check({"chunk_bytes": chunk_bytes, "ports": 2})


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_any_number_of_workers(workers: int) -> None:
    check({"ports": 2}, workers=workers)


def test_a_whole_key_at_a_time_changes_no_bit() -> None:
    check({"granularity": "key", "ports": 3})


def test_clipping_over_cores_and_servers_does_what_the_reference_does() -> None:
    check({"commit": "step", "clip_norm": 0.5, "servers": 2, "ports": 2, "cores": 2})


def test_a_step_whose_gradients_are_not_finite_changes_nothing() -> None:
    options = {"commit": "step", "skip_nonfinite": True, "deterministic": True}
    with service(2, servers=2, ports=2, **options) as served:

        def work() -> tuple[list[bool], Floats, Floats]:
            with served.worker() as worker:
                worker.initialise(np.ones(MANIFEST.items, np.float32))
                skipped = []
                for iteration in range(3):
                    worker.gradients[:] = 1.0
                    if iteration == 1 and worker.number == 1:
                        worker.gradients[12_345] = np.inf
                    before = worker.values.copy()
                    skipped.append(worker.push_pull([Hyper(lr=0.1)] * 2).skipped)
                    if iteration == 1:
                        kept = (before, worker.values.copy())
                return skipped, *kept

        threads = Threads()
        for _ in range(2):
            threads.begin(work)
        for skipped, before, after in threads.join():
            assert skipped == [False, True, False]
            assert np.array_equal(before, after)


@pytest.mark.parametrize("wire", ["bfloat16", "float16", "int8"])
def test_gradients_in_fewer_bits_are_close_and_the_same_for_all(wire: str) -> None:
    with service(2, ports=2, wire=wire, deterministic=True) as served:
        hypers = [Hyper(lr=0.1)] * 2
        outcomes = run(served, hypers, 3)
        twin = Twin(MANIFEST, served.options)
        for iteration in range(1, 4):
            twin.step([gradient(w, iteration, MANIFEST.items) for w in range(2)], hypers)
    assert np.array_equal(outcomes[0].values, outcomes[1].values)
    largest = np.abs(outcomes[0].values - twin.values).max()
    assert 0.0 < largest < 0.02


def test_keys_can_be_pushed_in_any_order_and_from_any_thread() -> None:
    with service(1, ports=2, chunk_bytes=1024) as served, served.worker() as worker:
        worker.initialise(np.zeros(MANIFEST.items, np.float32))
        for order in itertools.islice(itertools.permutations(range(5)), 0, 120, 17):
            worker.gradients[:] = 1.0
            worker.begin([Hyper(lr=1.0)] * 2)
            threads = Threads()
            for key in order:
                threads.begin(lambda key=key: worker.push(key, key + 1))
            threads.join()
            worker.wait(20.0)
        assert np.array_equal(worker.values, np.full(MANIFEST.items, -8.0, np.float32))


def test_a_worker_that_dies_is_named_to_all_others() -> None:
    with service(3, servers=2, ports=2) as served:
        threads = Threads()
        for index in range(3):

            def work(index: int = index) -> None:
                with served.worker() as worker:
                    worker.initialise(np.zeros(MANIFEST.items, np.float32))
                    for iteration in itertools.count():
                        if index == 0 and iteration == 2:
                            vanish(worker)
                            raise InterruptedError(worker.number)
                        worker.push_pull([Hyper(lr=0.1)] * 2)

            threads.begin(work)
        threads.end()
        died = threads.failures.pop(0)
        number = died.args[0]
        for error in threads.failures.values():
            assert isinstance(error, HubError)
            assert f"worker {number} (127.0.0.1) is lost" in str(error)
        with pytest.raises(HubError, match="has failed: worker"):
            served.worker()


def test_workers_must_agree_on_hyperparameters() -> None:
    with service(2) as served:
        threads = Threads()
        for lr in (0.1, 0.2):
            threads.begin(lambda lr=lr: train(served.worker(), [Hyper(lr=lr)] * 2, 1))
        threads.end()
    assert len(threads.failures) == 2
    for error in threads.failures.values():
        assert "hyperparameters in iteration 1 differ from those of worker" in str(error)
        assert "lr of group 0 is 0." in str(error)


def test_a_worker_with_other_keys_is_refused() -> None:
    with service(2) as served:
        worker = served.worker()
        served.manifest = Manifest((Key("a", (7,)),))
        with pytest.raises(HubError, match="has other keys than this worker"):
            served.worker()
        worker.close()


def test_a_worker_too_many_is_refused() -> None:
    with (
        service(1, quotas=Quotas(workers=1)) as served,
        served.worker(),
        pytest.raises(HubError, match="would have 2 workers, and its quota is 1 worker"),
    ):
        served.worker()


def test_connections_beyond_the_quota_are_refused_before_anything_is_allocated() -> None:
    """Four cores have chunks, so that each worker needs four."""
    with service(2, ports=2, cores=4, quotas=Quotas(connections=7)) as served:
        with pytest.raises(HubError, match=r"needs 8 connections .* for 2 workers, .* 7 conn"):
            served.worker()
        (found,) = server_status(served.addresses[0], ADMIN_SECRET).services
        assert found.connections == found.workers == 0
    with (
        service(1, ports=2, cores=4, quotas=Quotas(connections=7)) as served,
        served.worker() as worker,
    ):
        worker.initialise(0.0)
        with pytest.raises(HubError, match=r"needs 8 connections .* for 2 workers, .* 7 conn"):
            served.worker()


def test_a_wrong_secret_or_name_is_refused_alike() -> None:
    with service(1) as served:
        for name, secret in (("job", b"x" * 32), ("other", served.secret)):
            with pytest.raises(PlinkError, match=f"no namespace {name} there, or it has another"):
                Worker(served.addresses, name, secret, MANIFEST)


@pytest.mark.parametrize("servers", [1, 2])
def test_what_a_worker_pushed_before_it_left_counts(servers: int) -> None:
    # So much that a worker says that it leaves long before it has sent all.
    manifest = Manifest((Key("a", (3_000_000,)), Key("b", (3_000_000,), 1)), 2)
    with service(2, servers=servers, manifest=manifest, optimizer="sgd") as served:
        hypers = HYPERS["sgd"]
        begun = threading.Event()

        def stay() -> Floats:
            with served.worker() as worker:
                begin(worker)
                assert begun.wait(60)
                worker.push_pull(hypers)
                return worker.values.copy()

        def leave() -> None:
            with served.worker() as worker:
                begin(worker)
                worker.begin(hypers)
                worker.push(0, 2)
                begun.set()

        def begin(worker: Worker) -> None:
            worker.initialise(first_values(manifest.items))
            worker.gradients[:] = gradient(worker.number, 1, manifest.items)

        threads = Threads()
        threads.begin(stay)
        threads.begin(leave)
        values, _ = threads.join()
        twin = Twin(manifest, served.options)
        twin.step([gradient(0, 1, manifest.items), gradient(1, 1, manifest.items)], hypers)
        assert np.allclose(values, twin.values, rtol=1e-5, atol=1e-6)


def test_workers_that_come_after_all_have_left_go_on_with_its_values() -> None:
    with service(2, deterministic=True, optimizer="momentum") as served:
        hypers = HYPERS["momentum"]
        run(served, hypers, 2)
        outcomes = run(served, hypers, 2)
        twin = Twin(MANIFEST, served.options)
        for iteration in range(1, 5):
            twin.step([gradient(w, iteration, MANIFEST.items) for w in range(2)], hypers)
    assert np.array_equal(outcomes[0].values, twin.values)
