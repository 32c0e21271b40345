"""Tracing where hosts cannot trace, where workers go wrong, and where the user has enough."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fake_python import (
    BABBLES,
    CRASHES,
    DIES_AFTER_ONE_TRACE,
    DIES_AFTER_READY,
    LIES,
    REAL,
    WITHOUT_PRIVILEGE,
    WITHOUT_SCAPY,
    fake_python,
)
from support.lab import Lab, lab_cluster
from support.plink_command import ssh_options
from support.routers import mute
from support.running import programs, started, wait_for
from support.trace import PYTHON, found, reasons, trace, true_ways

pytestmark = pytest.mark.lab

FAULTS = {
    CRASHES: "Fatal Python error: out of tape",
    WITHOUT_SCAPY: "has no scapy: pip install scapy there, or name another remote Python",
    WITHOUT_PRIVILEGE: "tracing takes raw sockets: log in there as root, or give",
    DIES_AFTER_READY: "its trace worker ended",
    DIES_AFTER_ONE_TRACE: "its trace worker ended",
    BABBLES: "its trace worker reports 'u1=evil/11.0'",
    LIES: "its trace worker reports what it was not asked",
}


def test_every_host_that_fails_is_named_and_the_others_are_complete(tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    with lab_cluster(racks=2, hosts=4, hops=0, options=["--routed"]) as lab:
        faulty = dict(zip(lab.names, FAULTS, strict=False))
        python = fake_python(tmp_path / "python", faulty)
        done = trace(lab, out, python=python)
        assert done.code == 3
        said = reasons(out)
        for host, fault in faulty.items():
            assert FAULTS[fault] in said[host, None]
            assert f"warning: {host}: " in done.stderr
        truth = true_ways(lab)
        ways = found(out)
        assert ways == {pair: truth[pair] for pair in ways}
        # Hosts that cannot trace are traced to all the same.
        assert {pair for pair in truth if pair[0] not in faulty} <= set(ways)
        once = next(host for host in faulty if faulty[host] == DIES_AFTER_ONE_TRACE)
        assert {pair[0] for pair in ways} & set(faulty) == {once}
        assert sum(pair[0] == once for pair in ways) == 1
        assert {pair for pair in truth if pair not in ways} == {
            pair for pair in said if pair[1] is not None
        }


def test_no_python_on_any_host(routed: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    done = trace(routed, out, python="/nowhere/python3")
    assert done.code == 1
    for host in routed.names:
        reason = "it has no /nowhere/python3: name another remote Python"
        assert f"warning: {host}: {reason}" in done.stderr
    assert "error: no pair of hosts could be measured" in done.stderr
    assert not out.exists()


def workers(lab: Lab) -> list[int]:
    """The trace workers on any host of a lab; the interpreters, not the shells that become them."""
    return [pid for pid in programs(lab, "exec(sys.stdin.read") if runs_python(pid)]


def runs_python(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/exe").resolve() == Path(PYTHON).resolve()
    except FileNotFoundError:  # It has just ended.
        return False


@contextlib.contextmanager
def tracing(
    lab: Lab, out: Path, hosts: Path, *, python: object = PYTHON
) -> Iterator[subprocess.Popen[str]]:
    """A run whose workers are all there.

    A trace to a host that does not answer takes longer than a test waits for anything.
    """
    tool = ("--tool", "trace", "--remote-python", python)
    options = (*ssh_options(lab), "-o", out, *tool, "--count", 1, "--timeout", 60)
    with started("probe", hosts, *options) as run:
        wait_for(lambda: len(workers(lab)) == len(hosts.read_text().split()), run)
        yield run


def test_an_interrupt_keeps_what_there_is_and_leaves_no_worker(routed: Lab, tmp_path: Path) -> None:
    out, said = tmp_path / "c.json", tmp_path / "said"
    silent = routed.names[0]
    said.touch()
    python = fake_python(tmp_path / "python", {silent: f'{REAL} "$@" | tee {said}'})
    with mute(routed, silent), tracing(routed, out, routed.hosts_file, python=python) as run:
        # What the silent host traces itself takes no time.
        wait_for(lambda: said.read_text().count("traced ") == len(routed.names) - 1, run)
        run.send_signal(signal.SIGINT)
        _, complaint = run.communicate(timeout=100)
    assert run.returncode == 3, complaint
    assert "Traceback" not in complaint
    pairs = set(found(out))
    # The last of them may not have reached plink.
    assert len({pair for pair in true_ways(routed) if pair[0] == silent} & pairs) >= 2
    assert not any(destination == silent for _, destination in pairs)
    wait_for(lambda: not workers(routed))


def test_a_killed_coordinator_leaves_no_worker(routed: Lab, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("\n".join(routed.names[:2]))
    with mute(routed, routed.names[0]), tracing(routed, tmp_path / "c.json", hosts) as run:
        run.kill()
        run.communicate()
        wait_for(lambda: not workers(routed))
    assert list(tmp_path.iterdir()) == [hosts]
