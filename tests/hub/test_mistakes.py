"""What goes wrong at a worker's or an administrator's end, and what it leaves undisturbed."""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from hub.runs import ADMIN_SECRET, MANIFEST, Service, service
from plink.base.errors import WrongUseError
from plink.hub.admin import (
    checkpoint,
    create_service,
    create_service_of_racks,
    delete_service,
    server_status,
)
from plink.hub.calling import Control, HubError
from plink.hub.hyper import Hyper
from plink.hub.placement import Sites
from plink.hub.service import ServiceOptions
from plink.hub.serving import Server, ServerOptions, followers
from plink.hub.session.handshake import NO_NAMESPACE
from plink.hub.session.messages import Create
from plink.hub.session.roles import ADMIN, namespace_secret
from plink.hub.worker import Worker
from support.plink_command import plink_here

RATES = [Hyper(lr=0.1)] * 2


def one_iteration(job: Service) -> list[int]:
    """Both workers come, make one, and leave; its number by worker."""

    def work(_: int) -> int:
        with job.worker() as worker:
            worker.initialise([1.0] * MANIFEST.items)
            done: int = worker.push_pull(RATES).iteration
            all_done.wait(20.0)
            return done

    all_done = threading.Barrier(2)
    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(work, range(2)))


def test_a_worker_that_names_servers_in_another_order_or_some_of_them_disturbs_nobody() -> None:
    with service(2, servers=2) as job:
        assert one_iteration(job) == [1, 1]
        with pytest.raises(HubError, match="this is server 2 of service job, and the first") as no:
            Worker(job.addresses[::-1], "job", job.secret, MANIFEST)
        assert "in the order" in (no.value.hint or "")
        with pytest.raises(HubError, match="service job has 2 servers, not 1"):
            Worker(job.addresses[:1], "job", job.secret, MANIFEST)
        until_s = time.monotonic() + 20.0
        while server_status(job.addresses[0], ADMIN_SECRET, "job").services[0].workers:
            assert time.monotonic() < until_s
        assert one_iteration(job) == [2, 2]


def test_a_service_ends_on_all_servers_that_have_it() -> None:
    with service(1, servers=2) as job:
        delete_service(job.addresses[:1], ADMIN_SECRET, "job")
        with pytest.raises(HubError, match="there is no service job"):
            delete_service(job.addresses, ADMIN_SECRET, "job")
        assert server_status(job.addresses[1], ADMIN_SECRET).services == ()
        create_service(job.addresses, ADMIN_SECRET, ServiceOptions("job", 1))


def test_requests_to_no_servers_are_refused() -> None:
    options = ServiceOptions("job", 1)
    for ask in (
        lambda: create_service([], ADMIN_SECRET, options),
        lambda: create_service_of_racks([], ADMIN_SECRET, options),
        lambda: create_service_of_racks(["a:1", "b:1"], ADMIN_SECRET, options, workers=[1]),
        lambda: checkpoint([], ADMIN_SECRET, "job"),
    ):
        with pytest.raises(WrongUseError):
            ask()


@pytest.mark.parametrize("gone", [0, 1])
def test_a_server_that_is_lost_ends_the_service_at_the_others(gone: int) -> None:
    with service(1, servers=2) as job, job.worker() as worker:
        worker.initialise([1.0] * MANIFEST.items)
        worker.push_pull(RATES)
        job.servers[gone].close()

        def go_on() -> None:
            while True:
                worker.push_pull(RATES)

        with pytest.raises(HubError, match="is lost"):
            go_on()
        until_s = time.monotonic() + 20.0
        while True:
            (found,) = server_status(job.addresses[1 - gone], ADMIN_SECRET).services
            if found.failure:
                break
            assert time.monotonic() < until_s
        assert "is lost: " in found.failure
        assert gone == 0 or job.addresses[1] in found.failure


def test_a_service_whose_first_server_cannot_call_another_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Server(ServerOptions(["127.0.0.1:0"], ADMIN_SECRET, 1, ())) as server:
        (address,) = server.addresses
        options = ServiceOptions("job", 1)
        site = server_status(address, ADMIN_SECRET).site.servers[0]
        # The other one has never been told of the service, and then it has.
        with Server(ServerOptions(["127.0.0.1:0"], ADMIN_SECRET, 1, ())) as other:
            both = (address, *other.addresses)
            create = Create(
                options, (b"s" * 16).hex(), Sites((site, site)), tuple((its,) for its in both), 0,
                servers=both,
            )  # fmt: skip
            admin = Control(address, ADMIN, NO_NAMESPACE, ADMIN_SECRET, 20.0)
            admin.ask(create)
            secret = namespace_secret(ADMIN_SECRET, "job", b"s" * 16)
            with monkeypatch.context() as hasty:
                hasty.setattr(followers, "_PATIENCE_S", 0.5)
                with pytest.raises(HubError, match="cannot lead another: there is no service job"):
                    Worker(both, "job", secret, MANIFEST)
            late = Control(both[1], ADMIN, NO_NAMESPACE, ADMIN_SECRET, 20.0)
            telling = threading.Timer(0.5, lambda: late.ask(replace(create, server=1)))
            telling.start()
            with Worker(both, "job", secret, MANIFEST) as worker:
                worker.initialise([1.0] * MANIFEST.items)
                worker.push_pull(RATES)
            telling.join()
            admin.close()
            late.close()


def test_servers_on_all_of_a_hosts_addresses_are_called_as_their_maker_names_them() -> None:
    with contextlib.ExitStack() as stack:
        its = ServerOptions(["0.0.0.0:0"], ADMIN_SECRET, 1, ())
        servers = [stack.enter_context(Server(its)) for _ in range(2)]
        named = [server.addresses[0].replace("0.0.0.0", "127.0.0.1") for server in servers]
        secret = create_service(named, ADMIN_SECRET, ServiceOptions("job", 1))
        with Worker(named, "job", secret, MANIFEST) as worker:
            worker.initialise([1.0] * MANIFEST.items)
            assert worker.push_pull(RATES).workers == 1


def test_a_secret_that_is_there_is_seen_before_a_service_is_made(tmp_path: Path) -> None:
    own, workers = tmp_path / "hub.secret", tmp_path / "job.secret"
    own.write_bytes(ADMIN_SECRET)
    own.chmod(0o600)
    workers.touch()
    with service(1, servers=2) as job:
        # As workers name them, and so as plink hub serve prints them.
        both = ",".join(job.addresses)
        line = ["hub", "create", both, "--secret-file", str(own), "--worker-secret-file"]
        refused = plink_here(*line, str(workers), "--workers", "1", "--name", "new")
        assert refused.code == 2
        assert "hint: every service has a new secret" in refused.stderr
        workers.unlink()
        made = plink_here(*line, str(workers), "--workers", "1", "--name", "new")
        assert made.code == 0
        assert len(server_status(job.addresses[1], ADMIN_SECRET).services) == 2
