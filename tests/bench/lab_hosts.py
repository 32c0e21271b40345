"""What runs and what flows on a lab's hosts, seen from this machine."""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labkit.namespaces import inside, processes_in
from labkit.wiring import namespace
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import RttMeasurement
from support.lab import Lab

SAME_RACK_US = 22.0
OTHER_RACK_US = 50.0

_ENDS = re.compile(r"\s[\d.]+:(\d+)\s+([\d.]+):(\d+)")
_SENT = re.compile(r"bytes_sent:(\d+)")


def write_cluster(lab: Lab, path: Path, names: Sequence[str] = ()) -> Path:
    """A cluster file of some or all hosts, with the round-trip times that the racks suggest."""
    names = names or lab.names
    racks = [lab.truth["hosts"][name] for name in names]
    rtt_us = np.array([[SAME_RACK_US if a == b else OTHER_RACK_US for b in racks] for a in racks])
    np.fill_diagonal(rtt_us, np.nan)
    counts = np.zeros(rtt_us.shape, dtype=np.int64)
    measurement = RttMeasurement({10.0: rtt_us}, 10.0, counts, counts, tool="import")
    hosts = [Host(name, lab.truth["addresses"][name]) for name in names]
    cluster_file.write_cluster(str(path), Cluster(hosts, measurement))
    return path


@dataclass(frozen=True)
class Connection:
    """A TCP connection to another host of the lab, as the kernel of one end sees it."""

    own_port: int
    peer: str
    peer_port: int
    sent_bytes: int


def connections(lab: Lab, host: str) -> list[Connection]:
    """What connects a host with others of the lab."""
    name_of = {address: name for name, address in lab.truth["addresses"].items()}
    with inside(namespace(lab.name, host)):
        listing = subprocess.check_output(["ss", "-tinHO"], text=True)
    return [
        Connection(int(ends[1]), name_of[ends[2]], int(ends[3]), int(sent[1]))
        for line in listing.splitlines()
        if (ends := _ENDS.search(line)) and (sent := _SENT.search(line)) and ends[2] in name_of
    ]


def main_peer(lab: Lab, host: str, least_bytes: int) -> str | None:
    """The host to which `host` has sent by far the most, once that is `least_bytes`."""
    sent: dict[str, int] = {}
    for connection in connections(lab, host):
        sent[connection.peer] = sent.get(connection.peer, 0) + connection.sent_bytes
    first, *others = sorted(sent, key=lambda name: -sent[name]) or [None]
    if first is None or sent[first] < least_bytes:
        return None
    return first if all(sent[other] < sent[first] / 20 for other in others) else "several"


@dataclass(frozen=True)
class HostProcess:
    """A process on a lab's host."""

    pid: int
    host: str
    command: str


def processes(lab: Lab) -> list[HostProcess]:
    """What runs on the lab's hosts, their SSH servers apart."""
    found = []
    for host in lab.names:
        for pid in processes_in([namespace(lab.name, host)]):
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                if "sshd" not in command:
                    found.append(HostProcess(pid, host, command))
    return found


def wait_until_nothing_runs(lab: Lab, seconds: float = 15.0) -> None:
    """A process ends when its session or its launcher does, which takes a moment."""
    deadline = time.monotonic() + seconds
    while left := processes(lab):
        assert time.monotonic() < deadline, f"left running: {left}"
        time.sleep(0.2)
