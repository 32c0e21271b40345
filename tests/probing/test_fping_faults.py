"""`plink probe --tool fping` when hosts or the user do something unfortunate."""

from __future__ import annotations

import signal
import subprocess
import time
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

from plink.files import cluster as cluster_file
from support.lab import Lab
from support.plink_command import plink, ssh_options
from support.running import programs, started, wait_for, wait_for_next

pytestmark = pytest.mark.lab


def fpings(lab: Lab) -> list[int]:
    """The fpings that run on any host, their shells and watchers."""
    return programs(lab, "fping")


def measuring(lab: Lab) -> list[int]:
    """The fpings that measure: not those asked for their version."""
    return programs(lab, "fping\0-q\0")


def run_of(lab: Lab, out: Path, count: int) -> AbstractContextManager[subprocess.Popen[str]]:
    """A run that two pairs at a time are part of."""
    options = ("--tool", "fping", "--count", count, "--concurrency", "2")
    return started("probe", lab.hosts_file, *ssh_options(lab), "-o", out, *options)


def readings(path: Path) -> int:
    cluster = cluster_file.read_cluster(str(path))
    assert cluster.rtt is not None
    return int(np.count_nonzero(~np.isnan(cluster.rtt.readings_us)))


def test_an_interrupt_stops_at_once_and_keeps_what_there_is(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    # A direction takes 4 s.
    with run_of(lab, out, 4000) as run:
        wait_for_next(lambda: measuring(lab))
        run.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, complaint = run.communicate(timeout=20)
    assert time.monotonic() - began < 3.0
    assert run.returncode == 3, complaint
    assert "Traceback" not in complaint
    assert 0 < readings(out) < 30
    wait_for(lambda: not fpings(lab), 5.0)


def test_a_killed_coordinator_leaves_no_fping(lab: Lab, tmp_path: Path) -> None:
    with run_of(lab, tmp_path / "c.json", 10_000) as run:
        wait_for(lambda: fpings(lab))
        time.sleep(0.5)
        run.kill()
        run.communicate()
    wait_for(lambda: not fpings(lab), 5.0)
    assert not list(tmp_path.iterdir())


def test_a_silent_host_costs_little(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    mute, *others = lab.names
    options = (*ssh_options(lab), "-o", out, "--tool", "fping", "--count", "5")
    lab.exec(mute, ["sh", "-c", "echo 1 >/proc/sys/net/ipv4/icmp_echo_ignore_all"])
    addresses = "; ".join(
        f"ip route add blackhole {lab.truth['addresses'][name]}/32" for name in others
    )
    lab.exec(mute, ["sh", "-c", addresses])
    try:
        began = time.monotonic()
        done = plink("probe", lab.hosts_file, *options, "--timeout", "3")
        took = time.monotonic() - began
    finally:
        lab.exec(mute, ["sh", "-c", addresses.replace("route add", "route del")])
        lab.exec(mute, ["sh", "-c", "echo 0 >/proc/sys/net/ipv4/icmp_echo_ignore_all"])
    assert done.code == 3
    assert f"warning: {mute}: answers no ping of any host" in done.stderr
    assert readings(out) == len(others) * (len(others) - 1)
    # Ten directions of 3 s without suspicion.
    assert took < 25.0
