"""Orders and plans of fewer ranks than a cluster has slots, and of more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plink.base.errors import PlinkError
from plink.cli import run
from plink.formats import cluster as cluster_file
from plink.formats import order as order_file
from plink.simulate.datacentres import racks
from plink.simulate.simgrid import program
from plink.simulate.traces import files
from plink.solvers.collectives.registry import find

SIZE_BYTES = 1_000_000


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """Of two racks of four hosts."""
    name = str(tmp_path / "cluster.json")
    cluster_file.write_cluster(
        name, racks(2, 4, rate_gbit_s=10, hop_us=5, oversubscription=4).cluster
    )
    return name


@pytest.mark.parametrize(
    "words", [["--ranks", "5"], ["--slots", "2"], ["--slots", "2", "--ranks", "7"]]
)
@pytest.mark.parametrize("algorithm", ["gloo-ring", "nccl-tree", "openmpi-recursive-doubling"])
def test_an_order_of_other_ranks_is_traced(
    words: list[str], algorithm: str, cluster: str, tmp_path: Path
) -> None:
    order, trace = str(tmp_path / "order.json"), str(tmp_path / "job.goal")
    asked = ["--algo", algorithm, *words, "--time-limit", "0.1"]
    assert run(["order", cluster, *asked, "-o", order]) == 0
    given = ["--cluster", cluster, "--size", "1MB"]
    assert run(["simulate", order, *given, "--trace", "goal", "-o", trace]) == 0
    found, made = files.read(trace), order_file.read_order(order)
    peers = len(made.hosts) if algorithm == "nccl-tree" else made.ranks
    expected = find(algorithm).table(peers, SIZE_BYTES).bytes_between()
    assert found.bytes_sent == pytest.approx(expected.sum(), rel=1e-3)


def test_a_tree_of_hosts_is_traced_by_the_first_slot_of_each(tmp_path: Path) -> None:
    """Whoever reads the trace has a place for each slot."""
    described, cluster = tmp_path / "net.toml", str(tmp_path / "net.json")
    described.write_text('slots = 2\nhost_gbit_s = 10\nlatency_us = [5]\nhosts = "n[1-8]"\n')
    assert run(["import", str(described), "-o", cluster]) == 0
    order, trace = str(tmp_path / "order.json"), str(tmp_path / "job.goal")
    asked = ["--algo", "nccl-tree", "--time-limit", "0.1"]
    assert run(["order", cluster, *asked, "-o", order]) == 0
    assert run(["simulate", order, "--cluster", cluster, "--trace", "goal", "-o", trace]) == 0
    between = files.read(trace).bytes_between()
    assert len(between) == 16
    assert not between[1::2].any()
    assert between[::2].any(axis=1).all()


def test_a_plan_of_more_ranks_than_slots_is_traced(cluster: str, tmp_path: Path) -> None:
    plan, trace = str(tmp_path / "plan.json"), str(tmp_path / "job.goal")
    asked = ["--size", "1MB", "--kind", "flat", "--ranks-per-host", "3"]
    assert run(["plan", cluster, *asked, "-o", plan]) == 0
    assert run(["simulate", plan, "--cluster", cluster, "--trace", "goal", "-o", trace]) == 0
    assert files.read(trace).ranks == 24


@pytest.mark.needs("simgrid")
@pytest.mark.parametrize("words", [["--ranks", "5"], ["--slots", "2"]])
def test_an_order_of_other_ranks_is_simulated(
    words: list[str], cluster: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        program.simulator()
    except PlinkError as error:
        pytest.skip(str(error))
    order = str(tmp_path / "order.json")
    asked = ["--algo", "gloo-ring", *words, "--time-limit", "0.1"]
    assert run(["order", cluster, *asked, "-o", order]) == 0
    capsys.readouterr()
    given = ["--cluster", cluster, "--size", "1MB", "--random", "1", "--json"]
    assert run(["simulate", order, *given]) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = found["rows"]
    assert found["ranks"] == order_file.read_order(order).ranks
    for name in ("order", "given", "random"):
        assert row[name]["simulated_s"] == pytest.approx(row[name]["predicted_s"], rel=0.1)
