"""The recipe for torchrun on Slurm, run by both in the lab."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recipes.blocks import block
from support.lab import Lab, lab_cluster
from support.require import require_client
from support.slurm import require_slurm, start_slurm

pytestmark = [pytest.mark.lab, pytest.mark.needs("slurm")]

PROGRAMS = {
    "plink": '[ "$1" != probe ] || set -- "$@" --count 30 --passes 1\n'
    f'exec {sys.executable} -P -m plink "$@"\n',
    "torchrun": f'exec {sys.executable} -m torch.distributed.run --log-dir=logs "$@"\n',
}
LIMIT_S = 110


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    require_slurm()
    require_client("gloo")
    with lab_cluster(racks=1, hosts=2, hops=0) as standing:
        yield standing


def test_ranks_are_where_the_order_says(lab: Lab, tmp_path: Path) -> None:
    slurm = start_slurm(lab, tmp_path / "slurm", "tree", {"topology.conf": everything(lab)})
    work = tmp_path / "work"
    (work / ".ssh").mkdir(parents=True)
    (work / ".ssh" / "config").write_text(lab.ssh_config.read_text())
    for name, text in PROGRAMS.items():
        program = work / name
        program.write_text(f"#!/bin/sh\n{text}")
        program.chmod(0o755)
    lines = block("torchrun on Slurm")
    assert lines.count("torchrun train.py") == 1
    script = """torchrun --no-python sh -c 'echo "says $RANK $WORLD_SIZE $(hostname)"'"""
    lines = f"set -eu\ncd {work}\n{lines.replace('torchrun train.py', script)}"
    environment = [
        f"SLURM_CONF={slurm.conf}",
        f"HOME={work}",
        f"PATH={work}:{os.environ['PATH']}",
        "RANKS_PER_NODE=2",
    ]
    allocation = ["salloc", "--nodes=2", "--ntasks-per-node=1", "bash", "-c", lines]
    done = subprocess.run(
        lab.command(slurm.host, ["env", *environment, *allocation]),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    order = (work / "hostfile").read_text().split()
    assert sorted(order) == sorted(lab.names)
    said = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("says ")]
    assert sorted(said) == [[str(rank), "4", order[rank // 2]] for rank in range(4)]


def everything(lab: Lab) -> str:
    """A topology of one switch."""
    return f"SwitchName=all Nodes={','.join(lab.names)}\n"
