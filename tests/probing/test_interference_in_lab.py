"""`plink probe` in a lab whose machine has other work to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchkit.other_work import BUSY, other_work
from plink.files import cluster as cluster_file
from support.lab import Lab
from support.plink_command import plink, ssh_options
from support.quiet import needs_quiet

pytestmark = pytest.mark.lab


def test_other_work_is_noticed_named_and_measured_again(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    with other_work(BUSY):
        done = plink("probe", lab.hosts_file, *ssh_options(lab), "-o", out)
    assert done.code == 0, done.stderr
    assert "directed pairs were disturbed by other work on the hosts, on " in done.stderr
    assert f"measure them again when it is quiet: plink probe --resume {out}" in done.stderr
    before = cluster_file.measured_rtt(cluster_file.read_cluster(str(out)), str(out))
    assert "disturbed by other work" in before.notes[-1]
    assert before.disturbance is not None

    with needs_quiet():
        done = plink("probe", *ssh_options(lab), "--resume", out)
        assert done.code == 0, done.stderr
        after = cluster_file.measured_rtt(cluster_file.read_cluster(str(out)), str(out))
        assert after.disturbance is not None
        there = ~np.eye(len(lab.names), dtype=bool)
        assert (after.readings_us <= before.readings_us)[there].all()
        assert (after.disturbance < before.disturbance)[there].sum() >= 5


def test_pairs_meet_again_as_far_as_their_passes_disagree(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    options = (*ssh_options(lab), "--count", "50")
    done = plink("probe", lab.hosts_file, *options, "-o", out, "--precision", "30")
    assert done.code == 0, done.stderr
    assert " of 30 agree within 30 %, " in done.stderr
    rtt = cluster_file.measured_rtt(cluster_file.read_cluster(str(out)), str(out))
    there = ~np.eye(6, dtype=bool)
    assert rtt.passes is not None
    assert rtt.options["passes"] == 5
    # Twice, and once more where the groups of so few hosts hinge on it.
    assert 2 <= rtt.passes[there].min() <= rtt.passes[there].mean() < 5
    assert (rtt.samples + rtt.losses == 50 * rtt.passes)[there].all()

    # Three more passes, for every pair.
    done = plink("probe", *options, "--resume", out, "--passes", "8")
    assert done.code == 0, done.stderr
    more = cluster_file.measured_rtt(cluster_file.read_cluster(str(out)), str(out))
    assert more.passes is not None
    # A direction that was disturbed is measured once beside them.
    assert set((more.passes - rtt.passes)[there]) <= {3, 4}
    assert (more.readings_us <= rtt.readings_us)[there].all()
