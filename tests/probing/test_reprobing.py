"""The autotuner probes real hosts again, one of which stands in another rack than its plan says."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.holding import training
from autotune.serving import SECRET, TIMEOUT_S
from plink.errors import PlinkError
from plink.files import autotune_log, document
from plink.files import cluster as cluster_file
from plink.files import plan as plan_file
from plink.files.cluster import Cluster
from plink.files.groups import Group
from plink.files.plan import Plan
from plink.planning.solve import Task, solve_plan
from probing.measured import Measured
from support.plink_command import plink_argv, read_json, ssh_options
from support.running import wait_for

pytestmark = pytest.mark.lab

# Fewer probes than the file was measured with are enough to see another rack.
COUNT = 200


def partition(known: Cluster | Plan) -> set[frozenset[str]]:
    return {frozenset(group.hosts) for group in known.groups}


def partition_of_log(path: Path) -> set[frozenset[str]]:
    """The groups of the plan that is tuned; none before one is."""
    try:
        return partition(autotune_log.read(str(path))[0].plan)
    except PlinkError:
        return set()


@pytest.fixture
def cluster(measured: Measured, tmp_path: Path) -> Path:
    """A file with the groups that there are."""
    path = tmp_path / "c.json"
    data = read_json(measured.file)
    data["rtt"]["options"]["count"] = COUNT
    document.write_bytes(str(path), document.dump(data))
    known, _ = cluster_file.read(str(path))
    groups = [Group(rack, hosts) for rack, hosts in measured.lab.racks.items()]
    cluster_file.write(str(path), replace(known, groups=groups))
    return path


def test_a_job_gets_the_groups_of_a_host_that_moved(
    measured: Measured, cluster: Path, tmp_path: Path
) -> None:
    before, _ = cluster_file.read(str(cluster))
    plan = solve_plan(before, None, Task("2lha")).plan
    plan_file.write(str(tmp_path / "plan.json"), plan)
    (tmp_path / "secret").write_bytes(SECRET)
    log = tmp_path / "log"
    arguments = (tmp_path / "plan.json", "--listen", "127.0.0.1:0", "--cluster", cluster)
    more = ("--secret-file", tmp_path / "secret", "--log", log, *ssh_options(measured.lab))
    argv = plink_argv("autotune", *arguments, *more)
    racks = measured.lab.truth["hosts"]
    moved, home = measured.lab.names[0], racks[measured.lab.names[0]]
    away = next(rack for rack in sorted(set(racks.values())) if rack != home)
    now = {**racks, moved: away}
    expected = {
        frozenset(host for host, rack in now.items() if rack == each) for each in (home, away)
    }
    measured.lab.lab("move", moved, away)
    try:
        with (
            subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd="/") as daemon,
        ):
            assert daemon.stdout is not None
            port = int(daemon.stdout.readline().split()[0].rpartition(":")[2])
            with training(plan.forest, port) as state:
                wait_for(lambda: partition_of_log(log) == partition(plan))
                daemon.send_signal(signal.SIGUSR1)
                wait_for(lambda: partition_of_log(log) == expected, TIMEOUT_S)
                # The first plan once more, with which ranks held still, and the new one.
                wait_for(lambda: min(state.plans) >= 2)
            daemon.kill()
    finally:
        measured.lab.lab("move", moved, home)
    renewed, _ = cluster_file.read(str(cluster))
    assert partition(renewed) == expected
    assert renewed.names == before.names
