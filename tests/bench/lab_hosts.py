"""What runs and what flows on a lab's hosts, seen from this machine."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plink.files import cluster as cluster_file
from plink.files.cluster import Cluster, Host
from plink.files.rtt import RttMeasurement
from support.lab import Lab

SAME_RACK_US = 22.0
OTHER_RACK_US = 50.0

_PEER = re.compile(r"\s[\d.]+:\d+\s+([\d.]+):\d+")
_SENT = re.compile(r"bytes_sent:(\d+)")


def write_cluster(lab: Lab, path: Path) -> Path:
    """A cluster file with the round-trip times that the lab's racks suggest."""
    racks = [lab.truth["hosts"][name] for name in lab.names]
    rtt_us = np.array([[SAME_RACK_US if a == b else OTHER_RACK_US for b in racks] for a in racks])
    np.fill_diagonal(rtt_us, np.nan)
    counts = np.zeros(rtt_us.shape, dtype=np.int64)
    measurement = RttMeasurement({10.0: rtt_us}, 10.0, counts, counts, tool="import")
    hosts = [Host(name, lab.truth["addresses"][name]) for name in lab.names]
    cluster_file.write(str(path), Cluster(hosts, measurement))
    return path


def main_peer(lab: Lab, host: str, least_bytes: int) -> str | None:
    """The host to which `host` has sent by far the most, once that is `least_bytes`."""
    name_of = {address: name for name, address in lab.truth["addresses"].items()}
    sent: dict[str, int] = {}
    peer = None
    for line in lab.exec(host, ["ss", "-tinH"]).stdout.splitlines():
        found = _PEER.search(line)
        if found is not None:
            peer = name_of.get(found[1])
        amount = _SENT.search(line)
        if peer is not None and amount is not None:
            sent[peer] = sent.get(peer, 0) + int(amount[1])
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
    host_of = {
        lab.exec(host, ["readlink", "/proc/self/ns/net"]).stdout.strip(): host for host in lab.names
    }
    found = []
    for entry in Path("/proc").iterdir():
        try:
            host = host_of.get(str((entry / "ns/net").readlink())) if entry.name.isdigit() else None
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if host is not None and "sshd" not in command:
            found.append(HostProcess(int(entry.name), host, command))
    return found


def wait_until_nothing_runs(lab: Lab, seconds: float = 15.0) -> None:
    """A process ends when its session or its launcher does, which takes a moment."""
    deadline = time.monotonic() + seconds
    while left := processes(lab):
        assert time.monotonic() < deadline, f"left running: {left}"
        time.sleep(0.2)
