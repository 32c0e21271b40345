"""What slows a cluster down, as an object."""

from __future__ import annotations

import pytest

import plink
from bench.results import comparison
from doctor.clusters import drawn
from plink.base.replacing import replace


def test_what_is_wrong_and_what_could_not_be_looked_at() -> None:
    ward = drawn(3)
    well = ward.cluster()
    ward.send[1] = ward.receive[1] = 0.094
    ward.set(1, speed_mbit=100)
    found = plink.diagnose(ward.cluster(), before=well)
    (finding,) = found.findings
    assert (finding.hosts, finding.certainty) == (["n01"], "certain")
    assert "100 Mbit/s" in finding.says
    assert finding.advice
    assert found.not_asked == ()
    assert found.cluster is not None
    assert found.cluster.names == well.names
    assert any("an earlier file" in clause for clause in found.looked_at)
    assert "bandwidths of pairs" in found.not_looked_at
    assert repr(found).startswith("<plink.Diagnosis: 1 finding; n01 says that its NIC runs at 100")


def test_a_cluster_and_a_comparison_in_which_all_is_well() -> None:
    silent = plink.diagnose(replace(drawn(3).cluster(), conditions=None))
    assert not silent.findings
    assert "settings, processors and clocks" in silent.not_looked_at
    assert repr(silent) == "<plink.Diagnosis: nothing found>"
    compared = plink.diagnose(comparison(), before=comparison())
    assert (compared.cluster, list(compared.findings)) == (None, [])
    assert "comparison" in compared.looked_at[0]


def test_what_cannot_be_diagnosed_is_refused() -> None:
    cluster = drawn(3).cluster()
    with pytest.raises(plink.WrongUseError, match="before must be a comparison"):
        plink.diagnose(comparison(), before=cluster)
    with pytest.raises(plink.WrongUseError, match="names no hosts to measure"):
        plink.diagnose(comparison(), live=True)
    with pytest.raises(plink.WrongUseError, match=r"takes a MeasuredCluster, not Comparison"):
        plink.diagnose(cluster, before=comparison())
    with pytest.raises(plink.WrongUseError, match="transfers_s is -1"):
        plink.diagnose(cluster, transfers_s=-1.0)
