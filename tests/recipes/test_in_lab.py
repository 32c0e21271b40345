"""The recipes' own lines, run in the lab."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recipes.blocks import block
from support.lab import Lab, lab_cluster
from support.plink_command import forget_disturbance

pytestmark = pytest.mark.lab

# What a reader has on the path, as commands of this very Python; little is sent by each probe.
PLINK = """#!/bin/sh
[ "$1" != probe ] || set -- "$@" --count 30 --passes 1
exec {python} -P -m plink "$@"
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_cluster(racks=2, hosts=2, hops=2) as standing:
        yield standing


@pytest.fixture
def folder(lab: Lab, tmp_path: Path) -> Path:
    """An empty folder with the host list; its home has the lab's SSH configuration."""
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text(lab.ssh_config.read_text())
    (tmp_path / "hosts.txt").write_text(lab.hosts_file.read_text())
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "plink"
    program.write_text(PLINK.format(python=sys.executable))
    program.chmod(0o755)
    return tmp_path


def follow(folder: Path, lines: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run lines of a shell as the user whose home the folder is."""
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", lines],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "PATH": path, **more},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def order_in(file: Path) -> list[str]:
    return [host["name"] for host in json.loads(file.read_text())["hosts"]]


def test_behind_a_bastion(lab: Lab, folder: Path) -> None:
    bastion, *others = lab.names
    (folder / "hosts.txt").write_text("\n".join(others))
    text = block("Behind a bastion", "")
    text = text.replace("203.0.113.7", lab.truth["addresses"][bastion]).replace("bastion", bastion)
    text = text.replace("gpu*", " ".join(others))
    (folder / "ssh_config").write_text(text + lab.ssh_config.read_text())
    # Where a session comes from is where its connection does.
    lines = block("Behind a bastion").replace("on $(hostname)", "on $(hostname) $SSH_CONNECTION")
    done = follow(folder, lines)
    said = [line.split() for line in done.stdout.splitlines() if "rank" in line and "] " in line]
    assert sorted(words[4] for words in said) == sorted(others)
    assert {words[5] for words in said} == {lab.truth["addresses"][bastion]}


def test_eight_gpus_a_host(lab: Lab, folder: Path) -> None:
    follow(folder, block("Eight GPUs a host"))
    hosts = order_in(folder / "order.json")
    lines = (folder / "hostfile").read_text().splitlines()
    assert [line.split()[0] for line in lines] == [host for host in hosts for _ in range(8)]
    mesh = json.loads((folder / "mesh.json").read_text())
    assert sorted(order_in(folder / "mesh.json")) == sorted(lab.names)
    assert "tp" in json.dumps(mesh)


def test_spot_machines(lab: Lab, folder: Path) -> None:
    *left, gone = lab.names
    # The readings of so short a probe may not hold; what `check` says has tests of its own.
    first, _, rest = block("Spot machines").split("\n", 2)
    # At first one has not come yet, and later another has gone.
    (folder / "hosts.txt").write_text("\n".join([gone, *left[1:]]))
    follow(folder, first)
    forget_disturbance(folder / "cluster.json")
    (folder / "now.txt").write_text("\n".join(left))
    done = follow(folder, rest)
    known = json.loads((folder / "cluster.json").read_text())
    now = json.loads((folder / "now.json").read_text())
    assert [host["name"] for host in now["hosts"]] == left
    assert [host["name"] for host in known["hosts"]] == [gone, *left[1:]]
    for one in left[1:]:
        for other in left[1:]:
            if one != other:
                assert reading(now, one, other) == reading(known, one, other)
    assert "6 of 6 directed pairs" in done.stderr
    assert sorted(order_in(folder / "order.json")) == sorted(left)


def reading(cluster: dict[str, Any], one: str, other: str) -> float:
    names = [host["name"] for host in cluster["hosts"]]
    value: float = cluster["rtt"]["rtt_us"]["10"][names.index(one)][names.index(other)]
    return value
