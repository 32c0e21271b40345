"""Orders of hosts with several slots, and of more hosts than are needed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ordering.clusters import cluster_of, racks
from ordering.test_algorithms import crossings, racks_of_four, with_uplinks
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.cli import run
from plink.formats import cluster, document
from plink.formats import order as order_file
from plink.formats.cluster import Cluster
from plink.formats.order import Order
from plink.formats.structs import encode
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.optimize.orders.slots import recover_slots

QUICK_S = 0.2
# A search of so little time finds the best, or proves that it did, only where it gets a processor.
LIMITS_S = (QUICK_S, 1.0, 30.0)


def uneven(sizes: list[int], slots: list[int]) -> Cluster:
    """Shuffled racks whose hosts have these slots in turn."""
    found = racks(sizes, seed=3)[0]
    hosts = [
        replace(host, slots=slots[place % len(slots)]) for place, host in enumerate(found.hosts)
    ]
    return replace(found, hosts=hosts)


def alike(size: int, slots: int) -> Cluster:
    """Hosts that are all as far from each other."""
    return cluster_of(np.full((size, size), 50.0), slots)


def find_order_until(
    known: Cluster, request: OrderRequest, is_reached: Callable[[Order], bool]
) -> Order:
    """Return the order that is found within the first time limit that suffices, or the last one.

    Args:
        known: the cluster.
        request: for the order, whose time limit does not count.
        is_reached: whether an order is as good as it is to be.
    """
    for limit_s in LIMITS_S:
        order = find_order(known, replace(request, time_limit_s=limit_s))
        if is_reached(order):
            break
    return order


def is_proven(order: Order) -> bool:
    """Whether the cost of an order is within a hundredth of its lower bound."""
    return order.cost.cost_us <= 1.01 * order.cost.lower_bound_us


def test_three_racks_of_four_are_chosen_and_none_is_left_in_part():
    order = find_order_until(racks([4, 4, 4, 4], seed=3)[0], OrderRequest(ranks=12), is_proven)
    assert order.cost.cost_us == pytest.approx(9 * 20 + 3 * 60)
    assert (order.solver.ended_by, order.gap) == ("exact", 0.0)
    assert (len(order.hosts), len(order.unused), order.ranks) == (12, 4, 12)
    assert sorted([*order.names, *(host.name for host in order.unused)]) == sorted(order.listed)


def test_ring_under_contention_leaves_each_of_three_racks_once():
    found = with_uplinks(racks_of_four(), 4)
    shuffled = np.random.default_rng(1).permutation(16).tolist()
    hosts = [found.hosts[place] for place in shuffled]
    mixed = replace(found, hosts=hosts)
    request = OrderRequest(algorithm="gloo-ring", ranks=12, size=20_000_000)
    order = find_order_until(mixed, request, is_proven)
    assert crossings(found, order.names) == 1
    assert order.cost.cost_us == pytest.approx(2 * 11 / 12 * 20e6 * 8 / 0.4e9 * 1e6, rel=0.01)
    assert order.cost.lower_bound_us == pytest.approx(order.cost.cost_us, rel=0.01)
    assert order.cost.cost_us < order.cost.listed_us


@pytest.mark.parametrize("objective", ["latency", "contention"])
@pytest.mark.parametrize("algorithm", ["ring", "halving-doubling", "tree"])
def test_hosts_with_different_slots_are_filled_one_after_the_other(objective: str, algorithm: str):
    found = with_uplinks(uneven([4, 4], [1, 3]), 4)
    request = OrderRequest(algorithm=algorithm, objective=objective, ranks=8, time_limit_s=QUICK_S)
    order = find_order(found, request)
    assert order.ranks == 8
    capacity = {host.name: host.slots for host in found.hosts}
    assert all(host.slots == capacity[host.name] for host in order.hosts[:-1])
    assert order.cost.lower_bound_us <= order.cost.cost_us <= order.cost.listed_us


def test_a_ring_over_all_hosts_does_not_mind_their_slots():
    found = with_uplinks(uneven([4, 4, 4], [1, 2, 3]), 4)
    for objective in ("latency", "contention"):
        order = find_order_until(found, OrderRequest(objective=objective), is_proven)
        assert (order.ranks, len(order.hosts)) == (24, 12)
        assert order.cost.lower_bound_us > 0.0
    assert order.cost.lower_bound_us == pytest.approx(order.cost.cost_us, rel=0.02)


def test_several_ranks_a_host_keep_large_halves_at_home():
    order = find_order(
        racks([4, 4], seed=3)[0],
        OrderRequest(algorithm="halving-doubling", slots=2, time_limit_s=QUICK_S),
    )
    # Ranks of a host are none apart: three rounds of four go over the network, one between racks.
    assert order.ranks == 16
    assert order.cost.cost_us == pytest.approx(20 + 20 + 60)


def test_nccls_tree_is_one_of_hosts():
    found = racks([4, 4], seed=3)[0]
    one = find_order(found, OrderRequest(algorithm="nccl-tree", time_limit_s=QUICK_S))
    eight = find_order(found, OrderRequest(algorithm="nccl-tree", slots=8, time_limit_s=QUICK_S))
    assert eight.cost.cost_us == one.cost.cost_us
    assert eight.ranks == 64
    with pytest.raises(WrongUseError, match="nccl-tree"):
        find_order(uneven([4, 4], [1, 2]), OrderRequest(algorithm="nccl-tree", ranks=8))


@pytest.mark.parametrize("has_uplinks", [False, True])
def test_ranks_of_a_host_are_apart_only_where_that_is_cheaper(has_uplinks: bool):
    found = alike(4, 3)
    if has_uplinks:
        found = with_uplinks(found, 4)
    adjacent = OrderRequest(algorithm="halving-doubling", ranks=8, time_limit_s=QUICK_S)
    together = find_order(found, adjacent)
    best = [2, 2, 2, 2]
    apart = find_order_until(
        found,
        replace(adjacent, interleave=True),
        lambda order: [host.slots for host in order.hosts] == best,
    )
    # Three to a host cut every round; two on each of four hosts keep one at home.
    assert together.host_of_rank is None
    assert apart.cost.cost_us < together.cost.cost_us
    assert apart.cost.lower_bound_us <= apart.cost.cost_us
    assert [host.slots for host in apart.hosts] == best
    ring = find_order(found, replace(adjacent, algorithm="ring", interleave=True))
    assert ring.host_of_rank is None


def test_more_slots_than_are_searched_one_by_one_are_refused():
    with pytest.raises(WrongUseError, match="4,096 slots, but there are 4,800"):
        find_order(alike(4, 1200), OrderRequest(algorithm="tree", ranks=8, interleave=True))


def test_not_enough_slots_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    cluster.write_cluster("c.json", uneven([3, 3], [2]))
    assert run(["order", "c.json", "--ranks", "13"]) == 2
    assert capsys.readouterr().err == (
        "error: 13 ranks do not fit on 6 hosts with 12 slots in all\n"
        "hint: --slots 3 gives every host as many as that takes\n"
    )
    assert run(["order", "c.json", "--ranks", "11", "--algo", "halving-doubling"]) == 2
    assert capsys.readouterr().err.startswith("error: halving-doubling needs a power of two")
    assert run(["order", "c.json", "--ranks", "8", "--prove", "1"]) == 2
    assert "an exact engine can prove neither" in capsys.readouterr().err


def test_what_was_chosen_stands_in_file_page_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    cluster.write_cluster("c.json", racks([4, 4, 4], seed=3)[0])
    arguments = ["order", "c.json", "--slots", "2", "--ranks", "15", "--time-limit", "0.3"]
    assert run([*arguments, "-o", "o.json"]) == 0
    shown = capsys.readouterr().out
    assert "8 of 12 hosts, 15 ranks" in shown
    assert "left out" in shown
    order = order_file.read_order("o.json")
    assert [host.slots for host in order.hosts] == [2] * 7 + [1]
    assert {host.slots for host in order.unused} == {2}
    assert run(["order", "o.json", "--format", "mpich", "-o", "file"]) == 0
    assert Path("file").read_text() == "".join(
        f"{host.name}:{host.slots}\n" for host in order.hosts
    )
    assert "-n 15 " in capsys.readouterr().err
    assert run([*arguments, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["order"], data["slots"]) == (order.names, [2] * 7 + [1])
    assert data["unused"] == [host.name for host in order.unused]
    assert run(["predict", "o.json", "--cluster", "c.json", "--size", "1MB", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["hosts"], data["ranks"]) == (8, 15)
    ring = next(row for row in data["rows"] if row["algorithm"] == "ring")
    assert ring["order"]["latency_us"] == pytest.approx(order.cost.cost_us)


def test_an_order_keeps_the_ranks_that_it_was_made_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    cluster.write_cluster("c.json", racks([4, 4], seed=3)[0])
    quick = ["--time-limit", "0.2"]
    assert run(["order", "c.json", "--algo", "halving-doubling", "-o", "o.json", *quick]) == 0
    assert run(["order", "o.json", "--slots", "1", "--ranks", "8"]) == 0
    assert "--ranks has no effect" in capsys.readouterr().err
    assert run(["order", "o.json", "--slots", "2"]) == 2
    assert "made for 8 ranks, and --slots 2 makes it 16 ranks" in capsys.readouterr().err
    assert run(["order", "o.json", "--ranks", "4", "--format", "mpich", "-o", "file"]) == 2
    assert capsys.readouterr().err.startswith("error: o.json: the order has 8 ranks, not 4\n")
    assert not Path("file").exists()


def test_a_topology_has_hosts_without_ranks_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    cluster.write_cluster("c.json", with_uplinks(racks_of_four(), 4))
    assert run(["order", "c.json", "--ranks", "4", "--format", "slurm-block"]) == 0
    assert "BlockSizes=4" in capsys.readouterr().out


def test_slots_are_known_that_hosts_had_before_ranks_took_them():
    found = racks([4, 4, 4], seed=3)[0]
    order = find_order(found, OrderRequest(ranks=7, slots=2, time_limit_s=QUICK_S))
    assert order.hosts[-1].slots == 1
    assert recover_slots(order, found.hosts) == [2] * 12
    own = uneven([3, 3], [2, 4])
    order = find_order(own, OrderRequest(ranks=7, time_limit_s=QUICK_S))
    assert sum(host.slots for host in order.hosts) == 7
    assert recover_slots(order, own.hosts) == [host.slots for host in own.hosts]
    order = find_order(found, OrderRequest(slots=3, time_limit_s=QUICK_S))
    assert recover_slots(order, found.hosts) == [3] * 12


def test_ranks_that_are_apart_are_read_and_written(tmp_path: Path):
    request = OrderRequest(
        algorithm="halving-doubling", ranks=8, time_limit_s=QUICK_S, interleave=True
    )
    found = find_order(alike(4, 3), request)
    order = replace(found, seconds=1.0)
    if order.host_of_rank is None:
        order = replace(order, host_of_rank=[0, 1, 2, 3, 0, 1, 2, 3])
    path = str(tmp_path / "order.json")
    order_file.write_order(path, order)
    assert encode(order_file.read_order(path)) == encode(order)
    assert [host.name for host in order.runs for _ in range(host.slots)] == [
        order.names[host] for host in order.host_of_rank or ()
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"host_of_rank": [0, 1, 2]},
        {"host_of_rank": [0, 1, 2, 0, 1, 3]},
        {"host_of_rank": [0, 1, 2, 0, 1, 1]},
        {"host_of_rank": [1, 0, 2, 0, 1, 2]},
        {"host_of_rank": [0, 0.5, 1, 1, 2, 2]},
        {"unused": [{"name": "h0", "address": "x"}]},
        {"unused": [{"name": "y", "address": "x"}]},
        {"version": 2},
    ],
)
def test_a_file_whose_ranks_cannot_be_is_refused(change: dict[str, object]):
    order = find_order(alike(3, 2), OrderRequest(time_limit_s=0.1))
    data = {**encode(order), **change}
    with pytest.raises(WrongUseError):
        order_file.decode_order(document.parse(document.dump(data), "order.json"), "order.json")
