"""`plink probe --tool dpdk` in the lab, and what may go wrong there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from plink.formats import cluster as cluster_file
from support.lab import Lab, lab_cluster
from support.pairs import measured, pairs_among
from support.plink_command import (
    agents_on,
    plink_argv,
    plink_here,
    read_json,
    ssh_options,
    wait_until_no_agents,
)
from support.require import require_dpdk
from support.running import started, wait_for

pytestmark = pytest.mark.lab

QUICK = ("--tool", "dpdk", "--count", 100, "--passes", 1)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    require_dpdk()
    with lab_cluster(racks=2, hosts=2) as lab:
        yield lab


def test_racks_are_told_apart(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    done = plink_here("probe", lab.hosts_file, *ssh_options(lab), "-o", out, *QUICK)
    assert done.code == 0, done.stderr
    assert "share a machine: 1 pair at a time" in done.stderr
    cluster = cluster_file.read_cluster(str(out))
    assert cluster.rtt is not None
    assert cluster.rtt.tool == "dpdk"
    readings = cluster.rtt.readings_us
    racks = np.array([lab.truth["hosts"][name] for name in cluster.names])
    same = racks[:, None] == racks[None, :]
    assert np.isnan(readings).sum() == 4
    assert np.nanmedian(readings[same]) < np.nanmedian(readings[~same])
    wait_until_no_agents(lab)


def test_two_runs_at_the_same_time(lab: Lab, tmp_path: Path) -> None:
    outs = [tmp_path / "a.json", tmp_path / "b.json"]
    hosts, names = tmp_path / "hosts.txt", lab.names[:2]
    hosts.write_text("\n".join(names))
    argv = plink_argv("probe", hosts, *ssh_options(lab), *QUICK)
    runs = [subprocess.Popen([*argv, "-o", str(out)], stderr=subprocess.PIPE) for out in outs]
    for run, out in zip(runs, outs, strict=True):
        _, complaint = run.communicate(timeout=100)
        assert run.returncode == 0, complaint
        assert measured(out) == pairs_among(names)


def test_a_killed_agent_costs_one_host_and_resume_fills_it_in(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    victim, *others = lab.names
    options = (*ssh_options(lab), "--tool", "dpdk", "--count", 2000, "--passes", 1)

    with started("probe", lab.hosts_file, "-o", out, *options) as run:
        wait_for(lambda: agents_on(lab, victim), run)
        pid = agents_on(lab, victim)[0]
        os.kill(pid, signal.SIGKILL)
        _, complaint = run.communicate()
    # DPDK's folder, where the agent was still starting.
    for folder in Path("/tmp").glob(f"plink-{pid}-*"):
        shutil.rmtree(folder)
    assert run.returncode == 3, complaint
    assert f"warning: {victim}: its echo agent ended" in complaint
    assert measured(out) == pairs_among(others)
    done = plink_here("probe", *ssh_options(lab), "--resume", out, *QUICK)
    assert done.code == 0, done.stderr
    assert measured(out) == pairs_among(lab.names)


def test_an_interface_of_another_kind_is_named(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    for number, name in enumerate(lab.names, start=1):
        lab.exec(name, ["ip", "address", "add", f"127.9.0.{number}/8", "dev", "lo"])
    done = plink_here(
        "probe", lab.hosts_file, *ssh_options(lab), "-o", out, *QUICK, "--network", "127.9.0.0/16"
    )
    assert done.code == 1
    assert "its interface lo is not Ethernet, which DPDK needs" in done.stderr
    assert not out.exists()


def test_nics_of_the_agents_own(lab: Lab, tmp_path: Path) -> None:
    """A second interface of two hosts, which the kernel does not use, on one cable."""
    out, nics = tmp_path / "c.json", tmp_path / "nics"
    first, second = lab.names[:2]
    spaces = [f"plink.{lab.name}.{name}" for name in (first, second)]
    add = f"ip link add own0 netns {spaces[0]} type veth peer name own0 netns {spaces[1]}"
    subprocess.run(add.split(), check=True)
    for name in (first, second):
        lab.exec(name, ["ip", "link", "set", "own0", "up"])
    nics.write_text(
        f"{first} net_af_packet0,iface=own0 10.200.0.1/24\n"
        f"{second} net_af_packet0,iface=own0 10.200.0.2/24\n"
    )
    text = f"{first}\n{second}\n"
    run = ("probe", "-", *ssh_options(lab), *QUICK)
    done = plink_here(*run, "-o", out, "--nics", nics, text=text)
    assert done.code == 0, done.stderr
    assert measured(out) == pairs_among([first, second])
    assert read_json(out)["rtt"]["options"]["nics"] == nics.read_text().splitlines()
    other = tmp_path / "other"
    other.write_text(nics.read_text().replace("own0", "own1"))
    done = plink_here(*run, "--resume", out, "--nics", other, text=text)
    assert done.code == 2
    assert "was measured with other NICs" in done.stderr
