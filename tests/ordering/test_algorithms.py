"""Orders for algorithms other than the ring, by latency and under contention."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ordering.clusters import cluster_of, racks
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.cli import run
from plink.formats import cluster
from plink.formats import order as order_file
from plink.formats.cluster import Cluster
from plink.formats.groups import Uplink, UplinkMeasurement
from plink.formats.hosts import Group
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.optimize.orders.slots import find_algorithm
from plink.solvers.exact.prove import Engine
from plink.solvers.slots.layout import RankLayout

QUICK_S = 0.4


def with_uplinks(found: Cluster, size: int, uplink_gbit_s: float = 0.4) -> Cluster:
    """The cluster with racks of so many hosts, in the matrix's order, oversubscribed."""
    names = found.names
    groups = [
        Group(f"r{start // size}", names[start : start + size])
        for start in range(0, len(names), size)
    ]
    uplinks = [Uplink(group.name, uplink_gbit_s, uplink_gbit_s, 0.4 * size) for group in groups]
    measured = UplinkMeasurement(uplinks=uplinks, tool="uplinks")
    return replace(found, groups=groups, uplinks=measured)


def racks_of_four() -> Cluster:
    """Four racks of four: 20 µs within, 60 µs between."""
    rack = np.arange(16) // 4
    return cluster_of(np.where(rack[:, None] == rack[None, :], 20.0, 60.0))


def crossings(cluster_: Cluster, names: list[str]) -> int:
    """The greatest number of ring edges that leave one rack."""
    rack_of = {host: group.name for group in cluster_.groups for host in group.hosts}
    racks_in_order = [rack_of[name] for name in names]
    leaving = [
        here
        for here, after in zip(racks_in_order, racks_in_order[1:] + racks_in_order[:1], strict=True)
        if here != after
    ]
    return max(leaving.count(rack) for rack in set(leaving))


@pytest.mark.parametrize("algorithm", ["halving-doubling", "bcube", "openmpi-rabenseifner"])
def test_rounds_keep_racks_together(algorithm: str):
    shuffled = racks([4, 4, 4, 4], seed=3)[0]
    order = find_order(shuffled, OrderRequest(algorithm=algorithm, time_limit_s=QUICK_S))
    assert order.algorithm == algorithm
    assert order.cost.lower_bound_us <= order.cost.cost_us < order.cost.random_us
    # Half of the rounds can stay within racks.
    assert order.cost.cost_us == pytest.approx(order.cost.random_us * (20 + 60) / (60 + 60))


@pytest.mark.parametrize("engine", ["cp-sat", "z3"])
def test_trees_are_ordered_and_proved(engine: Engine):
    shuffled = racks([4, 5], seed=3)[0]
    request = OrderRequest(algorithm="tree", time_limit_s=QUICK_S, prove_s=30.0, engine=engine)
    order = find_order(shuffled, request)
    assert order.proof is not None
    assert (order.proof.engine, order.proof.outcome) == (engine, "optimal")
    assert order.gap == pytest.approx(0.0, abs=1e-5)


def test_uplinks_make_contention_the_objective_and_a_ring_leaves_each_rack_once():
    found = with_uplinks(racks_of_four(), 4)
    order = find_order(found, OrderRequest(size=20_000_000, time_limit_s=QUICK_S))
    assert (order.objective, order.cost.size_bytes) == ("contention", 20_000_000)
    assert crossings(found, order.names) == 1
    # 2 x 15 rounds of a sixteenth, one at a time through 0.4 Gbit/s.
    assert order.cost.cost_us == pytest.approx(2 * 15 / 16 * 20e6 * 8 / 0.4e9 * 1e6, rel=0.01)
    assert order.cost.lower_bound_us <= order.cost.cost_us < order.cost.random_us / 2


def test_latency_can_be_asked_for_where_uplinks_are_known():
    found = with_uplinks(racks_of_four(), 4)
    order = find_order(found, OrderRequest(objective="latency", time_limit_s=QUICK_S))
    assert (order.objective, order.cost.size_bytes) == ("latency", None)
    assert order.cost.cost_us == pytest.approx(12 * 20 + 4 * 60)


@pytest.mark.parametrize("objective", ["latency", "contention"])
def test_never_dearer_than_given(objective: str):
    found = with_uplinks(racks_of_four(), 4)
    request = OrderRequest(algorithm="gloo-ring", objective=objective, time_limit_s=QUICK_S)
    order = find_order(found, request)
    assert order.cost.cost_us <= order.cost.listed_us


def test_what_a_library_does_not_run_is_refused_with_what_it_takes():
    with pytest.raises(WrongUseError, match="power of two") as refused:
        find_algorithm("halving-doubling", RankLayout([1] * 12, 12))
    assert "gloo-halving-doubling" in str(refused.value.hint)
    with pytest.raises(
        WrongUseError, match="there is no algorithm 'gloo-rung'; did you mean gloo-ring"
    ):
        find_algorithm("gloo-rung", RankLayout([1] * 12, 12))


def test_the_file_and_the_page_say_what_was_minimised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    cluster.write_cluster("c.json", with_uplinks(racks_of_four(), 4))
    arguments = ["order", "c.json", "--algo", "gloo-ring", "--size", "20MB", "--time-limit", "0.4"]
    assert run([*arguments, "-o", "o.json"]) == 0
    assert "time predicted for 20 MB" in capsys.readouterr().out
    assert order_file.read_order("o.json").objective == "contention"
    assert run([*arguments, "--objective", "latency", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cost"]["objective"] == "latency"


def test_algorithms_are_listed(capsys: pytest.CaptureFixture[str]):
    assert run(["order", "--list-algorithms"]) == 0
    shown = capsys.readouterr().out
    for name in ("ring", "gloo-ring", "openmpi-rabenseifner", "nccl-tree", "all-to-all"):
        assert name in shown
