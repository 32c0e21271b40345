"""Real launchers on hosts of one lab: ranks follow the order, whatever the launcher's own is."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import plink.renumber
from plink.base.errors import EXIT_CHANGED
from plink.cli import run
from support.lab import Lab, lab_cluster
from support.launchers import placement
from support.require import require_launcher
from support.slurm import require_slurm, start_slurm
from torchrun.networks import order_of

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")

WORKER = Path(__file__).with_name("worker.py")
PLINK = [sys.executable, "-m", "plink"]
WITHIN_S = 400.0
STOP_S = 40.0

PROGRAM = r"""
#include <stdio.h>
#include <unistd.h>
#include "plink_mpi.h"
int main(int count, char **words) {
  MPI_Comm ordered;
  int rank;
  char host[256], line[512];
  MPI_Init(&count, &words);
  plink_mpi_split(MPI_COMM_WORLD, &ordered);
  MPI_Comm_rank(ordered, &rank);
  gethostname(host, sizeof host);
  int length = snprintf(line, sizeof line, "placed %d %s\n", rank, host);
  if (write(1, line, length) < 0) return 1;
  MPI_Finalize();
}
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_cluster(racks=2, hosts=2, hops=16) as standing:
        yield standing


@pytest.fixture
def names(lab: Lab) -> list[str]:
    """The hosts in an order that is neither the list's nor sorted."""
    a, b, c, d = lab.names
    ranked = [c, a, d, b]
    assert ranked != sorted(ranked)
    return ranked


@pytest.fixture
def order(names: list[str], tmp_path: Path) -> str:
    order_of(names).save(tmp_path / "order.json")
    return str(tmp_path / "order.json")


def start(lab: Lab, hosts: Sequence[str], commands: Sequence[list[str]]) -> list[str]:
    """Run a command on every host at once; the host of every rank, as `placed RANK HOST` says."""
    with ExitStack() as stack:
        # Files: a pipe that is not read yet would block who writes much to it.
        folder = Path(stack.enter_context(TemporaryDirectory()))
        processes = []
        for host, command in zip(hosts, commands, strict=True):
            with (
                (folder / f"{host}.out").open("w") as out,
                (folder / f"{host}.err").open("w") as err,
            ):
                process = subprocess.Popen(
                    lab.command(host, command), cwd="/", stdout=out, stderr=err
                )
            stack.callback(stop, process)
            processes.append(process)
        deadline = time.monotonic() + WITHIN_S
        codes: list[int | None] = [None]
        # Others may wait for one that has failed.
        while None in codes and not any(codes) and time.monotonic() < deadline:
            time.sleep(0.1)
            codes = [process.poll() for process in processes]
        assert codes == [0] * len(hosts), "\n".join(
            f"{host} ({code}):\n{(folder / f'{host}.err').read_text()[-6000:]}"
            for host, code in zip(hosts, codes, strict=True)
        )
        said = "".join((folder / f"{host}.out").read_text() for host in hosts).splitlines()
    placed = [line.split() for line in said if line.startswith("placed ")]
    found = {int(rank): host for _, rank, host in placed}
    assert sorted(found) == list(range(len(hosts)))
    return [found[rank] for rank in sorted(found)]


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and, where it is an agent of torchrun, first its workers."""
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def by_hand(lab: Lab, command: list[str]) -> list[str]:
    """A shell loop's variables, in the order of the lab's list."""
    address = lab.truth["addresses"][lab.names[0]]
    told = [f"WORLD_SIZE={len(lab.names)}", f"MASTER_ADDR={address}", "MASTER_PORT=29511"]
    loop = [["env", f"RANK={rank}", *told, *command] for rank in range(len(lab.names))]
    return start(lab, lab.names, loop)


def crossings(lab: Lab, ranked: list[str]) -> int:
    """How often a ring of these hosts leaves a rack."""
    racks = [lab.truth["hosts"][host] for host in ranked]
    return sum(one != other for one, other in zip(racks, racks[1:] + racks[:1], strict=True))


@needs_torch
def test_a_training_measures_its_hosts_by_one_line(lab: Lab, tmp_path: Path) -> None:
    assert crossings(lab, lab.names) > 0
    worker = [sys.executable, str(WORKER), f"probe:{tmp_path}", "-"]
    ranked = by_hand(lab, ["GLOO_SOCKET_IFNAME=eth0", *worker])
    assert sorted(ranked) == sorted(lab.names)
    assert crossings(lab, ranked) == 2


def by_torchrun(lab: Lab, hosts: Sequence[str], logs: Path, words: list[str]) -> list[str]:
    """A process on each of these hosts, started by torchrun."""
    # At this level agents say when they rendezvous, restart workers and wait for each other.
    torchrun = [
        *("LOGLEVEL=INFO", "GLOO_SOCKET_IFNAME=eth0"),
        *(sys.executable, "-m", "torch.distributed.run"),
        *(f"--nnodes={len(hosts)}", "--nproc-per-node=1", "--max-restarts=2"),
        *("--monitor-interval=0.1", "--rdzv-id=job", "--rdzv-backend=c10d"),
        *(f"--rdzv-endpoint={lab.truth['addresses'][hosts[0]]}:29400", f"--log-dir={logs}"),
    ]
    # An agent that was silent for 15 s is given up otherwise, and never told when others restart.
    patient = f"keep_alive_max_attempt={WITHIN_S / 5:.0f}"
    commands = [
        ["env", *torchrun, f"--rdzv-conf=is_host={int(not place)},{patient}", *words]
        for place, _ in enumerate(hosts)
    ]
    return start(lab, hosts, commands)


@needs_torch
def test_torchrun_restarts_a_training_in_the_same_order(lab: Lab, tmp_path: Path) -> None:
    here = lab.names[:2]
    order_of(sorted(here, reverse=True)).save(tmp_path / "order.json")
    worker = [str(WORKER), str(tmp_path / "order.json"), str(tmp_path / "died")]
    assert by_torchrun(lab, here, tmp_path, worker) == sorted(here, reverse=True)
    assert (tmp_path / "died").exists()


@needs_torch
def test_torchrun_restarts_a_command_in_the_same_order(lab: Lab, tmp_path: Path) -> None:
    here = sorted(lab.names)[:2]
    order_of(here[::-1]).save(tmp_path / "order.json")
    # In the first attempt rank 0 fails once rank 1 runs, which ends only when it is stopped.
    program = (
        f'cd "{tmp_path}"; if mkdir first.$RANK; then [ $RANK = 0 ] || exec sleep 600; '
        "until [ -d first.1 ]; do sleep 0.1; done; exit 1; fi; "
        'test $GROUP_RANK = $RANK && echo "placed $RANK $(hostname)"'
    )
    words = [*PLINK, "renumber", "--order", str(tmp_path / "order.json"), "--", "sh", "-c", program]
    assert by_torchrun(lab, here, tmp_path, ["--no-python", *words]) == here[::-1]


def test_a_command_is_run_in_its_place(lab: Lab, names: list[str], order: str) -> None:
    words = [*PLINK, "renumber", "--order", order, "--within", "60", "--", "sh", "-c"]
    assert by_hand(lab, [*words, 'echo "placed $RANK $(hostname)"']) == names
    lone = ["env", "RANK=0", "WORLD_SIZE=1", "PLINK_MEETING=127.0.0.1:29512", *words, "kill -9 $$"]
    done = lab.exec(lab.names[0], lone, check=False)
    assert done.returncode in (-9, 137)
    done = lab.exec(lab.names[0], [*lone[:-1], "exit 7"], check=False)
    assert done.returncode == 7


@pytest.mark.needs("slurm")
def test_srun_runs_a_command_in_the_order(
    lab: Lab, names: list[str], order: str, tmp_path: Path
) -> None:
    require_slurm()
    switches = "".join(
        f"SwitchName={rack} Nodes={','.join(nodes)}\n" for rack, nodes in lab.racks.items()
    )
    topology = f"{switches}SwitchName=spine Switches={','.join(lab.racks)}\n"
    slurm = start_slurm(lab, tmp_path / "slurm", "tree", {"topology.conf": topology})
    first = sorted(lab.names)[0]
    meeting = f"{lab.truth['addresses'][first]}:29513"
    words = [*PLINK, "renumber", "--order", order, "--meet", meeting, "--", "sh", "-c"]
    program = 'echo "placed $SLURM_PROCID $(hostname)"; test $SLURM_NODEID = $SLURM_PROCID'
    done = slurm.run("srun", "-N", "4", "-n", "4", *words, program)
    found = sorted(line.split()[1:] for line in done.stdout.splitlines())
    assert found == [[str(rank), name] for rank, name in enumerate(names)]


KEY = """
import os, socket, sys
import plink
key = plink.mpi_key(*sys.argv[1:2], meeting=next(iter(sys.argv[2:]), None))
os.write(1, f"placed {key} {socket.gethostname()}\\n".encode())
"""


@pytest.mark.needs("mpi")
@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_an_mpi_program_gets_a_communicator_or_a_key_in_the_order(
    library: str, lab: Lab, names: list[str], order: str, tmp_path: Path
) -> None:
    launcher = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.hydra"}[library]
    require_launcher(launcher)
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    folder = plink.renumber.__path__[0]
    compiler = ["env", f"OMPI_CC={shutil.which('cc')}", f"mpicc.{library}", f"-I{folder}"]
    subprocess.run([*compiler, "-o", str(program), str(source)], check=True)
    agent = tmp_path / "ssh"
    agent.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F "{lab.ssh_config}" "$@"\n')
    agent.chmod(0o700)
    hosts = tmp_path / "hosts"
    hosts.write_text("".join(f"{name}\n" for name in lab.names))
    subnet = lab.truth["subnet"]
    options = {
        "openmpi": [
            *("--allow-run-as-root", "--hostfile", str(hosts), "--mca", "plm_rsh_agent"),
            *(str(agent), "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", subnet),
            *("--mca", "oob_tcp_if_include", subnet, "--map-by", "node", "-n", "4"),
        ],
        "mpich": ["-f", str(hosts), "-launcher", "ssh", "-launcher-exec", str(agent), "-n", "4"],
    }[library]
    meeting = f"{lab.truth['addresses'][lab.names[0]]}:29514"
    renumbered = [*PLINK, "renumber", "--order", order, "--meet", meeting, "--"]
    key = [sys.executable, "-c", KEY]
    for words in ([*renumbered, str(program)], [*renumbered, *key], [*key, order, meeting]):
        assert placement([launcher, *options, *words], {"PATH": os.environ["PATH"]}) == names
    # Once more by `plink verify`, which tells an order that is followed from another one.
    order_of(sorted(names)).save(tmp_path / "sorted.json")
    command = f"{shlex.join([launcher, *options, *renumbered])} PROGRAM"
    for asked, code in ((order, 0), (str(tmp_path / "sorted.json"), EXIT_CHANGED)):
        assert run(["verify", asked, "--launcher", "renumber", "--", command]) == code
