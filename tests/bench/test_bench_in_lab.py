"""`plink bench` with the real clients on real hosts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.lab_hosts import (
    connections,
    main_peer,
    processes,
    wait_until_nothing_runs,
    write_cluster,
)
from plink.base.replacing import replace
from plink.formats import cluster as cluster_file
from plink.formats.comparison import decode_comparison
from plink.formats.hosts import Group
from plink.formats.measurements import BandwidthMeasurement
from support.lab import Lab, lab_cluster
from support.plink_command import plink, plink_argv, plink_here, ssh_options
from support.require import require_client

pytestmark = [pytest.mark.lab, pytest.mark.needs("mpi")]


# The program that runs a rank on a host.
RANK_OF = {
    "engine": "engine_collectives",
    "gloo": "sys.stdin.buffer.read",
    "openmpi": "mpi_allreduce-",
    "mpich": "mpi_allreduce-",
}
# To which rank a rank of a ring sends: Gloo's runs backwards.
STEP = {"gloo": -1, "openmpi": 1, "mpich": 1}

SIZE_BYTES = 400_000


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_cluster(racks=2, hosts=2) as standing:
        yield standing


@pytest.fixture(scope="module")
def cluster(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cluster(lab, tmp_path_factory.mktemp("bench") / "cluster.json")


@pytest.fixture(scope="module")
def pair(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster of the lab's first two hosts: enough for what does not ask about the ring."""
    return write_cluster(lab, tmp_path_factory.mktemp("pair") / "pair.json", lab.names[:2])


@pytest.fixture
def shuffled(lab: Lab, tmp_path: Path) -> tuple[Path, list[str]]:
    """An order that is neither the given one nor sorted, nor a rotation or reversal of these."""
    a, b, c, d = lab.names
    names = [c, a, b, d] if [a, b, c, d] == sorted(lab.names) else [b, d, a, c]
    path = tmp_path / "shuffled.txt"
    path.write_text("\n".join(names) + "\n")
    return path, names


@contextmanager
def running(lab: Lab, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A bench in the background, ended with the test."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        plink_argv("bench", *arguments, *ssh_options(lab)), stdout=pipe, stderr=pipe, text=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=100)


def wait_for(what: Callable[[], Any], process: subprocess.Popen[str], seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := what()):
        if process.poll() is not None:
            pytest.fail(f"the bench ended with {process.returncode}: {process.communicate()}")
        assert time.monotonic() < deadline, "waited for too long"
        time.sleep(0.05)
    return found


def ranks(lab: Lab, client: str, hosts: Sequence[str] = ()) -> set[int]:
    """The processes of a client's ranks, on some hosts or on all."""
    return {
        found.pid
        for found in processes(lab)
        if found.host in (hosts or lab.names) and RANK_OF[client] in found.command
    }


def carrying(lab: Lab) -> set[tuple[int, str, int]]:
    """The connections over which the first host's rank has sent; every launch makes its own."""
    return {
        (connection.own_port, connection.peer, connection.peer_port)
        for connection in connections(lab, lab.names[0])
        if connection.sent_bytes >= SIZE_BYTES
    }


def endless(client: str, cluster: Path, orders: str | None) -> Sequence[object]:
    """Launches that last until a test has looked, on a busy machine too."""
    named = () if orders is None else ("--orders", orders)
    launches = ("--size", SIZE_BYTES, "--repetitions", 600, "--rounds", 1000, "--timeout", 10)
    return (cluster, "--client", client, *named, *launches)


def test_a_fit_uses_some_hosts_of_a_grouped_file(lab: Lab, cluster: Path, tmp_path: Path) -> None:
    require_client("gloo")
    known = cluster_file.read_cluster(str(cluster))
    racks = lab.truth["hosts"]
    grouped = replace(
        known,
        groups=[
            Group(rack, [name for name in lab.names if racks[name] == rack])
            for rack in sorted(set(racks.values()))
        ],
        bandwidth=BandwidthMeasurement(
            np.full((4, 4), 0.38), np.full((4, 4), np.nan), tool="import"
        ),
    )
    path = str(tmp_path / "grouped.json")
    cluster_file.write_cluster(path, grouped)
    done = plink(
        *("fit", path, "--client", "engine", "--hosts", 3, "--size", "64KB,1MB"),
        *("--repetitions", 2, "--json", *ssh_options(lab)),
    )
    assert done.code == 0, done.stderr
    (fit,) = cluster_file.read_cluster(path).clients
    assert fit.client == "engine"
    assert len({name for sample in fit.samples for name in sample.hosts}) == 3


def test_a_whole_bench_as_json(lab: Lab, cluster: Path, shuffled: tuple[Path, list[str]]) -> None:
    require_client("gloo")
    path, names = shuffled
    done = plink(
        *("bench", cluster, "--client", "gloo", "--size", "1MB", "--json", "--seed", 5),
        *("--orders", f"given,plink,random:1,file:{path}", "--rounds", 1, "--repetitions", 2),
        *ssh_options(lab),
    )
    assert (done.code, done.notes) == (0, []), done.stderr
    data = json.loads(done.stdout)
    rows = {row["order"]: row for row in data["rows"]}
    assert list(rows) == ["given", "plink", "random-1", "shuffled"]
    assert rows["given"]["hosts"] == lab.names
    assert rows["shuffled"]["hosts"] == names
    for row in rows.values():
        assert len(row["samples_s"]) == 2
        # A host must send 2 x 3/4 of 1 MB through its link of 400 Mbit/s; bursts go faster.
        assert row["median_s"] > 0.01
        assert 140.0 <= row["predicted_us"] <= 200.0
    assert rows["plink"]["predicted_us"] == 2 * 22.0 + 2 * 50.0
    assert set(data["congestion_control"]) == set(lab.names)
    wait_until_nothing_runs(lab)


def test_several_clients_in_one_run(lab: Lab, pair: Path, tmp_path: Path) -> None:
    require_client("openmpi")
    require_client("mpich")
    file, picture = tmp_path / "comparison.json", tmp_path / "comparison.svg"
    done = plink(
        *("bench", pair, "--client", "engine,openmpi,mpich", "--algo", "flat,ring"),
        *("--orders", "given", "--size", "8,1MB", "--rounds", 1, "--repetitions", 2),
        *("-o", file, "--plot", picture, *ssh_options(lab)),
    )
    assert (done.code, done.notes) == (0, []), done.stderr
    assert "engine flat" in done.stdout
    rows = decode_comparison(json.loads(file.read_text()), "file").rows
    assert [(row.client, row.algorithm, row.size_bytes) for row in rows] == [
        (client, algorithm, size_bytes)
        for size_bytes in (8, 1_000_000)
        for client, algorithm in (
            *(("engine", "flat"), ("engine", "ring"), ("openmpi", "ring"), ("mpich", "ring")),
        )
    ]
    for row in rows:
        assert row.hosts == lab.names[:2]
        assert len(row.samples_s) == len(row.cpu_s) == 2
        assert (row.links is None) == (row.client != "engine")
        for link in () if row.links is None else row.links.hosts:
            # Two ranks send all of the buffer to each other, in frames; no more goes over a link.
            expected = row.size_bytes if row.size_bytes > 8 else link.plan_sent_bytes
            assert expected < link.sent_bytes < 1.01 * expected + 100
    assert picture.read_text().startswith("<svg")
    wait_until_nothing_runs(lab)


def test_an_engine_rank_that_is_killed_is_named(lab: Lab, cluster: Path) -> None:
    with running(lab, *endless("engine", cluster, None), "--algo", "ring") as process:
        wait_for(lambda: carrying(lab), process)
        victim = wait_for(lambda: ranks(lab, "engine", lab.names[2:3]), process)
        os.kill(max(victim), signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=100)
    assert "Traceback" not in stderr
    assert process.returncode == (3 if stdout else 1)
    assert f"{lab.names[2]}: the engine worker ended" in stderr
    wait_until_nothing_runs(lab)


def test_two_ranks_a_host_on_some_of_the_hosts(lab: Lab, cluster: Path) -> None:
    require_client("mpich")
    done = plink(
        *("bench", cluster, "--client", "mpich", "--size", "100KB", "--json", "--slots", 2),
        *("--ranks", 3, "--orders", "given,plink,random:1", "--rounds", 1, "--repetitions", 1),
        *ssh_options(lab),
    )
    assert (done.code, done.notes) == (0, []), done.stderr
    rows = {row["order"]: row for row in json.loads(done.stdout)["rows"]}
    assert rows["given"]["hosts"] == [lab.names[0], lab.names[0], lab.names[1]]
    first, second = rows["plink"]["hosts"][0], rows["plink"]["hosts"][2]
    assert rows["plink"]["hosts"] == [first, first, second]
    assert lab.truth["hosts"][first] == lab.truth["hosts"][second]
    assert rows["plink"]["predicted_us"] == 2 * 22.0


def await_ring(lab: Lab, client: str, names: Sequence[str], process: subprocess.Popen[str]) -> None:
    """Wait until every host has sent to the next one of the ring, and hardly to any other."""
    for rank, host in enumerate(names):
        peer = wait_for(lambda host=host: main_peer(lab, host, 5 * SIZE_BYTES), process)
        assert peer == names[(rank + STEP[client]) % len(names)]


@pytest.mark.parametrize("client", ["openmpi", "mpich"])
def test_bytes_go_round_the_ring_in_the_order_and_a_killed_rank_is_named(
    lab: Lab, cluster: Path, shuffled: tuple[Path, list[str]], client: str
) -> None:
    require_client(client)
    path, names = shuffled
    with running(lab, *endless(client, cluster, f"file:{path}")) as process:
        await_ring(lab, client, names, process)
        # The last of them: shells come before what they started.
        survivor, victim = (
            max(wait_for(lambda name=name: ranks(lab, client, [name]), process))
            for name in names[1:3]
        )
        # The launcher may hear first of a peer whose pipe broke.
        os.kill(survivor, signal.SIGPIPE)
        os.kill(victim, signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=100)
    assert "Traceback" not in stderr
    assert process.returncode == (3 if stdout else 1)
    # Of MPICH it may be the peers' crash that is told: they do not survive the loss of a rank.
    blamed = names if client == "mpich" else [names[2]]
    assert any(f"{name}: " in stderr for name in blamed), stderr
    wait_until_nothing_runs(lab)


def test_gloo_goes_round_the_ring_and_ctrl_c_leaves_nothing(
    lab: Lab, cluster: Path, shuffled: tuple[Path, list[str]]
) -> None:
    require_client("gloo")
    path, names = shuffled
    with running(lab, *endless("gloo", cluster, f"file:{path}")) as process:
        await_ring(lab, "gloo", names, process)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=100)
    assert "Traceback" not in stderr
    # Nothing was measured to its end.
    assert (process.returncode, stdout) == (130, "")
    wait_until_nothing_runs(lab)


@pytest.mark.parametrize(
    ("client", "number"), [("openmpi", signal.SIGTERM), ("mpich", signal.SIGHUP)]
)
def test_a_bench_told_to_end_prints_what_there_is_and_leaves_nothing(
    lab: Lab, pair: Path, client: str, number: signal.Signals
) -> None:
    require_client(client)
    arguments = (pair, "--client", client, "--orders", "given", "--size", SIZE_BYTES)
    with running(lab, *arguments, "--rounds", 1000, "--repetitions", 20) as process:
        first = wait_for(lambda: carrying(lab), process)
        # Interrupted is a launch after this one, which has then ended.
        wait_for(lambda: (now := carrying(lab)) and first.isdisjoint(now), process)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=100)
    assert "Traceback" not in stderr
    assert "interrupted" in stderr
    assert process.returncode == 3
    assert "Spearman" in stdout
    wait_until_nothing_runs(lab)


def test_a_silent_host_is_named(lab: Lab, pair: Path) -> None:
    silent = lab.names[1]
    with running(lab, *endless("engine", pair, None), "--algo", "ring") as process:
        wait_for(lambda: main_peer(lab, silent, SIZE_BYTES), process)
        lab.lab("stop", silent)
        try:
            _, stderr = process.communicate(timeout=100)
        finally:
            lab.lab("start", silent)
    assert process.returncode in (1, 3)
    assert f"{silent}: " in stderr


def test_what_a_host_refuses_is_one_sentence(lab: Lab, pair: Path) -> None:
    require_client("mpich")
    options = ("--client", "mpich", "--remote-cache", "/dev/null/x")
    done = plink_here("bench", pair, *ssh_options(lab), *options)
    assert (done.code, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert "mpi_allreduce cannot be copied there" in done.stderr
