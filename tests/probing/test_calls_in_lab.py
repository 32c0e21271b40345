"""Hosts of the lab that call plink: nobody needs a way in."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from plink.formats import cluster as cluster_file
from support.lab import Lab
from support.plink_command import plink_argv, plink_here, wait_until_no_agents
from support.require import require_launcher

pytestmark = pytest.mark.lab

SECRET = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text(SECRET)
    file.chmod(0o600)
    return file


@pytest.fixture
def place(lab: Lab) -> str:
    """Where plink listens."""
    return f"{lab.truth['machine_address']}:7321"


@pytest.fixture
def agents(lab: Lab, secret: Path, place: str) -> Iterator[list[str]]:
    """Agents on two hosts, started before anybody listens."""
    names = lab.names[:2]
    command = plink_argv("agent", "--join", place, "--secret-file", secret)
    processes = [
        subprocess.Popen(lab.command(name, command), stderr=subprocess.PIPE, text=True)
        for name in names
    ]
    try:
        yield names
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            said = process.communicate(timeout=100)[1]
            assert "Traceback" not in said, said


def test_agents_are_probed_and_call_again_for_the_next_command(
    lab: Lab, agents: list[str], secret: Path, place: str, tmp_path: Path
) -> None:
    out = tmp_path / "c.json"
    calling = ("--listen", place, "--secret-file", secret)
    options = ("--expect", "2", "--count", "100", "--passes", "1", "-o", out)
    done = plink_here("probe", *calling, *options)
    assert done.code == 0, done.stderr
    assert "listening on port 7321" in done.stderr
    found = cluster_file.read_cluster(str(out))
    assert {host.name: host.address for host in found.hosts} == {
        name: lab.truth["addresses"][name] for name in agents
    }
    assert found.rtt is not None
    assert not found.rtt.failures

    checked = plink_here("check", out, *calling, "--wait", "60")
    assert checked.code in (0, 4), checked.stderr
    wait_until_no_agents(lab)


def test_wrong_uses_are_told(secret: Path, place: str, tmp_path: Path) -> None:
    out = ("-o", tmp_path / "c.json")
    calling = ("--listen", place, "--secret-file", secret)
    for arguments, said in (
        (("--listen", place), "--listen needs --secret-file"),
        (calling, "--expect N"),
        ((*calling, "--via", "env {host}"), "--via and --listen"),
        ((*calling, "--user", "me", "--expect", "2"), "--listen excludes SSH options"),
        (("h1", "--expect", "2"), "--expect needs --listen"),
        (("h1", "--secret-file", secret), "--secret-file needs --listen"),
    ):
        done = plink_here("probe", *arguments, *out)
        assert done.code == 2, done.stderr
        assert said in done.stderr


@pytest.mark.needs("mpi")
def test_an_mpi_launcher_starts_the_agents(
    lab: Lab, secret: Path, place: str, tmp_path: Path
) -> None:
    require_launcher("mpirun.openmpi")
    names = lab.names[:2]
    hostfile, out = tmp_path / "hostfile", tmp_path / "c.json"
    hostfile.write_text("".join(f"{name} slots=1\n" for name in names))
    agent = plink_argv("agent", "--join", place, "--secret-file", secret, "--once")
    remote = ["--mca", "plm_rsh_agent", f"ssh -F {lab.ssh_config}", "--allow-run-as-root"]
    command = ["mpirun.openmpi", *remote, "--hostfile", str(hostfile), "--map-by", "node", *agent]
    launcher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        calling = ("--listen", place, "--secret-file", secret, "--expect", "2", "--wait", "60")
        done = plink_here("probe", *calling, "--count", "50", "--passes", "1", "-o", out)
        assert done.code == 0, done.stderr
        # Who was there once ends, and the launcher with the last of them.
        said = launcher.communicate(timeout=100)[0]
        assert launcher.returncode == 0, said
    finally:
        launcher.kill()
        launcher.wait()
    assert sorted(cluster_file.read_cluster(str(out)).names) == sorted(names)
