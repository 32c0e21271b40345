"""`plink probe` in a lab whose machine has other work to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchkit.other_work import BUSY, other_work
from plink.files import cluster as cluster_file
from support.lab import Lab
from support.plink_command import plink, ssh_options

pytestmark = pytest.mark.lab


def test_other_work_is_noticed_named_and_measured_again(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    with other_work(BUSY):
        done = plink("probe", lab.hosts_file, *ssh_options(lab), "-o", out)
    assert done.code == 0, done.stderr
    assert "directed pairs were disturbed by other work on the hosts, on " in done.stderr
    assert f"measure them again when it is quiet: plink probe --resume {out}" in done.stderr
    before = cluster_file.measured_rtt(cluster_file.read(str(out))[0], str(out))
    assert "disturbed by other work" in before.notes[-1]
    assert before.disturbance is not None

    done = plink("probe", *ssh_options(lab), "--resume", out)
    assert done.code == 0, done.stderr
    after = cluster_file.measured_rtt(cluster_file.read(str(out))[0], str(out))
    assert after.disturbance is not None
    there = ~np.eye(len(lab.names), dtype=bool)
    assert (after.disturbance <= before.disturbance)[there].all()
    assert (after.disturbance < before.disturbance)[there].sum() >= 5


def test_few_probes_are_enough_where_precision_is_asked_for(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    options = (*ssh_options(lab), "-o", out, "--count", "3000")
    done = plink("probe", lab.hosts_file, *options, "--precision", "20")
    assert done.code == 0, done.stderr
    assert " of 30 within 20 %, " in done.stderr
    rtt = cluster_file.measured_rtt(cluster_file.read(str(out))[0], str(out))
    assert rtt.options["precision_percent"] == 20
    there = ~np.eye(6, dtype=bool)
    assert np.median(rtt.samples[there]) < 3000
    assert rtt.precision_percent is not None
    early = there & (rtt.samples + rtt.losses < 3000)
    assert (rtt.precision_percent[early] <= 20.0).all()

    done = plink("probe", lab.hosts_file, *options[:-1], "700", "--precision", "0")
    assert done.code == 0, done.stderr
    rtt = cluster_file.measured_rtt(cluster_file.read(str(out))[0], str(out))
    assert ((rtt.samples + rtt.losses)[there] == 700).all()
