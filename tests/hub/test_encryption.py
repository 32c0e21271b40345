"""Workers, administrators and servers that talk by TLS, and those that do not fit."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.between import Between
from engine.certificates import job
from hub.runs import ADMIN_SECRET, MANIFEST, Service, Threads, Twin, gradient, run, service
from plink.base.errors import PlinkError, WrongUseError
from plink.base.replacing import replace
from plink.hub import joining
from plink.hub.admin import server_status
from plink.hub.calling import HubError
from plink.hub.hyper import Hyper
from plink.hub.serving import Server, ServerOptions
from plink.hub.worker import Worker, WorkerOptions
from plink.transport.addresses import parse_address
from plink.transport.tls import Tls

HYPERS = [Hyper(lr=0.1, momentum=0.9), Hyper(lr=0.05, momentum=0.8)]
# Beyond all that one worker sends before its first gradients.
IN_GRADIENTS = 200_000


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    return Tls.of_folder(job(tmp_path_factory.mktemp("tls") / "job") + "/host")


@pytest.mark.parametrize(
    "options",
    [
        {"ports": 2, "cores": 2},
        {"servers": 2, "commit": "step", "clip_norm": 0.5},
        {"mode": "ssp", "deterministic": False, "workers": 1},
    ],
    ids=["ports", "servers", "copies"],
)
def test_encrypted_services_come_to_the_same_bits(options: dict[str, Any], tls: Tls) -> None:
    workers = options.pop("workers", 3)
    chosen = {"deterministic": True, "optimizer": "momentum", **options}
    with service(workers, tls=tls, **chosen) as served:
        outcomes = run(served, HYPERS, 4)
        twin = Twin(MANIFEST, served.options)
        for iteration in range(1, 5):
            twin.step([gradient(w, iteration, MANIFEST.items) for w in range(workers)], HYPERS)
    for outcome in outcomes:
        assert np.array_equal(outcome.values, twin.values)


def test_a_worker_joins_several_servers_that_lead_each_other_by_tls(tls: Tls) -> None:
    with service(1, tls=tls, servers=2, on_loss="shrink", commit="step") as served:
        threads = Threads()
        is_alone, is_over = threading.Event(), threading.Event()

        def work() -> set[int]:
            with served.worker() as worker:
                worker.initialise(np.zeros(MANIFEST.items, np.float32))
                counts = set()
                while not is_over.is_set() or 2 not in counts:
                    counts.add(worker.push_pull(HYPERS).workers)
                    is_alone.set()
                return counts

        threads.begin(work)
        assert is_alone.wait(60.0)
        with served.worker() as late:
            late.initialise(np.zeros(MANIFEST.items, np.float32))
            assert late.push_pull(HYPERS).workers == 2
            is_over.set()
        assert threads.join() == [{1, 2}]


@contextlib.contextmanager
def passed_on(
    served: Service, monkeypatch: pytest.MonkeyPatch, flip_at: int | None = None
) -> Iterator[Between]:
    """Somebody between workers and the service's only port."""
    somebody = Between(flip_at)
    somebody.target = parse_address(served.addresses[0], "the server")
    thread = threading.Thread(target=somebody.serve)
    thread.start()
    address = f"127.0.0.1:{somebody.port}"
    served.addresses = [address]
    monkeypatch.setattr(joining, "_resolve_wildcard", lambda *_: address)
    try:
        yield somebody
    finally:
        somebody.close()
        thread.join()


def test_who_reads_the_network_sees_no_gradients(tls: Tls, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for files in (None, tls):
        with service(1, tls=files) as served, passed_on(served, monkeypatch) as somebody:
            run(served, HYPERS, 1)
            seen.append(somebody.seen)
    sent = gradient(0, 1, MANIFEST.items)[1000:1016].tobytes()
    assert [sent in one for one in seen] == [True, False]


def failed(served: Service) -> str:
    """Why, once it has."""
    until_s = time.monotonic() + 20.0
    while time.monotonic() < until_s:
        address = served.servers[0].addresses[0]
        (found,) = server_status(address, ADMIN_SECRET, tls=served.tls).services
        if found.failure is not None:
            return str(found.failure)
        time.sleep(0.01)
    pytest.fail("the service goes on")


def pushed_on(worker: Worker) -> None:
    for _ in range(10):
        worker.push_pull(HYPERS)


def test_changed_bytes_reach_no_value(tls: Tls, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        service(1, tls=tls) as served,
        passed_on(served, monkeypatch, flip_at=IN_GRADIENTS),
        served.worker() as worker,
    ):
        worker.initialise(0.0)
        with pytest.raises(HubError, match="is lost: "):
            pushed_on(worker)
        # Before the worker leaves by itself.
        assert "what it sent was changed on the way" in failed(served)


@pytest.mark.parametrize(
    ("ends", "shown", "said"),
    [
        (("own", None), "speaks TLS, which this end was not told to", "it does not speak TLS"),
        ((None, "own"), "broke off the hand-shake of TLS: does it use TLS, too", "was not told to"),
        (("own", "other"), "that cannot be believed: ", "refused this end's certificate: "),
        (("own", "unsigned"), "its authority did not sign it", "that cannot be believed: "),
    ],
)
def test_who_does_not_fit_is_told_on_both_sides(
    ends: tuple[str | None, str | None], shown: str, said: str, tls: Tls, tmp_path: Path
) -> None:
    other = Tls.of_folder(job(tmp_path / "other") + "/host")
    files = {
        None: None,
        "own": tls,
        "other": other,
        "unsigned": replace(other, authority=tls.authority),
    }
    of_server, of_caller = (files[end] for end in ends)
    sentences: list[str] = []
    options = ServerOptions(["127.0.0.1:0"], ADMIN_SECRET, 1, (), tls=of_server)
    with Server(options, sentences.append) as server:
        address = server.addresses[0]
        with pytest.raises(PlinkError, match=shown):
            server_status(address, ADMIN_SECRET, tls=of_caller)
        with pytest.raises(PlinkError, match=shown):
            Worker([address], "job", b"s" * 32, MANIFEST, WorkerOptions(tls=of_caller))
        until_s = time.monotonic() + 10.0
        while server.doors.dropped < 2 and time.monotonic() < until_s:
            time.sleep(0.01)
        assert server.doors.dropped == 2
    assert said in sentences[0]


def test_a_connection_for_data_in_the_clear_is_refused(
    tls: Tls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has proven a session by TLS cannot leave it out where it counts."""
    lines = joining.line_options
    with service(1, tls=tls) as served:
        monkeypatch.setattr("plink.hub.worker.line_options", lambda size, _: lines(size))
        with served.worker() as worker:
            with pytest.raises(PlinkError, match="is lost"):
                worker.initialise(0.0)
            (found,) = server_status(served.addresses[0], ADMIN_SECRET, tls=tls).services
        assert found.connections == 0


def test_files_that_cannot_be_used_are_named(tls: Tls, tmp_path: Path) -> None:
    junk = tmp_path / "junk.pem"
    junk.write_text("nothing of the kind")
    options = ServerOptions(["127.0.0.1:0"], ADMIN_SECRET, 1, (), tls=replace(tls, key=str(junk)))
    with pytest.raises(WrongUseError, match=r"junk\.pem are no certificate and its key"):
        Server(options).start()
    options = replace(options, tls=replace(tls, authority=str(tmp_path / "none.pem")))
    with pytest.raises(WrongUseError, match=r"none\.pem: No such file"):
        Server(options).start()
