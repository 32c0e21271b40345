"""The real launchers start ranks over ssh on the hosts that the files say, in that order."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from plink.files.cluster import Host
from plink.launchers import FORMATS
from support.launchers import PROGRAMS, expected_placement, mpi_command, placement

pytestmark = pytest.mark.lab

LAB = Path(__file__).parents[2] / "scripts" / "lab"

WORKER = """\
import os, socket
import torch
import torch.distributed as dist
assert os.environ["GLOO_SOCKET_IFNAME"] == "eth0", os.environ
dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank())])
dist.all_reduce(total)
assert total.item() == sum(range(dist.get_world_size()))
print("placed", os.environ["RANK"], socket.gethostname(), flush=True)
dist.destroy_process_group()
"""


@dataclass(frozen=True)
class Lab:
    name: str
    folder: Path
    hosts: list[Host]
    subnet: str


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    name, folder = f"l{os.getpid()}", tmp_path_factory.mktemp("lab")
    up = [sys.executable, LAB, "up", "--racks", "2", "--hosts", "2"]
    try:
        subprocess.run([*up, "--name", name, "--dir", folder], check=True, timeout=60)
        truth = json.loads((folder / "truth.json").read_text())
        names = (folder / "hosts.txt").read_text().split()
        random.Random(3).shuffle(names)
        slots = [1, 2 if (os.cpu_count() or 1) > 1 else 1, 1, 1]
        hosts = [
            Host(host, truth["addresses"][host], slots=count)
            for host, count in zip(names, slots, strict=True)
        ]
        yield Lab(name, folder, hosts, truth["subnet"])
    finally:
        subprocess.run([sys.executable, LAB, "down", "--name", name], check=True, timeout=60)


def ssh(lab: Lab, path: Path) -> Path:
    """A program that is ssh with the lab's configuration."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F "{lab.folder}/ssh_config" "$@"\n')
    path.chmod(0o700)
    return path


def mpi(name: str, lab: Lab, tmp_path: Path) -> list[str]:
    program = PROGRAMS[FORMATS[name].usage.split()[0]]
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    path = tmp_path / "file"
    path.write_text(FORMATS[name].render(lab.hosts))
    agent = str(ssh(lab, tmp_path / "ssh"))
    if program == "mpirun.openmpi":
        options = ["--allow-run-as-root", "--mca", "plm_rsh_agent", agent, "--mca", "btl"]
        options += ["tcp,self", "--mca", "btl_tcp_if_include", lab.subnet]
        options += ["--mca", "oob_tcp_if_include", lab.subnet]
        shell = 'echo "placed $OMPI_COMM_WORLD_RANK $(hostname)"'
    else:
        options = ["-launcher", "ssh", "-launcher-exec", agent]
        shell = 'echo "placed $PMI_RANK $(hostname)"'
    return mpi_command(name, path, sum(host.slots for host in lab.hosts), options, shell)


@pytest.mark.parametrize("name", ["openmpi", "openmpi-rankfile", "mpich"])
def test_mpi_from_outside_the_list(name: str, lab: Lab, tmp_path: Path) -> None:
    assert placement(mpi(name, lab, tmp_path)) == expected_placement(lab.hosts)


@pytest.mark.parametrize("name", ["openmpi", "openmpi-rankfile", "mpich"])
def test_mpi_from_the_last_host_of_the_list(name: str, lab: Lab, tmp_path: Path) -> None:
    inside = [sys.executable, str(LAB), "exec", lab.hosts[-1].name, "--name", lab.name, "--"]
    assert placement([*inside, *mpi(name, lab, tmp_path)]) == expected_placement(lab.hosts)


def test_a_loop_over_the_names(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(FORMATS["hosts"].render(lab.hosts))
    programs = ssh(lab, tmp_path / "bin" / "ssh").parent
    usage = FORMATS["hosts"].usage.replace("FILE", str(path))
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    found = subprocess.run(
        ["bash", "-c", usage], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == [host.name for host in lab.hosts]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
@pytest.mark.parametrize(("name", "program"), [("torchrun", "SCRIPT"), ("env", "PROGRAM")])
def test_gloo_on_what_the_lines_say(name: str, program: str, lab: Lab, tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    path = tmp_path / "file"
    path.write_text(FORMATS[name].render(lab.hosts))
    programs = ssh(lab, tmp_path / "bin" / "ssh").parent
    torchrun = programs / "torchrun"
    torchrun.write_text(f'#!/bin/sh\nexec {sys.executable} -m torch.distributed.run "$@"\n')
    torchrun.chmod(0o700)
    command = str(script) if name == "torchrun" else f"{sys.executable} {script}"
    usage = FORMATS[name].usage.replace("FILE", str(path)).replace(program, command)
    # On the hosts the shell finds torchrun where this test put it.
    usage = usage.replace('"$host" "', f'"$host" "PATH={programs}:$PATH; ')
    environment = {"PATH": f"{programs}:{os.environ['PATH']}"}
    found = placement(["bash", "-c", usage], environment, timeout_s=100)
    assert found == expected_placement(lab.hosts)
