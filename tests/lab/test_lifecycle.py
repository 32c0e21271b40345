"""Labs come and go: whole, half-made or crashed, they leave nothing and touch nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.lab import lab_cluster, program
from support.lab_measure import p10_us
from support.lab_traces import NO_TRACES, machine_networking, traces
from support.require import require_root

pytestmark = pytest.mark.lab

FOUR_HOSTS = ["--racks", "2", "--hosts", "2", "--hops", "1"]


@pytest.fixture
def name() -> Iterator[str]:
    """A name for a lab, which is taken down however the test ends.

    As those of `lab_cluster`, which another test run takes down where this one was killed.
    """
    require_root()
    name = f"t{os.getpid()}-0"
    yield name
    if traces(name) != NO_TRACES:
        run_lab("down", "--name", name)


def run_lab(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*program(), *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )


def begin_up(name: str, directory: Path, *options: str) -> subprocess.Popen[str]:
    argv = [*program(), "up", "--name", name, "--dir", str(directory), *options]
    return subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for(condition: str, name: str) -> None:
    deadline = time.monotonic() + 20
    while not getattr(traces(name), condition):
        assert time.monotonic() < deadline, f"no {condition} of lab {name}"
        time.sleep(0.005)


def test_nothing_is_left_behind(name: str, tmp_path: Path) -> None:
    before = machine_networking()
    done = run_lab("up", "--name", name, *FOUR_HOSTS, cwd=tmp_path)
    assert done.returncode == 0
    files = f".lab/{name}"
    assert f"\nplink probe {files}/hosts.txt -F {files}/ssh_config\n" in done.stdout
    directory = tmp_path / files
    assert len((directory / "hosts.txt").read_text().split()) == 4
    # A host's processes end with it, also those that ignore a polite request.
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "print('here', flush=True); time.sleep(99)"
    )
    argv = [*program(), "exec", "--name", name, "n01", "--", sys.executable, "-c", stubborn, name]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        # Until then it may not have entered the host.
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        assert run_lab("down", "--name", name).returncode == 0
        process.wait(timeout=100)
    assert traces(name) == NO_TRACES
    assert machine_networking() == before
    assert not directory.exists()


def test_somebody_elses_things_stay(name: str, tmp_path: Path) -> None:
    stranger = f"plink-{name}.n01"
    subprocess.check_call(["ip", "netns", "add", stranger])
    try:
        mine = tmp_path / "notes.txt"
        mine.write_text("mine")
        assert run_lab("up", "--name", name, "--dir", str(tmp_path), *FOUR_HOSTS).returncode == 0
        assert run_lab("down", "--dir", str(tmp_path)).returncode == 0
        assert Path("/run/netns", stranger).exists()
        assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    finally:
        subprocess.check_call(["ip", "netns", "delete", stranger])


def test_refuses_to_go_where_something_stands(name: str, tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("precious\n")
    refused = run_lab("up", "--name", name, "--dir", str(tmp_path))
    assert refused.returncode == 1
    assert "hosts.txt exists" in refused.stderr
    assert (tmp_path / "hosts.txt").read_text() == "precious\n"

    namespace = f"plink.{name}.spine"
    subprocess.check_call(["ip", "netns", "add", namespace])
    try:
        refused = run_lab("up", "--name", name, "--dir", str(tmp_path / name))
        assert f"{namespace} exists" in refused.stderr
        assert "no lab" in run_lab("down", "--name", name).stderr
        assert Path("/run/netns", namespace).exists()
    finally:
        subprocess.check_call(["ip", "netns", "delete", namespace])
    assert traces(name) == NO_TRACES


@pytest.mark.parametrize("moment", ["registered", "namespaces", "interfaces", "processes"])
def test_down_completes_after_a_crash_at_any_moment(name: str, tmp_path: Path, moment: str) -> None:
    directory = tmp_path / f"plink-lab-{name}"
    with begin_up(name, directory, "--racks", "3", "--hosts", "3") as process:
        if moment == "processes":
            while not list(directory.glob("private/*.pid")):
                time.sleep(0.005)
        else:
            wait_for(moment, name)
        process.kill()
    assert f"lab {name}" in run_lab("up", "--name", name, "--dir", str(tmp_path / "b")).stderr
    assert run_lab("down", "--name", name).returncode == 0
    assert traces(name) == NO_TRACES
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_an_interrupted_up_takes_itself_down(
    name: str, tmp_path: Path, number: signal.Signals
) -> None:
    with begin_up(name, tmp_path / f"plink-lab-{name}", "--racks", "4") as process:
        wait_for("interfaces", name)
        process.send_signal(number)
        _, complaint = process.communicate()
    assert process.returncode == 130
    assert complaint == "error: interrupted\n"
    assert traces(name) == NO_TRACES
    assert list(tmp_path.iterdir()) == []


def test_a_failed_up_takes_itself_down(name: str, tmp_path: Path) -> None:
    failed = run_lab(
        *("up", "--name", name, "--dir", str(tmp_path / name), *FOUR_HOSTS),
        *("--congestion-control", "dctcpp"),
    )
    assert failed.returncode == 1
    assert failed.stderr.startswith("error: ")
    assert "Traceback" not in failed.stderr
    assert traces(name) == NO_TRACES


def test_a_held_lab_goes_down_with_its_owner(name: str, tmp_path: Path) -> None:
    owner = (
        "import subprocess, sys, time\n"
        "process = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, start_new_session=True)\n"
        "time.sleep(99)\n"
    )
    argv = [*program(), "up", "--hold", "--name", name, "--dir", str(tmp_path / name), *FOUR_HOSTS]
    with subprocess.Popen([sys.executable, "-c", owner, *argv], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert traces(name) != NO_TRACES
        process.kill()
    deadline = time.monotonic() + 10
    while traces(name) != NO_TRACES and time.monotonic() < deadline:
        time.sleep(0.05)
    assert traces(name) == NO_TRACES
    assert not (tmp_path / name).exists()


def test_sixty_four_hosts_in_eight_racks_stand() -> None:
    with lab_cluster(racks=8, hosts=8) as lab:
        assert len(lab.names) == 64
        assert {len(hosts) for hosts in lab.racks.values()} == {8}
        (status,) = json.loads(lab.lab("status", "--json"))
        assert status["whole"]
        # More neighbours than the kernel's table would hold if it had to ask for them.
        for host in (lab.names[0], lab.names[-1]):
            done = lab.exec(host, ["fping", "-c", "1", "-q", *lab.names], check=False)
            assert done.returncode == 0, done.stderr
        for host in lab.names[::21]:
            argv = ["ssh", "-F", str(lab.ssh_config), host, "hostname"]
            assert subprocess.check_output(argv, text=True) == f"{host}\n"


def test_labs_stand_side_by_side() -> None:
    with lab_cluster(hosts=1, hops=0) as one, lab_cluster(None, "1,2", hops=0, seed=2) as other:
        assert one.truth["subnet"] != other.truth["subnet"]
        for lab in (one, other):
            argv = ["ssh", "-F", str(lab.ssh_config), lab.names[0], "hostname"]
            assert subprocess.check_output(argv, text=True).strip() == lab.names[0]
        address = one.truth["addresses"][one.names[0]]
        ping = ["fping", "-q", "-c", "1", "-t", "200", address]
        assert other.exec(other.names[0], ping, check=False).returncode != 0
        one.lab("down")
        assert (
            other.exec(other.names[0], ["fping", "-q", "-c", "1", other.names[1]]).returncode == 0
        )


def test_under_sudo_the_files_are_the_callers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", "12345")
    monkeypatch.setenv("SUDO_GID", "12346")
    directory = tmp_path / name
    assert run_lab("up", "--name", name, "--dir", str(directory), *FOUR_HOSTS).returncode == 0
    for path in (directory, directory / "id_ed25519", directory / "hosts.txt"):
        assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12346)
    assert tmp_path.stat().st_uid == 0
    argv = ["ssh", "-F", str(directory / "ssh_config"), "n01", "hostname"]
    assert subprocess.check_output(argv, text=True) == "n01\n"


def test_a_locked_root_account_still_logs_in(name: str, tmp_path: Path) -> None:
    locked = tmp_path / "shadow"
    locked.write_text("root:!:19000:0:99999:7:::\n")
    directory = tmp_path / name
    lab = " ".join(program())
    script = (
        f"mount --bind {locked} /etc/shadow &&"
        f" {lab} up --name {name} --dir {directory} --racks 1 --hosts 1 >&2 &&"
        f" ssh -F {directory}/ssh_config n01 hostname; {lab} down --name {name}"
    )
    argv = ["unshare", "--mount", "sh", "-c", script]
    assert subprocess.check_output(argv, text=True) == "n01\n"
    assert traces(name) == NO_TRACES


def test_a_damaged_state_still_comes_down(name: str, tmp_path: Path) -> None:
    assert run_lab("up", "--name", name, "--dir", str(tmp_path), *FOUR_HOSTS).returncode == 0
    Path("/run/plink-lab", name, "state.json").write_text("{")
    assert name in run_lab("status").stderr
    assert "files remain" in run_lab("down", "--name", name).stderr
    assert traces(name) == NO_TRACES


def test_rows_of_racks_are_farther_apart_than_racks_of_a_row(tmp_path: Path) -> None:
    shape = tmp_path / "rows.json"
    shape.write_text(
        json.dumps({"hops": 0, "row_hops": 6, "rows": [{"racks": [1, 1]}, {"racks": [1]}]})
    )
    with lab_cluster(topology=shape) as lab:
        one, neighbour, far = (hosts[0] for hosts in lab.racks.values())
        p10 = p10_us(lab, one, [neighbour, far])
        assert p10[far] > 1.3 * p10[neighbour]
