"""A service that is deleted: its workers are told, whatever they do, and its name is free."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from hub.runs import ADMIN_SECRET, MANIFEST, Service, Threads, service
from plink.hub import admin
from plink.hub.admin import create_service, delete_service, server_status
from plink.hub.calling import HubError
from plink.hub.hyper import Hyper
from plink.hub.placement import Port, Sites
from plink.hub.service import ServiceOptions
from plink.hub.serving import registry
from plink.hub.session.messages import Create, Delete
from plink.hub.worker import Worker
from plink.transport.tls import Tls
from support.running import wait_for

HYPERS = [Hyper(lr=0.1)] * 2


def begun(served: Service, count: int = 2) -> list[Worker]:
    workers = [served.worker() for _ in range(count)]
    threads = Threads()
    for worker in workers:
        threads.begin(lambda worker=worker: worker.initialise(np.zeros(MANIFEST.items)))
    threads.join()
    return workers


def told(worker: Worker) -> str:
    """Go on until that ends, and what a person reads then."""
    try:
        while True:
            worker.push_pull(HYPERS)
    except HubError as error:
        return str(error)


@pytest.mark.parametrize(
    "options", [{}, {"on_loss": "wait", "grace_s": 600.0}, {"on_loss": "shrink", "commit": "step"}]
)
@pytest.mark.parametrize("busy", [0, 1, 2], ids=["idle", "waiting", "busy"])
def test_workers_are_told_that_their_service_was_deleted(busy: int, options: Any) -> None:
    with service(2, **options) as served:
        workers = begun(served)
        threads = Threads()
        for worker in workers[:busy]:
            threads.begin(lambda worker=worker: told(worker))
        if busy:
            wait_for(lambda: server_status(served.addresses[0], ADMIN_SECRET).services[0].iteration)
        delete_service(served.addresses, ADMIN_SECRET, "job")
        for worker in workers[busy:]:
            threads.begin(lambda worker=worker: told(worker))
        for sentence in threads.join():
            assert sentence.startswith("service job was deleted")
            assert (", in iteration " in sentence) == (busy > 0)
        for worker in workers:
            worker.close()


@pytest.mark.parametrize("on_loss", ["fail", "shrink"])
def test_a_worker_that_leaves_after_the_service_has_ended_is_not_kept(
    on_loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plink.hub.serving.registry._FAREWELL_S", 0.1)
    with service(2, on_loss=on_loss, commit="step") as served:
        workers = begun(served)
        delete_service(served.addresses, ADMIN_SECRET, "job")
        for worker in workers:
            told(worker)
        time.sleep(0.5)
        began = time.monotonic()
        for worker in workers:
            worker.close()
        assert time.monotonic() - began < 20.0


def test_what_was_created_is_deleted_where_a_later_server_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, str]] = []

    def ask(server: str, _secret: bytes, _tls: Tls | None, request: Create | Delete) -> None:
        asked.append((type(request).__name__, server))
        if asked[-1] in [("Create", "c"), ("Delete", "a")]:
            raise HubError(f"{server} refuses")

    monkeypatch.setattr(admin, "_ask", ask)
    options, sites = ServiceOptions("job", 1), Sites(((Port(),),) * 3)
    creates = [
        (server, Create(options, "00", sites, (), number)) for number, server in enumerate("abc")
    ]
    with pytest.raises(HubError, match="c refuses"):
        admin._make(creates, ADMIN_SECRET, None)
    assert asked[3:] == [("Delete", "a"), ("Delete", "b")]


def test_the_name_is_free_at_once_and_the_old_workers_stay_out() -> None:
    with service(2) as served:
        workers = begun(served)
        delete_service(served.addresses, ADMIN_SECRET, "job")
        served.secret = create_service(served.addresses, ADMIN_SECRET, served.options)
        others = begun(served)
        threads = Threads()
        for worker in others:
            threads.begin(lambda worker=worker: worker.push_pull(HYPERS))
        assert [step.workers for step in threads.join()] == [2, 2]
        assert told(workers[0]) == "service job was deleted"
        for worker in [*workers, *others]:
            worker.close()
        (found,) = server_status(served.addresses[0], ADMIN_SECRET).services
        assert found.failure is None


def test_a_server_that_ends_does_not_wait_for_those_who_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The time that a service waits for the farewell of its workers.
    monkeypatch.setattr(registry, "_FAREWELL_S", 1e6)
    with service(1) as served:
        (worker,) = begun(served, 1)
        delete_service(served.addresses, ADMIN_SECRET, "job")
        served.servers[0].close()
        worker.abandon()
