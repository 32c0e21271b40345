"""`plink probe --all` on real hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from plink.base.replacing import replace
from plink.files import cluster as cluster_file
from plink.files.cluster import Cluster
from plink.files.hosts import Group
from support.lab import Lab
from support.plink_command import plink, ssh_options
from support.running import programs

pytestmark = pytest.mark.lab

UPLINK_GBIT_S = 0.06 * 1448 / 1514


def read(path: Path) -> Cluster:
    return cluster_file.read_cluster(str(path))


def test_from_hosts_to_uplinks(lab: Lab, tmp_path: Path) -> None:
    """Racks of so few hosts may not show; with the lab's own groups the rest is done."""
    out = tmp_path / "c.json"
    options = (*ssh_options(lab), "--all", "--duration", "1")
    begun = plink("probe", lab.hosts_file, *options, "--count", "20", "-o", out)
    assert begun.code in {0, 3}, begun.stderr
    before = read(out)
    assert before.rtt is not None
    assert before.grouping is not None
    groups = [Group(rack, hosts) for rack, hosts in lab.racks.items()]
    cluster_file.write_cluster(
        str(out), replace(before, groups=groups, grouping=None, uplinks=None)
    )
    done = plink("probe", "--resume", out, *options)
    assert done.code == 0, done.stderr
    assert "3 groups as the file has them: r1 (2), r2 (2), r3 (1)" in done.stderr
    after = read(out)
    assert after.rtt is not None
    # Pairs whose passes disagree meet again; none is forgotten.
    assert (after.rtt.samples >= before.rtt.samples).all()
    assert after.uplinks is not None
    carried = [
        rate
        for known in after.uplinks.uplinks
        for rate in (known.send_gbit_s, known.receive_gbit_s)
    ]
    # A transfer of a second is not exact on a busy machine.
    assert carried == pytest.approx([UPLINK_GBIT_S] * 6, rel=0.25)
    assert not programs(lab, "iperf3")
