"""The real Open MPI and MPICH place ranks as the files say.

A stand-in for ssh starts what it is told on this machine and tells the ranks which host they
are on: what the launchers make of names, files and options is theirs. No address is reached.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from plink.deploy.launchers import FORMATS
from plink.formats.hosts import Host
from support.launchers import PROGRAMS, expected_placement, mpi_command, placement
from support.require import require_launcher

pytestmark = pytest.mark.needs("mpi")

# A daemon of Open MPI keeps its state under TMPDIR, named after the machine: one each.
AGENT = """\
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
PLACED_ON=$1 TMPDIR=$(mktemp -d -p "$TMPDIR")
export PLACED_ON TMPDIR
shift
exec sh -c "$*"
"""

TWO_SLOTS = 2 if (os.cpu_count() or 1) > 1 else 1


@pytest.fixture
def folder() -> Iterator[Path]:
    # Short, because sockets are made below it.
    with tempfile.TemporaryDirectory(prefix="pl", dir="/tmp", ignore_cleanup_errors=True) as path:
        yield Path(path)


def run(name: str, hosts: list[Host], folder: Path, extra: list[str] | None = None) -> list[str]:
    program = PROGRAMS[FORMATS[name].usage.split()[0]]
    require_launcher(program)
    agent = folder / "agent"
    agent.write_text(AGENT)
    agent.chmod(0o700)
    path = folder / "file"
    path.write_text(FORMATS[name].render(hosts))
    if program == "mpirun.openmpi":
        options = ["--allow-run-as-root", "--mca", "plm_rsh_agent", str(agent), *(extra or [])]
        shell = 'echo "placed $OMPI_COMM_WORLD_RANK $PLACED_ON"'
    else:
        options = ["-launcher", "ssh", "-launcher-exec", str(agent), *(extra or [])]
        shell = 'echo "placed $PMI_RANK $PLACED_ON"'
    ranks = sum(host.slots for host in hosts)
    return placement(mpi_command(name, path, ranks, options, shell), {"TMPDIR": str(folder)})


@pytest.mark.parametrize("name", ["openmpi", "openmpi-rankfile", "mpich"])
def test_order_and_slots_are_kept(name: str, folder: Path) -> None:
    names = ["gpu4", "gpu10", "gpu2", "gpu1", "gpu3"]
    hosts = [Host(text, "10.0.0.1", slots=TWO_SLOTS if text == "gpu2" else 1) for text in names]
    assert run(name, hosts, folder) == expected_placement(hosts)


@pytest.mark.parametrize("name", ["openmpi", "openmpi-rankfile", "mpich"])
def test_addresses_as_names(name: str, folder: Path) -> None:
    hosts = [Host(text, text) for text in ["10.255.0.3", "10.255.0.1", "10.255.0.2"]]
    assert run(name, hosts, folder) == expected_placement(hosts)


def test_mpich_takes_what_open_mpi_does_not(folder: Path) -> None:
    names = ["a_b", "007", "slots", "c.x.org", "c.y.org"]
    hosts = [Host(text, "10.0.0.1") for text in names]
    assert run("mpich", hosts, folder) == names


def test_open_mpi_cuts_names_at_the_dot_unless_told(folder: Path) -> None:
    hosts = [Host(text, "10.0.0.1") for text in ["gpu2.example.org", "gpu1.example.org"]]
    assert run("openmpi", hosts, folder) == ["gpu2", "gpu1"]
    keep = ["--mca", "orte_keep_fqdn_hostnames", "1"]
    assert run("openmpi", hosts, folder, keep) == expected_placement(hosts)


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_shuffled(name: str, folder: Path) -> None:
    names = [f"n{number:02d}" for number in range(8)]
    random.Random(7).shuffle(names)
    hosts = [Host(text, "10.0.0.1") for text in names]
    assert run(name, hosts, folder) == names


@pytest.mark.parametrize("name", ["openmpi", "openmpi-rankfile", "mpich"])
def test_ranks_of_a_host_that_are_apart(name: str, folder: Path) -> None:
    hosts = [Host("hb", "hb"), Host("ha", "ha"), *([Host("hb", "hb")] if TWO_SLOTS > 1 else [])]
    assert run(name, hosts, folder) == expected_placement(hosts)
