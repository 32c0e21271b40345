"""The real Slurm in the lab: it keeps the order, loses it, and takes the topology files."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from plink.cli import run
from plink.deploy.launchers import TOPOLOGIES
from plink.files import cluster as cluster_file
from plink.files.cluster import Cluster, Host
from plink.files.groups import Group
from plink.probes.hosts.ranges import expand, split_outside_brackets
from support.lab import Lab, lab_cluster
from support.slurm import Slurm, require_slurm, slurm_version, start_controller, start_slurm
from verify.orders import write_order

pytestmark = [pytest.mark.lab, pytest.mark.needs("slurm")]

# The first version that takes each format. 23.11 has blocks, too, but not BlockSizes.
SINCE = {
    "slurm-tree": (0, 0),
    "slurm-block": (24, 5),
    "slurm-tree-yaml": (25, 5),
    "slurm-block-yaml": (25, 5),
}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    require_slurm()
    with lab_cluster(racks=2, hosts=2, hops=0) as standing:
        yield standing


def groups(lab: Lab) -> list[Group]:
    return [Group(rack, hosts) for rack, hosts in lab.racks.items()]


@pytest.fixture(scope="module")
def slurm(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Slurm:
    """A Slurm that knows the racks, which must not move ranks."""
    files = {"topology.conf": TOPOLOGIES["slurm-tree"].render(groups(lab))}
    return start_slurm(lab, tmp_path_factory.mktemp("slurm"), "tree", files)


@pytest.fixture
def hosts(lab: Lab) -> list[Host]:
    """In an order that is neither sorted nor the lab's; one has two slots."""
    names = sorted(lab.names)
    random.Random(5).shuffle(names)
    assert names != sorted(names)
    addresses = lab.truth["addresses"]
    return [
        Host(name, addresses[name], slots=2 if rank == 1 else 1) for rank, name in enumerate(names)
    ]


def verify(slurm: Slurm, hosts: list[Host], folder: Path, *own: str) -> tuple[int, str]:
    """The exit code and the output of `plink verify` on the host where Slurm's commands run."""
    order = write_order(folder / "order.json", hosts)
    words = ["verify", str(order), "-F", str(slurm.lab.ssh_config), "--launcher", "slurm", *own]
    done = slurm.run(sys.executable, "-m", "plink", *words, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_host_file_keeps_the_order(slurm: Slurm, hosts: list[Host], tmp_path: Path) -> None:
    expected = "slurm keeps the order: 5 ranks on 4 hosts\n"
    assert verify(slurm, hosts, tmp_path) == (0, expected)


def test_a_list_of_nodes_does_not(slurm: Slurm, hosts: list[Host], tmp_path: Path) -> None:
    hosts = [replace(host, slots=1) for host in hosts]
    own = ["--json", "--", "srun --nodelist=$(paste -sd, FILE) -n RANKS PROGRAM"]
    status, said = verify(slurm, hosts, tmp_path, *own)
    assert status == 4, said
    shown = json.loads(said)
    assert "sorted by name" in shown["reason"]
    found = [rank["found"] for rank in shown["ranks"]]
    assert found == sorted(found)


@pytest.mark.parametrize("name", SINCE)
def test_slurmctld_takes_the_topology(name: str, lab: Lab, tmp_path: Path) -> None:
    if slurm_version() < SINCE[name]:
        pytest.skip(f"needs Slurm {SINCE[name][0]}.{SINCE[name][1]:02d}")
    kind = "block" if "block" in name else "tree"
    file = "topology.yaml" if name.endswith("yaml") else "topology.conf"
    text = TOPOLOGIES[name].render(groups(lab))
    port = 7000 + list(SINCE).index(name)
    slurm = start_controller(lab, tmp_path / "slurm", lab.names[1], kind, {file: text}, port=port)
    shown = slurm.run("scontrol", "show", "topology").stdout
    fields = [dict(word.split("=", 1) for word in line.split()) for line in shown.splitlines()]
    found = {}
    for line in fields:
        nodes = [name for part in split_outside_brackets(line["Nodes"]) for name in expand(part)]
        found[line.get("SwitchName") or line["BlockName"]] = sorted(nodes)
    assert {group.name: found.pop(group.name) for group in groups(lab)} == lab.racks
    assert list(found) == (["plink-root"] if kind == "tree" else [])


def test_hosts_of_an_allocation(
    slurm: Slurm, hosts: list[Host], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = sorted(host.name for host in hosts[1:3])
    said = slurm.run("salloc", f"--nodelist={','.join(names)}", "-n", "3", "env").stdout
    for line in said.splitlines():
        name, _, value = line.partition("=")
        if name.startswith("SLURM_"):
            monkeypatch.setenv(name, value)
    out = tmp_path / "cluster.json"
    words = ["probe", "@slurm", "-F", str(slurm.lab.ssh_config), "--count", "10", "-o", str(out)]
    assert run(words) == 0
    cluster = cluster_file.read(str(out))
    assert [host.name for host in cluster.hosts] == names
    assert sorted(host.slots for host in cluster.hosts) == [1, 2]


@pytest.mark.parametrize(
    "hosts", [("@slurm", "--via", "srun --overlap -N1 -n1 -w {host}"), ("slurm:",)]
)
def test_an_allocation_is_probed_without_ssh(
    hosts: tuple[str, ...], slurm: Slurm, tmp_path: Path
) -> None:
    out = tmp_path / "cluster.json"
    done = slurm.run("salloc", "-N", "3", *probe(*hosts, out=out), check=False)
    assert done.returncode == 0, done.stderr
    check_probed(slurm, out)


def test_a_job_is_probed_from_outside_of_it(slurm: Slurm, tmp_path: Path) -> None:
    # Its one other step has all of it, as a training would.
    batch = ["sbatch", "--parsable", "-N", "3", "-n", "6", "-o", "/dev/null", "-J", "NodeList=x y"]
    job = slurm.run(*batch, "--wrap", "srun sleep 100").stdout.strip()
    out = tmp_path / "cluster.json"
    try:
        waiting = f"until squeue -hj {job} -t R | grep -q .; do sleep 0.1; done"
        slurm.run("timeout", "50", "sh", "-c", waiting)
        done = slurm.run(*probe(f"slurm:{job}", out=out), check=False)
    finally:
        slurm.run("scancel", job, check=False)
    assert done.returncode == 0, done.stderr
    cluster = check_probed(slurm, out)
    assert [host.slots for host in cluster.hosts] == [2, 2, 2]
    # What comes next can be typed anywhere that Slurm's commands are.
    assert cluster.way is not None
    assert cluster.way.via == f"srun --overlap --jobid {job} -N1 -n1 -w {{host}}"
    over = slurm.run(*probe(f"slurm:{job}", out=out), check=False)
    assert over.returncode == 2
    assert f"slurm:{job}: the job is " in over.stderr


def probe(*words: str, out: Path) -> list[str]:
    few = ["--count", "10", "--passes", "1", "-o", str(out)]
    return [sys.executable, "-m", "plink", "probe", *words, *few]


def check_probed(slurm: Slurm, out: Path) -> Cluster:
    cluster = cluster_file.read(str(out))
    assert cluster.rtt is not None
    assert not cluster.rtt.failures
    addresses = slurm.lab.truth["addresses"]
    assert {host.name: host.address for host in cluster.hosts}.items() <= addresses.items()
    assert len(cluster.hosts) == 3
    return cluster
