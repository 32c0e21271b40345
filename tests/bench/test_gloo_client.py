"""The Gloo client and its worker program, with real torch and Gloo on loopback."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, cast

import pytest

from bench.local_sessions import local_remote_hosts, process_of, wait_for_ends
from plink.base.replacing import replace
from plink.bench.clients.client import Launch, Workload
from plink.bench.clients.gloo import GlooClient
from plink.bench.clients.workers import measure_command
from plink.bench.workers import torch_collectives
from plink.deploy.remote.hosts import RemoteHost
from plink.plans.names import COLLECTIVES
from plink.probes.errors import HostError

pytestmark = pytest.mark.timing

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")

# Long enough to be disturbed: far more repetitions than a test waits for.
ENDLESS = Workload(4_000_000, warmups=0, repetitions=100_000, timeout_s=1.0)


@contextmanager
def client(
    hosts: Sequence[RemoteHost], python: str | None = sys.executable
) -> Iterator[GlooClient]:
    gloo = GlooClient(hosts, python, idle_limit_s=60.0)
    try:
        yield gloo
    finally:
        gloo.close()
        wait_for_ends(hosts)


@needs_torch
def test_every_collective_runs_and_is_checked_and_a_silent_worker_is_named() -> None:
    hosts = local_remote_hosts(3)
    workload = Workload(4 * 100_003, warmups=1, repetitions=2, timeout_s=30.0)
    with client(hosts) as gloo:
        facts = gloo.start()
        assert facts.versions["torch"].startswith("2.")
        # Workers live on from launch to launch.
        first = [process_of(host).pid for host in hosts]
        for order in ([0, 1], [2, 0]):
            seconds = gloo.launch(Launch(order, workload)).seconds
            assert len(seconds) == 2
            assert all(0.0 < value < 30.0 for value in seconds)
        for collective in COLLECTIVES:
            measured = gloo.launch(Launch([2, 0, 1], replace(workload, collective=collective)))
            assert len(measured.seconds) == 2
        assert [process_of(host).pid for host in hosts] == first
        stopper = threading.Timer(0.3, process_of(hosts[1]).send_signal, [signal.SIGSTOP])
        stopper.start()
        with pytest.raises(HostError, match="stopped answering") as caught:
            gloo.launch(Launch([2, 1], ENDLESS))
        stopper.join()
        assert caught.value.host == "h1"


def test_a_host_without_torch_is_named(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o700)
    with client(local_remote_hosts(2), str(bare)) as gloo:
        with pytest.raises(HostError, match="PyTorch is not installed") as caught:
            gloo.start()
        assert "--python PATH" in (caught.value.hint or "")


def test_a_host_without_the_interpreter_is_named() -> None:
    with client(local_remote_hosts(2), "/nowhere/python") as gloo:
        with pytest.raises(HostError, match=r"the Gloo worker ended.*not found") as caught:
            gloo.start()
        assert "--python PATH" in (caught.value.hint or "")


@pytest.mark.parametrize("answer", ["nonsense", "[]", '{"event": 1}', "[" * 100_000])
def test_nonsense_for_an_answer_ends_the_worker_and_not_plink(answer: str, tmp_path: Path) -> None:
    liar = tmp_path / "python"
    liar.write_text(f"#!/bin/sh\necho '{answer}'\ncat > /dev/null\n")
    liar.chmod(0o700)
    with (
        client(local_remote_hosts(2), str(liar)) as gloo,
        pytest.raises(HostError, match="not an answer"),
    ):
        gloo.start()


def worker(program: str, **environment: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env={**os.environ, **environment},
    )


# A torch whose import does not end.
SLOW_TORCH = """\
import sys, time
print("importing torch", file=sys.stderr, flush=True)
time.sleep(1000)
"""


def test_the_worker_ends_with_its_input_also_while_it_starts(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(SLOW_TORCH)
    path = resources.files("plink.bench.workers").joinpath("torch_collectives.py")
    command = {"do": "start", "address": "127.0.0.1", "idle_limit_s": 60.0, "library": "gloo"}
    process = worker(path.read_text(), PYTHONPATH=str(tmp_path))
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        process.stdin.write(json.dumps(command) + "\n")
        process.stdin.flush()
        assert process.stderr.readline() == "importing torch\n"
        process.stdin.close()
        assert process.wait() == 0
    finally:
        process.kill()
        with process:
            pass


# A worker that starts at once.
QUICK = """\
from plink.bench.workers.torch_collectives import serve
class Quick:
    def start(self, command):
        return {"event": "started"}
serve(lambda *_: Quick())
"""


def test_the_worker_ends_when_nothing_is_asked_of_it() -> None:
    process = worker(QUICK)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"do": "start", "idle_limit_s": -1.9}) + "\n")
    process.stdin.flush()
    try:
        assert process.wait(timeout=100) == 1
        told = [json.loads(line) for line in process.stdout]
        assert [message["event"] for message in told] == ["started", "failed"]
    finally:
        process.kill()
        process.communicate()


class OneRank:
    """A process group of one rank whose allreduce goes wrong in `spoiled` elements."""

    def __init__(self, spoiled: int) -> None:
        self.spoiled = spoiled

    def get_rank(self) -> int:
        return 0

    def get_world_size(self) -> int:
        return 1

    def barrier(self) -> None:
        pass

    def all_reduce(self, buffer: Any) -> None:
        buffer[: self.spoiled] += 1


class NoWatchdog:
    """Lets everything take as long as it takes."""

    def begin(self, step: str, limit_s: float) -> None:
        pass


@needs_torch
@pytest.mark.parametrize("spoiled", [0, 7])
def test_every_wrong_element_is_counted(spoiled: int) -> None:
    import torch

    rank = object.__new__(torch_collectives.Rank)
    rank.torch = torch
    rank.dist = OneRank(spoiled)
    rank.device = "cpu"
    rank.watchdog = cast("Any", NoWatchdog())
    workload = Workload(size_bytes=4 * 5000, warmups=1, repetitions=2)
    reply = rank.measure(measure_command(workload, 0, 1))
    assert reply["wrong_elements"] == 3 * spoiled
    assert len(reply["seconds"]) == 2


def test_the_interface_of_an_address() -> None:
    assert torch_collectives.interface_of("127.0.0.1") == "lo"
    with pytest.raises(OSError, match=r"no network interface here has the address 192\.0\.2\.1"):
        torch_collectives.interface_of("192.0.2.1")
    if Path("/proc/net/if_inet6").read_text().startswith("0" * 31 + "1"):
        assert torch_collectives.interface_of("::1") == "lo"
