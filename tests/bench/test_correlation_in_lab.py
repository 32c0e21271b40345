"""What the contention form predicts for a Gloo ring is what the lab's links let it take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.lab_hosts import write_cluster
from plink.base.replacing import replace
from plink.files import cluster as cluster_file
from plink.files.groups import Uplink, UplinkMeasurement
from plink.files.hosts import Group
from support.lab import Lab, lab_cluster
from support.plink_command import plink, ssh_options
from support.require import require_client

pytestmark = pytest.mark.lab

# Of 1514 bytes that a shaper counts TCP has 1448 to itself.
LINK_GBIT_S = 0.2 * 1448 / 1514


def write_known(lab: Lab, path: Path) -> Path:
    """A cluster file that knows the lab's racks and what their uplinks carry."""
    cluster = cluster_file.read_cluster(str(write_cluster(lab, path)))
    uplinks = [
        Uplink(rack, LINK_GBIT_S, LINK_GBIT_S, hosts_gbit_s=LINK_GBIT_S * len(hosts))
        for rack, hosts in lab.racks.items()
    ]
    known = replace(
        cluster,
        groups=[Group(rack, hosts) for rack, hosts in lab.racks.items()],
        uplinks=UplinkMeasurement(uplinks=uplinks, tool="uplinks"),
    )
    cluster_file.write_cluster(str(path), known)
    return path


def test_a_rings_time_follows_the_uplink_that_it_crosses_most(tmp_path: Path) -> None:
    require_client("gloo")
    with lab_cluster(racks=2, hosts=3, host_rate="200mbit", uplink_rate="200mbit", hops=0) as lab:
        cluster = write_known(lab, tmp_path / "cluster.json")
        (a, b, c), (d, e, f) = lab.racks.values()
        orders = {"one": [a, b, c, d, e, f], "two": [a, b, d, e, c, f], "three": [a, d, b, e, c, f]}
        for name, hosts in orders.items():
            (tmp_path / name).write_text("\n".join(hosts))
        files = ",".join(f"file:{tmp_path / name}" for name in orders)
        done = plink(
            *("bench", cluster, "--client", "gloo", "--size", "6MB", "--orders", files, "--json"),
            *("--rounds", 1, "--warmups", 0, "--repetitions", 3, *ssh_options(lab)),
        )
    assert done.code == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["spearman"]["contention"]["value"] == 1.0
    for times, row in enumerate(data["rows"], start=1):
        # 2 x 5/6 of 6 MB, once for every edge that leaves a rack.
        assert row["predicted_s"] == pytest.approx(times * 0.418, rel=0.01)
        assert 0.7 * row["predicted_s"] < row["median_s"] < 2.0 * row["predicted_s"]
