"""Servers and workers as processes: killed, and on hosts with interfaces of their own rates."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from hub.processes import ADMIN_SECRET, Process, running, serving
from hub.runs import Twin
from labkit.ported import PortedRack, ported_racks
from plink.hub.admin import checkpoint, create_service, restore, server_status
from plink.hub.hyper import Hyper
from plink.hub.manifest import Key, Manifest
from plink.hub.service import ServiceOptions
from support.require import require_root
from support.running import wait_for

KEYS = [[70_000, 0], [9, 0], [3_001, 0]]
HYPER = {"lr": 0.1, "momentum": 0.9, "nesterov": True}
OPTIONS: dict[str, Any] = {"optimizer": "momentum", "deterministic": True}


def task(addresses: list[str], secret: bytes, iterations: int, **more: Any) -> dict[str, Any]:
    """Of a worker."""
    return {
        "servers": addresses,
        "namespace": "job",
        "secret": secret.decode(),
        "keys": KEYS,
        "hypers": [HYPER],
        "seed": 5,
        "iterations": iterations,
        **more,
    }


def hear_all(them: list[Process]) -> list[dict[str, Any]]:
    """What each says next."""
    return [process.hear() for process in them]


def test_a_killed_worker_is_named_to_the_others() -> None:
    with serving() as (_, addresses):
        secret = create_service(addresses, ADMIN_SECRET, ServiceOptions("job", 3, **OPTIONS))
        with running([task(addresses, secret, 10**6)] * 3) as workers:
            heard = hear_all(workers)
            workers[1].process.send_signal(signal.SIGKILL)
            for said in (workers[0].hear(), workers[2].hear()):
                assert said["event"] == "failed"
                assert f"worker {heard[1]['number']} (127.0.0.1) is lost" in said["message"]


def test_a_killed_worker_is_replaced_by_another_process() -> None:
    options = ServiceOptions("job", 2, on_loss="wait", grace_s=60.0, **OPTIONS)
    with serving() as (_, addresses):
        secret = create_service(addresses, ADMIN_SECRET, options)
        long = task(addresses, secret, 60, pause_s=0.02)
        with running([long, long]) as workers:
            hear_all(workers)
            wait_for(lambda: server_status(addresses[0], ADMIN_SECRET).services[0].iteration)
            workers[1].process.send_signal(signal.SIGKILL)
            workers[1].end()
            done = server_status(addresses[0], ADMIN_SECRET).services[0].iteration
            assert 0 < done < 60
            rest = task(addresses, secret, 0, until=60)
            with running([rest]) as (other,):
                assert other.hear()["event"] == "running"
                said = [workers[0].hear(), other.hear()]
    assert [its["event"] for its in said] == ["done", "done"]
    assert said[0]["digest"] == said[1]["digest"]


def test_a_killed_server_is_named_and_its_service_goes_on_from_a_snapshot(tmp_path: Path) -> None:
    """The values are those of the reference, which nothing has interrupted."""
    options = ServiceOptions("job", 2, **OPTIONS)

    def run(addresses: list[str], secret: bytes, iterations: int) -> list[dict[str, Any]]:
        with running([task(addresses, secret, iterations)] * 2) as workers:
            hear_all(workers)
            return hear_all(workers)

    with serving(["127.0.0.1:0"] * 3, cores=2, snapshots=str(tmp_path)) as (server, ports):
        addresses = ports[:1]
        secret = create_service(addresses, ADMIN_SECRET, options)
        run(addresses, secret, 4)
        (saved,) = checkpoint(addresses, ADMIN_SECRET, "job")
        assert saved.iteration == 4
        with running([task(addresses, secret, 10**6)] * 2) as workers:
            hear_all(workers)
            server.process.send_signal(signal.SIGKILL)
            for said in hear_all(workers):
                assert said["event"] == "failed"
                assert "is lost" in said["message"]
                assert addresses[0] in said["message"]
    with serving(["127.0.0.1:0"] * 2, snapshots=str(tmp_path)) as (_, ports):
        addresses = ports[:1]
        secret = create_service(addresses, ADMIN_SECRET, options)
        restore(addresses, ADMIN_SECRET, "job", "job-4")
        digests = {said["digest"] for said in run(addresses, secret, 5)}
    assert digests == {reference_digest(options, 9)}


def reference_digest(options: ServiceOptions, iterations: int) -> str:
    """Return the digest of what the reference comes to with two workers' gradients."""
    manifest = Manifest(tuple(Key(f"key{i}", (size,)) for i, (size, _) in enumerate(KEYS)))
    twin = Twin(manifest, options)
    twin.values = np.random.default_rng(5).standard_normal(manifest.items, np.float32)
    for iteration in range(1, iterations + 1):
        gradients = [
            np.random.default_rng([5, iteration, number]).standard_normal(
                manifest.items, dtype=np.float32
            )
            for number in range(2)
        ]
        twin.step(gradients, [Hyper(**HYPER)])
    return hashlib.sha256(twin.values.tobytes()).hexdigest()


def test_chunks_go_through_all_interfaces_of_a_server_alike() -> None:
    """Workers with a link each, and a server with as many."""
    require_root()
    rate = 200_000_000
    items = 1_000_000
    rack = PortedRack([[rate] * 2, *[[rate]] * 2])
    with ported_racks([rack]) as (host, *others):
        ports = [f"{address}:7100" for address in host.addresses]
        with serving(ports, host.namespace.command([])) as (_, addresses):
            maker = (
                "from plink.hub.admin import *; from plink.hub.service import *; "
                f"print(create_service({addresses[:1]!r}, {ADMIN_SECRET!r}, "
                "ServiceOptions('job', 2)).decode())"
            )
            secret = python_on(others[0].namespace.command([]), maker).encode()
            before = host.bytes_through()
            its = task(addresses[:1], secret, 6, is_still=True)
            its["keys"] = [[items, 0]]
            with running([its] * 2, [other.namespace.command([]) for other in others]) as workers:
                hear_all(workers)
                said = hear_all(workers)
            carried = np.array(host.bytes_through()) - np.array(before)
    assert len({its["digest"] for its in said}) == 1
    # Each interface has half of two contributions in, and of two workers' values out.
    payload_bytes = 6 * items * 4
    assert np.all(carried > 0.98 * payload_bytes)
    assert np.all(carried < 1.25 * payload_bytes)


def python_on(prefix: list[str], code: str) -> str:
    """What a program prints on a host."""
    argv = [*prefix, sys.executable, "-c", code]
    return subprocess.run(argv, check=True, capture_output=True, text=True, cwd="/").stdout.strip()
