"""What real libraries send from host to host of a lab in one allreduce, as the kernel counts it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from labkit.bound import BOUND
from labkit.wiring import namespace
from plink.bench.clients.mpi_flavours import Flavour, LauncherJob, TrafficNetwork
from plink.deploy.remote.launcher import run_launcher
from plink.deploy.remote.remote_shell import write_remote_shell
from plink.formats.hosts import Host
from plink.probes.options import SshOptions
from plink.solvers.collectives.registry import find
from support.lab import Lab
from support.require import GLOO_LIBRARIES

LIMIT_S = 100
SIZE_BYTES = 2 << 20

# The libraries' own headers, acknowledgements and barriers.
_MORE_SHARE = 0.005
_MORE_BYTES = 10_000

_FOLDER = Path(__file__).parent
_PEER = re.compile(r"\s\S+:\d+\s+\S*?(\d+\.\d+\.\d+\.\d+)\]?:\d+")
_SENT = re.compile(r"bytes_sent:(\d+)")
_AGAIN = re.compile(r"bytes_retrans:(\d+)")


def run_mpi(
    lab: Lab,
    flavour: Flavour,
    folder: Path,
    counts: Sequence[int],
    *,
    choices: Sequence[str],
    environment: Mapping[str, str],
) -> None:
    """Launch an MPI once on as many hosts as are needed, rank r on the lab's host r.

    Args:
        lab: has as many hosts as ranks are wanted.
        flavour: which MPI.
        folder: where counters are written.
        counts: how many of the ranks take part in an allreduce.
        choices: labels with control variables, as `mpi_traffic.c` takes them.
        environment: the launcher's switches beside those of the bench.
    """
    program = _built(flavour, folder.parent)
    names = lab.names[: max(counts)]
    addresses = [lab.truth["addresses"][name] for name in names]
    hosts = [Host(*named) for named in zip(names, addresses, strict=True)]
    local = _local_address(addresses[0])
    network = TrafficNetwork(addresses, ["eth0"], local, shares_machines=True)
    numbers = ",".join(map(str, counts))
    arguments = [str(SIZE_BYTES // 4), str(folder), str(LIMIT_S), numbers, *choices]
    job = LauncherJob(
        launcher=flavour.launchers[0],
        folder=folder,
        remote_shell=write_remote_shell(folder, hosts, SshOptions(config_file=str(lab.ssh_config))),
        hosts=hosts,
        local_address=local,
        settings={**flavour.settings(network, "ring"), **environment},
        program=[str(program), *arguments],
    )
    ended = run_launcher(flavour.command(job), LIMIT_S)
    assert ended is not None
    assert ended.status == 0, ended.stderr


def _built(flavour: Flavour, folder: Path) -> Path:
    """The traffic program of an MPI, compiled once for all tests whose folders are neighbours."""
    program = folder / f"traffic-{flavour.helper}"
    if not program.exists():
        compiler = flavour.compilers[0]
        subprocess.run([compiler, "-O2", "-o", program, _FOLDER / "mpi_traffic.c"], check=True)
    return program


def run_gloo(lab: Lab, folder: Path, counts: Sequence[int]) -> None:
    """Run torch's Gloo once on as many hosts as are needed, rank r on the lab's host r."""
    numbers = ",".join(map(str, counts))
    done = subprocess.run(
        [
            *(*BOUND, sys.executable, str(_FOLDER / "gloo_traffic.py")),
            *(str(SIZE_BYTES // 4), str(folder), str(LIMIT_S), numbers),
            *(namespace(lab.name, host) for host in lab.names[: max(counts)]),
        ],
        env={**os.environ, "GLOO_SOCKET_IFNAME": "eth0"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def run_gloo_program(
    lab: Lab, folder: Path, counts: Mapping[str, Sequence[int]]
) -> set[tuple[str, int]]:
    """Run Gloo's algorithms in a program of Gloo's own; those that summed wrongly.

    Args:
        lab: has as many hosts as the most ranks.
        folder: where counters are written.
        counts: by algorithm, how many ranks take part.
    """
    program = folder / "gloo_traffic"
    source = _FOLDER / "gloo_traffic.cpp"
    subprocess.run(["g++", "-O1", "-o", program, source, *GLOO_LIBRARIES], check=True)
    cases = [f"{_file_label(name)}:{ranks}" for name in counts for ranks in counts[name]]
    arguments = [str(SIZE_BYTES // 4), str(folder), str(LIMIT_S), ",".join(cases)]
    done = subprocess.run(
        [*BOUND, str(program), *arguments, *(namespace(lab.name, host) for host in lab.names)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = [line.split() for line in done.stdout.splitlines()]
    return {(label.replace("@", ":"), int(ranks)) for _, label, ranks in told}


def check(lab: Lab, folder: Path, name: str, ranks: int) -> None:
    """What was sent is what the algorithm's table says."""
    assert differing(sent(lab, folder, name, ranks), name).tolist() == []


def differing(measured: np.ndarray, name: str) -> np.ndarray:
    """(K, 2) pairs of ranks between which less went than an algorithm's table says, or much more.

    Args:
        measured: (N, N) bytes, as of `sent`.
        name: of the algorithm.
    """
    expected = find(name).table(len(measured), SIZE_BYTES).bytes_between()
    most = expected * (1.0 + _MORE_SHARE) + _MORE_BYTES
    return np.argwhere((measured < expected) | (measured > most))


def sent(lab: Lab, folder: Path, name: str, ranks: int) -> np.ndarray:
    """(N, N) bytes of payload that rank (row) sent to rank (column) in the allreduce."""
    rank_of = {lab.truth["addresses"][name]: rank for rank, name in enumerate(lab.names)}
    between = np.zeros((len(rank_of), len(rank_of)))
    for rank in range(ranks):
        for when, sign in (("before", -1), ("after", 1)):
            path = folder / f"{_file_label(name)}-{ranks}-{rank}-{when}"
            for line in path.read_text().splitlines():
                peer, bytes_sent, again = (
                    pattern.search(line) for pattern in (_PEER, _SENT, _AGAIN)
                )
                if peer and bytes_sent and peer[1] in rank_of:
                    payload = int(bytes_sent[1]) - (int(again[1]) if again else 0)
                    between[rank, rank_of[peer[1]]] += sign * payload
    return between[:ranks, :ranks]


def _file_label(name: str) -> str:
    """An algorithm's name as the programs know it, whose arguments are cut at colons."""
    return name.replace(":", "@")


def _local_address(remote_address: str) -> str:
    """The address from which this machine reaches another; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((remote_address, 9))
        address: str = probe.getsockname()[0]
        return address
