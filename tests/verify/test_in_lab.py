"""`plink verify` on the real launchers in the lab, keeping orders and losing them."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from plink.base.replacing import replace
from plink.cli import run
from plink.formats import order as order_file
from plink.formats.hosts import Host
from support.lab import Lab, lab_cluster
from support.require import require_launcher
from verify.orders import write_order

pytestmark = [pytest.mark.lab, pytest.mark.needs("mpi")]
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")

PROGRAMS = {"openmpi": "mpirun.openmpi", "openmpi-rankfile": "mpirun.openmpi"}
PROGRAMS |= {"mpich": "mpiexec.hydra"}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_cluster(racks=2, hosts=2) as standing:
        yield standing


@pytest.fixture
def arguments(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The order, whose hosts are neither sorted nor as the lab lists them, and the way there."""
    monkeypatch.setenv("OMPI_MCA_oob_tcp_if_include", lab.truth["subnet"])
    names = sorted(lab.names)
    random.Random(5).shuffle(names)
    assert names != sorted(names)
    hosts = [Host(name, lab.truth["addresses"][name]) for name in names]
    order = write_order(tmp_path / "order.json", hosts)
    return ["verify", str(order), "-F", str(lab.ssh_config)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_mpi_keeps_the_order(
    name: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    require_launcher(PROGRAMS[name])
    assert run([*arguments, "--launcher", name]) == 0
    assert capsys.readouterr().out == f"{name} keeps the order: 4 ranks on 4 hosts\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_ranks_of_a_host_may_be_apart(
    name: str, lab: Lab, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    require_launcher(PROGRAMS[name])
    if (os.cpu_count() or 1) < 2:
        pytest.skip("a rankfile needs a core for each rank of a host")
    order = order_file.read_order(arguments[1])
    hosts = [replace(host, slots=2) for host in order.hosts[:2]]
    write_order(Path(arguments[1]), hosts, [0, 1, 1, 0])
    assert run([*arguments, "--launcher", name]) == 0
    assert capsys.readouterr().out == f"{name} keeps the order: 4 ranks on 2 hosts\n"
    assert run([*arguments, "--launcher", "torchrun"]) == 2
    assert "torchrun numbers the ranks of a host one after" in capsys.readouterr().err


def test_a_plain_host_file_does_not(lab: Lab, arguments: list[str]) -> None:
    require_launcher("mpirun.openmpi")
    third = order_file.read_order(arguments[1]).names[2]
    own = ["--json", "--", "mpirun.openmpi -np RANKS --hostfile FILE PROGRAM"]
    words = [sys.executable, "-m", "plink", *arguments, "--launcher", "openmpi", *own]
    done = lab.exec(third, words, check=False)
    assert done.returncode == 4, done.stderr
    shown = json.loads(done.stdout)
    assert shown["ranks"][0]["found"] == third
    assert f"{third}, where the launcher was started, came first" in shown["reason"]


def test_both_orders_are_shown_and_why_they_differ(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    require_launcher("mpirun.openmpi")
    own = ["--", "mpirun.openmpi -np RANKS --host $(sort FILE | paste -sd,) PROGRAM"]
    assert run([*arguments, "--launcher", "openmpi", "--json", *own]) == 4
    shown = json.loads(capsys.readouterr().out)
    assert shown["kept"] is False
    assert "sorted by name" in shown["reason"]
    found = [rank["found"] for rank in shown["ranks"]]
    assert found == sorted(rank["expected"] for rank in shown["ranks"])
    assert run([*arguments, "--launcher", "openmpi", *own]) == 4
    shown = capsys.readouterr().out
    assert "does not keep the order" in shown
    assert "why: the hosts came sorted by name" in " ".join(shown.split())


@needs_torch
@pytest.mark.timeout(600)
def test_torchrun_keeps_the_order(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Every host imports torch: two are enough.
    write_order(Path(arguments[1]), order_file.read_order(arguments[1]).hosts[:2])
    folder, python = tmp_path / "made", tmp_path / "python"
    folder.mkdir()
    python.write_text(f'#!/bin/sh\nTMPDIR="{folder}" exec {sys.executable} "$@"\n')
    python.chmod(0o700)
    assert run([*arguments, "--launcher", "torchrun", "--python", str(python)]) == 0
    assert "torchrun keeps the order: 2 ranks on 2 hosts" in capsys.readouterr().out
    # torchrun makes one for its logs.
    assert not list(folder.glob("torchelastic_*"))


@pytest.mark.parametrize("name", ["env", "jax"])
def test_environments_keep_the_order(
    name: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, "--launcher", name]) == 0
    assert f"{name} keeps the order: 4 ranks on 4 hosts" in capsys.readouterr().out


def test_a_launcher_that_fails(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    own = ["--launcher", "mpich", "--", "echo PROGRAM >&2; exit 3"]
    assert run([*arguments, *own]) == 1
    assert "the launcher failed (exit status 3)" in capsys.readouterr().err
