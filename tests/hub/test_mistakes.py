"""What goes wrong at a worker's or an administrator's end, and what it leaves undisturbed."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hub.runs import ADMIN_SECRET, MANIFEST, Service, service
from plink.hub.admin import create_service, delete_service, server_status
from plink.hub.calling import HubError
from plink.hub.hyper import Hyper
from plink.hub.service import ServiceOptions
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
        while server_status(job.addresses[0], ADMIN_SECRET, "job").services[0]["workers"]:
            assert time.monotonic() < until_s
        assert one_iteration(job) == [2, 2]


def test_a_service_ends_on_all_servers_that_have_it() -> None:
    with service(1, servers=2) as job:
        delete_service(job.addresses[:1], ADMIN_SECRET, "job")
        with pytest.raises(HubError, match="there is no service job"):
            delete_service(job.addresses, ADMIN_SECRET, "job")
        assert server_status(job.addresses[1], ADMIN_SECRET).services == ()
        create_service(job.addresses, ADMIN_SECRET, ServiceOptions("job", 1))


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
