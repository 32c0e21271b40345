"""The real launchers start ranks over ssh on the hosts that the files say, in that order."""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from plink.deploy.launchers import FORMATS
from plink.formats.hosts import Host
from support.lab import Lab, lab_cluster, program
from support.launchers import PROGRAMS, expected_placement, mpi_command, placement
from support.require import require_launcher

pytestmark = [pytest.mark.lab, pytest.mark.needs("mpi")]
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")

# All of these on all hosts would be nine imports of torch: one kind of line
# proves that Gloo runs on it, the other that torchrun numbers ranks by it. Both write a line at
# once, because print may write it in pieces, between which others' come.
TORCHRUN_WORKER = """\
import os, socket
assert os.environ["GLOO_SOCKET_IFNAME"] == "eth0", os.environ
os.write(1, f"placed {os.environ['RANK']} {socket.gethostname()}\\n".encode())
"""

GLOO_WORKER = """\
import os, socket
import torch
import torch.distributed as dist
assert os.environ["GLOO_SOCKET_IFNAME"] == "eth0", os.environ
dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank())])
dist.all_reduce(total)
assert total.item() == sum(range(dist.get_world_size()))
os.write(1, f"placed {dist.get_rank()} {socket.gethostname()}\\n".encode())
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_cluster(racks=2, hosts=2) as standing:
        yield standing


@pytest.fixture(scope="module")
def hosts(lab: Lab) -> list[Host]:
    """The hosts in an order that is neither theirs nor the list's; one has two slots."""
    names = lab.names
    random.Random(3).shuffle(names)
    slots = [1, 2 if (os.cpu_count() or 1) > 1 else 1, 1, 1]
    return [
        Host(name, lab.truth["addresses"][name], slots=count)
        for name, count in zip(names, slots, strict=True)
    ]


def ssh(lab: Lab, path: Path) -> Path:
    """A program that is ssh with the lab's configuration."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F "{lab.ssh_config}" "$@"\n')
    path.chmod(0o700)
    return path


def mpi(name: str, lab: Lab, hosts: list[Host], tmp_path: Path) -> list[str]:
    launcher = PROGRAMS[FORMATS[name].usage.split()[0]]
    require_launcher(launcher)
    path = tmp_path / "file"
    path.write_text(FORMATS[name].render(hosts))
    agent = str(ssh(lab, tmp_path / "ssh"))
    if launcher == "mpirun.openmpi":
        options = ["--allow-run-as-root", "--mca", "plm_rsh_agent", agent, "--mca", "btl"]
        options += ["tcp,self", "--mca", "btl_tcp_if_include", lab.truth["subnet"]]
        options += ["--mca", "oob_tcp_if_include", lab.truth["subnet"]]
        shell = 'echo "placed $OMPI_COMM_WORLD_RANK $(hostname)"'
    else:
        options = ["-launcher", "ssh", "-launcher-exec", agent]
        shell = 'echo "placed $PMI_RANK $(hostname)"'
    return mpi_command(name, path, sum(host.slots for host in hosts), options, shell)


@pytest.mark.parametrize("name", ["openmpi", "openmpi-rankfile", "mpich"])
def test_mpi_from_outside_the_list(name: str, lab: Lab, hosts: list[Host], tmp_path: Path) -> None:
    assert placement(mpi(name, lab, hosts, tmp_path)) == expected_placement(hosts)


@pytest.mark.parametrize("name", ["openmpi", "openmpi-rankfile", "mpich"])
def test_mpi_from_the_last_host_of_the_list(
    name: str, lab: Lab, hosts: list[Host], tmp_path: Path
) -> None:
    inside = [*program(), "exec", "--name", lab.name, hosts[-1].name, "--"]
    assert placement([*inside, *mpi(name, lab, hosts, tmp_path)]) == expected_placement(hosts)


def test_a_loop_over_the_names(lab: Lab, hosts: list[Host], tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(FORMATS["hosts"].render(hosts))
    programs = ssh(lab, tmp_path / "bin" / "ssh").parent
    usage = FORMATS["hosts"].usage.replace("FILE", str(path))
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    found = subprocess.run(
        ["bash", "-c", usage], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == [host.name for host in hosts]


def run_lines(name: str, blank: str, command: str, programs: Path, hosts: list[Host]) -> list[str]:
    """Run the usage line of a format whose lines are for a shell on each host."""
    path = programs / "file"
    path.write_text(FORMATS[name].render(hosts))
    usage = FORMATS[name].usage.replace("FILE", str(path)).replace(blank, command)
    # On the hosts the shell finds torchrun where this test put it.
    usage = usage.replace('"$host" "', f'"$host" "PATH={programs}:$PATH; ')
    environment = {"PATH": f"{programs}:{os.environ['PATH']}"}
    return placement(["bash", "-c", usage], environment, timeout_s=200)


@needs_torch
@pytest.mark.timeout(600)
def test_torchrun(lab: Lab, hosts: list[Host], tmp_path: Path) -> None:
    programs = ssh(lab, tmp_path / "bin" / "ssh").parent
    torchrun = programs / "torchrun"
    run = f"{sys.executable} -m torch.distributed.run --log-dir={tmp_path}"
    torchrun.write_text(f'#!/bin/sh\nexec {run} "$@"\n')
    torchrun.chmod(0o700)
    script = tmp_path / "worker.py"
    script.write_text(TORCHRUN_WORKER)
    found = run_lines("torchrun", "SCRIPT", str(script), programs, hosts[:3])
    assert found == expected_placement(hosts[:3])


@needs_torch
@pytest.mark.timeout(600)
def test_gloo_on_environments(lab: Lab, hosts: list[Host], tmp_path: Path) -> None:
    programs = ssh(lab, tmp_path / "bin" / "ssh").parent
    script = tmp_path / "worker.py"
    script.write_text(GLOO_WORKER)
    found = run_lines("env", "PROGRAM", f"{sys.executable} {script}", programs, hosts[:2])
    assert found == expected_placement(hosts[:2])
