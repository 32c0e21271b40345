"""`plink check`, `--rounds` and the autotuner's probing again, where a host has moved."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autotune.real_ranks import training
from autotune.serving import SECRET
from labkit import operations
from labkit.registry import ROOT_REGISTRY, Registry
from plink.autotune.log import records
from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.formats import cluster as cluster_file
from plink.formats import document
from plink.formats import plan as plan_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group
from plink.formats.plan import Plan
from plink.optimize.plans.planning import find_plan
from plink.optimize.plans.request import PlanRequest
from support.lab import Lab, lab_cluster
from support.plink_command import Done, plink_argv, plink_here, read_json, ssh_options
from support.running import wait_for

pytestmark = pytest.mark.lab


# A pair that was read at a bad moment would later seem to have changed.
PRECISELY = ("--passes", "4", "--precision", "0")


@dataclass(frozen=True)
class Measured:
    """A lab and the cluster file that was measured in it."""

    lab: Lab
    file: Path

    def check(self, *options: object) -> Done:
        return plink_here("check", self.file, *ssh_options(self.lab), *options)

    def found(self, *options: object) -> tuple[int, dict[str, Any]]:
        done = self.check("--json", *options)
        found: dict[str, Any] = json.loads(done.stdout)
        return done.code, found


# Racks far apart, so that other work on this machine, which lengthens times, hides no change.
@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    file = tmp_path_factory.mktemp("check") / "c.json"
    with lab_cluster(racks=2, hosts=3, hops=16) as lab:
        done = plink_here("probe", lab.hosts_file, *ssh_options(lab), "-o", file, *PRECISELY)
        assert done.code == 0, done.stderr
        yield Measured(lab, file)


def test_an_unchanged_network_is_described(measured: Measured) -> None:
    before = measured.file.read_bytes()
    done = measured.check("--seed", "1")
    assert done.code == 0, done.stdout + done.stderr
    assert "still describes the network" in " ".join(done.stdout.split())
    assert "give --seed 1" in done.stderr
    assert measured.file.read_bytes() == before


def test_a_file_without_bandwidths_leaves_links_unchecked(measured: Measured) -> None:
    _, found = measured.found("--partners", "2")
    assert found["transfers"] is None
    (unchecked,) = found["not_checked"]
    assert "bandwidths" in unchecked


@contextmanager
def moved(lab: Lab) -> Iterator[dict[str, str]]:
    """The first host in the other rack for a while; each host's rack meanwhile."""
    racks: dict[str, str] = lab.truth["hosts"]
    host, home = lab.names[0], racks[lab.names[0]]
    (away,) = set(racks.values()) - {home}
    registry = Registry(ROOT_REGISTRY)
    operations.move(registry, registry.find(lab.name), host, away)
    try:
        yield {**racks, host: away}
    finally:
        operations.move(registry, registry.find(lab.name), host, home)


def test_a_host_that_moved_is_named(measured: Measured) -> None:
    with moved(measured.lab):
        code, found = measured.found("--partners", "2")
    assert code == 4
    (change,) = found["changes"]
    assert change["hosts"] == measured.lab.names[:1]
    # Its two mates are farther away now, three hosts are nearer.
    assert change["longer"] >= 1
    assert change["shorter"] >= 1
    assert change["longer_factor"] > 1.3
    assert change["shorter_factor"] < 0.77


def test_a_host_that_is_down_is_named_and_the_others_are_checked(
    measured: Measured, tmp_path: Path
) -> None:
    down = measured.lab.names[3]
    config = tmp_path / "config"
    config.write_text(f"Host {down}\n  Port 9\n\n" + measured.lab.ssh_config.read_text())
    done = plink_here("check", measured.file, "-F", config, "--json", "--partners", "2")
    assert done.code == 3, done.stderr
    found = json.loads(done.stdout)
    assert not found["changed"]
    assert [host["host"] for host in found["unreachable"]] == [down]
    assert found["changes"] == []
    assert found["hosts"] == 5
    assert 5 * 2 / 2 <= found["pairs"] < 5 * 4 / 2
    assert f"warning: {down}: " in done.stderr


def test_a_host_at_another_address_is_a_change(measured: Measured, tmp_path: Path) -> None:
    data = read_json(measured.file)
    name, address = data["hosts"][2]["name"], data["hosts"][2]["address"]
    data["hosts"][2]["address"] = "10.1.2.3"
    other = tmp_path / "other.json"
    other.write_text(json.dumps(data))
    options = (*ssh_options(measured.lab), "--json", "--partners", "2")
    done = plink_here("check", other, *options)
    assert done.code == 4
    found = json.loads(done.stdout)
    assert found["addresses"] == [{"host": name, "file": "10.1.2.3", "now": address}]
    assert f"warning: {name}: its address is now {address}, but 10.1.2.3 in the" in done.stderr


def test_a_sample_can_be_extended_and_checked(measured: Measured, tmp_path: Path) -> None:
    file, five = tmp_path / "sample.json", "\n".join(measured.lab.names[:5])
    # One pass: further ones may meet pairs outside the sample on which the groups hinge.
    run = ("probe", *ssh_options(measured.lab), "--count", 60, "--passes", 1)
    done = plink_here(*run, "-", "-o", file, "--rounds", 2, "--seed", 5, text=five)
    assert done.code == 0, done.stderr
    # Five hosts: in each of the five rounds one sits out.
    assert "8 of 8 directed pairs (sampled: 2 of 5 rounds)" in done.stderr
    few = read_json(file)["rtt"]
    done = plink_here(*run, "--resume", file, "--rounds", "4")
    assert done.code == 0, done.stderr
    assert "16 of 16 directed pairs (sampled: 4 of 5 rounds)" in done.stderr
    more = read_json(file)["rtt"]
    assert (more["options"]["rounds"], more["options"]["seed"]) == (4, 5)
    for before, after in zip(few["samples"], more["samples"], strict=True):
        assert all(new for old, new in zip(before, after, strict=True) if old)
    assert plink_here(*run, "--resume", file, "--rounds", "all").code == 0
    rtt = read_json(file)["rtt"]
    assert sum(value is None for row in rtt["rtt_us"]["10"] for value in row) == 5
    assert "rounds" not in rtt["options"]


# Fewer probes than the file was measured with are enough to see another rack.
REPROBED_COUNT = 200


def partition(known: Cluster | Plan) -> set[frozenset[str]]:
    return {frozenset(group.hosts) for group in known.groups}


def partition_of_log(path: Path) -> set[frozenset[str]]:
    """The groups of the plan that is tuned; none before one is."""
    try:
        return partition(records.read(str(path))[0].plan)
    except PlinkError:
        return set()


@pytest.fixture
def cluster(measured: Measured, tmp_path: Path) -> Path:
    """A file with the groups that there are."""
    path = tmp_path / "c.json"
    data = read_json(measured.file)
    data["rtt"]["options"]["count"] = REPROBED_COUNT
    document.write_bytes(str(path), document.dump(data))
    known = cluster_file.read_cluster(str(path))
    groups = [Group(rack, hosts) for rack, hosts in measured.lab.racks.items()]
    cluster_file.write_cluster(str(path), replace(known, groups=groups))
    return path


def test_a_job_gets_the_groups_of_a_host_that_moved(
    measured: Measured, cluster: Path, tmp_path: Path
) -> None:
    before = cluster_file.read_cluster(str(cluster))
    plan = find_plan(before, PlanRequest(kind="2lha")).plan
    plan_file.write_plan(str(tmp_path / "plan.json"), plan)
    (tmp_path / "secret").write_bytes(SECRET)
    log = tmp_path / "log"
    arguments = (tmp_path / "plan.json", "--listen", "127.0.0.1:0", "--cluster", cluster)
    more = ("--secret-file", tmp_path / "secret", "--log", log, *ssh_options(measured.lab))
    argv = plink_argv("autotune", "serve", *arguments, *more)
    with moved(measured.lab) as racks:
        expected = {
            frozenset(host for host, rack in racks.items() if rack == each)
            for each in set(racks.values())
        }
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd="/") as daemon:
            try:
                assert daemon.stdout is not None
                port = int(daemon.stdout.readline().split()[0].rpartition(":")[2])
                with training(plan.forest, port) as state:
                    wait_for(lambda: partition_of_log(log) == partition(plan), daemon)
                    daemon.send_signal(signal.SIGUSR1)
                    wait_for(lambda: partition_of_log(log) == expected, daemon)
                    # The first plan once more, with which ranks paused, and the new one.
                    wait_for(lambda: min(state.plans) >= 2, daemon)
            finally:
                daemon.kill()
    renewed = cluster_file.read_cluster(str(cluster))
    assert partition(renewed) == expected
    assert renewed.names == before.names
