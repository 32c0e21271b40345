"""A port that becomes slow in mid-run gets less of the service that goes on from a snapshot."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hub.processes import ADMIN_SECRET, running, serving
from labkit.ported import PortedHost, PortedRack, ported_racks, worker_and_server_rates
from plink.hub.admin import create_service
from plink.hub.service import ServiceOptions
from support.plink_command import plink_argv
from support.require import require_root

pytestmark = pytest.mark.lab

MBIT = 1_000_000
RATE, SLOW = 200 * MBIT, 50 * MBIT
BEFORE, AFTER = 14, 8
KEYS = [(1_000_000, 0)]


def work(
    hosts: Sequence[PortedHost],
    servers: Sequence[str],
    secret: str,
    iterations: int,
    under_way: Callable[[], None] = lambda: None,
) -> list[Any]:
    """Two workers that make so many iterations; what they say in the end."""
    task = {
        "servers": list(servers),
        "namespace": "job",
        "secret": secret,
        "keys": KEYS,
        "hypers": [{"lr": 0.1}],
        "seed": 7,
        "iterations": iterations,
    }
    with running([task, task], [host.namespace.command([]) for host in hosts]) as workers:
        assert {worker.hear()["event"] for worker in workers} == {"running"}
        under_way()
        return [worker.hear() for worker in workers]


def straight_on() -> str:
    """The digest of values that one port and no interruption come to."""
    with serving() as (_, servers):
        options = ServiceOptions("job", 2, deterministic=True)
        secret = create_service(servers, ADMIN_SECRET, options).decode()
        task = {
            "servers": servers,
            "namespace": "job",
            "secret": secret,
            "keys": KEYS,
            "hypers": [{"lr": 0.1}],
            "seed": 7,
            "iterations": BEFORE + AFTER,
        }
        with running([task, task]) as workers:
            for worker in workers:
                worker.hear()
            found: set[str] = {worker.hear()["digest"] for worker in workers}
    (digest,) = found
    return digest


def test_a_throttled_port_gets_its_share_of_what_goes_on(tmp_path: Path) -> None:
    require_root()
    own = tmp_path / "hub.secret"
    own.write_bytes(ADMIN_SECRET)
    own.chmod(0o600)
    rack = PortedRack(worker_and_server_rates(2, 2 * RATE, [RATE] * 2))
    with ported_racks([rack], "reno") as hosts:
        *workers, box = hosts

        def plink(*words: object) -> str:
            line = plink_argv("hub", *words, "--secret-file", own)
            done = subprocess.run(
                workers[0].namespace.command(line), capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        def measure_share() -> float:
            """The slow port's share of new services, which each window changes."""
            weights: list[float] = json.loads(plink("status", address, "--json"))["weights"]
            return weights[1] / sum(weights)

        def create(name: str) -> str:
            secret = tmp_path / name
            plink(
                *("create", address, "--workers", 2, "--deterministic"),
                *("--worker-secret-file", secret),
            )
            return secret.read_text().strip()

        listen = [f"{port}:0" for port in box.addresses]
        options = {"snapshots": str(tmp_path), "window_s": 1.5}
        with serving(listen, box.namespace.command([]), **options) as (_, addresses):
            address = addresses[0]
            secret = create("first")
            slow = work(workers, [address], secret, BEFORE, lambda: box.set_rate(1, SLOW))
            # What waits in buffers is not seen: a fifth would be even.
            assert 0.15 < measure_share() < 0.37
            snapshot = plink("checkpoint", address).strip()
            plink("delete", address)
            before = measure_share()
            secret = create("second")
            shares = sorted((before, measure_share()))
            plink("restore", address, "--snapshot", snapshot)
            sent = [port[0] for port in box.bytes_through()]
            quick = work(workers, [address], secret, AFTER)
            sent = [
                port[0] - before for port, before in zip(box.bytes_through(), sent, strict=True)
            ]
    # The port carries its share, iterations are shorter, and no value is another.
    assert shares[0] - 0.03 < sent[1] / sum(sent) < shares[1] + 0.03
    of_slow, of_quick = (statistics.median(its[0]["times_s"]) for its in (slow, quick))
    assert of_quick < 0.75 * of_slow
    assert {its["digest"] for its in quick} == {straight_on()}
