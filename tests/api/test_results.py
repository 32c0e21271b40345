"""Groups, orders, plans and predictions as objects."""

from __future__ import annotations

import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plink
from api.clusters import rack_cluster, rack_matrix, rack_names
from plink.base.errors import NotMeasuredError
from plink.base.replacing import replace
from plink.formats.cluster import Unreachable
from plink.formats.groups import UplinkMeasurement
from plink.formats.order import TimeCost
from plink.plans.names import COLLECTIVES
from plink.solvers.collectives.registry import OTHERS
from support.plink_command import plink_here


def test_groups_are_found_and_stand_in_a_cluster_of_their_own() -> None:
    cluster = rack_cluster()
    groups = plink.group(cluster)
    assert [len(group.hosts) for group in groups] == [4, 4, 4, 4]
    assert len(groups) == 4
    assert groups[0].name == "g1"
    assert "n01" in groups.of("n01").hosts  # type: ignore[union-attr]
    assert groups.of("other") is None
    assert groups.probability is not None
    assert groups.probability > 0.99
    assert list(groups.cluster.groups) == list(groups)
    assert cluster.groups == []
    assert repr(groups) == "<plink.Groups: g1 (4), g2 (4), g3 (4) and 1 other; > 99.9 % sure>"
    assert str(groups).splitlines()[0].split() == [
        *("group", "hosts", "within", "to", "next", "sure", "uplink", "members")
    ]


def test_what_is_made_with_groups_names_their_file(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    rack_cluster().save(path)
    before = plink.read(path)
    groups = plink.group(before)
    plan = plink.plan(groups.cluster)
    assert plan.made_from != plink.plan(before).made_from
    groups.save(path)
    assert plan.made_from == plink.plan(plink.read(path)).made_from


def test_no_groups_are_an_answer() -> None:
    alike = plink.MeasuredCluster.from_matrix(["a", "b", "c", "d"], np.full((4, 4), 20.0))
    groups = plink.group(alike)
    assert len(groups) == 0
    assert repr(groups).startswith("<plink.Groups: none")


def test_so_many_groups_are_cut_as_are_asked_for() -> None:
    assert len(plink.group(rack_cluster(), k=2)) == 2


def test_an_order_says_what_it_costs() -> None:
    order = plink.order(rack_cluster(), algorithm="ring", time_limit_s=0.1)
    assert sorted(order.names) == rack_names()
    assert order.hosts_by_rank == order.names
    assert order.ranks == 16
    assert order.cost.lower_bound_us <= order.cost.cost_us <= order.cost.listed_us
    assert 0.1 < order.gain < 0.5
    assert order.notes == []
    assert repr(order).startswith("<plink.RankOrder: ring over 16 ranks; score 3")
    assert str(order).startswith("ring order of 16 hosts\nscore: a sum of latencies, not a time;")


def test_the_command_finds_the_same_order_and_hash(tmp_path: Path) -> None:
    cluster, path = rack_cluster(), tmp_path / "cluster.json"
    cluster.save(path)
    done = plink_here("order", path, "--time-limit", "30", "-o", tmp_path / "order.json")
    assert done.code == 0, done.stderr
    by_command, by_library = plink.RankOrder.read(tmp_path / "order.json"), plink.order(cluster)
    assert by_library.names == by_command.names
    assert by_library.made_from == by_command.made_from
    by_library.save(tmp_path / "other.json")
    assert plink.RankOrder.read(tmp_path / "other.json").cost.cost_us == by_command.cost.cost_us


def test_an_order_is_written_for_a_launcher(tmp_path: Path) -> None:
    order = plink.order(rack_cluster(), time_limit_s=0.1)
    path = tmp_path / "hostfile"
    usage = order.write("openmpi", path)
    assert path.read_text().splitlines() == order.names
    assert order.render("openmpi") == path.read_text()
    assert usage == f"mpirun -np 16 --hostfile {path} --map-by seq PROGRAM"
    assert set(plink.launchers()) >= {"openmpi", "torchrun", "slurm"}


def test_ranks_of_a_host_follow_each_other() -> None:
    order = plink.order(rack_cluster(2, 2, slots=2), ranks=6, time_limit_s=0.1)
    assert len(order.hosts_by_rank) == 6
    assert order.hosts_by_rank[0] == order.hosts_by_rank[1] == order.names[0]
    assert len(order.unused) == 1


def test_doubt_is_a_note() -> None:
    alike = plink.MeasuredCluster.from_matrix(["a", "b", "c", "d", "e"], np.full((5, 5), 20.0))
    order = plink.order(alike, time_limit_s=0.1)
    assert order.notes[0].startswith("no structure found")


def test_times_need_a_rate_of_a_link() -> None:
    cluster = rack_cluster()
    with pytest.raises(NotMeasuredError):
        plink.order(cluster, objective="contention")
    # As a description has it that says no rate.
    described = replace(cluster, uplinks=UplinkMeasurement(uplinks=[], tool="described"))
    order = plink.order(described, time_limit_s=0.2)
    assert isinstance(order.cost, TimeCost)
    assert order.cost.objective == "latency"
    assert not order.assumptions


def test_what_times_assume_of_links_is_noted() -> None:
    names = rack_names()
    gbit_s = np.full((16, 16), np.nan)
    gbit_s[:15, :15] = 10.0
    cluster = plink.MeasuredCluster.from_matrix(names, rack_matrix(), gbit_s=gbit_s)
    order = plink.order(cluster, objective="contention", time_limit_s=0.2)
    assert [names[-1] in each for each in order.assumptions] == [True, False]
    assert set(order.assumptions) <= set(order.notes)


def test_hosts_without_measurements_are_warned_of() -> None:
    rtt_us = rack_matrix()
    rtt_us[3, :] = rtt_us[:, 3] = np.nan
    cluster = plink.MeasuredCluster.from_matrix(rack_names(), rtt_us)
    with pytest.warns(plink.PlinkWarning, match="no measurement reaches n04") as said:
        plink.order(cluster, time_limit_s=0.1)
    assert said[0].filename == __file__
    with pytest.warns(plink.PlinkWarning, match="1 host had too few measurements"):
        plink.group(cluster)


def test_unreachable_hosts_are_warned_of() -> None:
    cluster = replace(rack_cluster(), unreachable=[Unreachable("n17", "no route to host")])
    with pytest.warns(plink.PlinkWarning, match="n17 was unreachable and gets no rank"):
        plink.order(cluster, time_limit_s=0.1)
    with pytest.warns(plink.PlinkWarning, match="n17 was unreachable and gets no rank"):
        plink.plan(cluster)


def test_an_interrupted_search_has_an_order() -> None:
    rng = np.random.default_rng(1)
    names = [f"n{number:03}" for number in range(200)]
    cluster = plink.MeasuredCluster.from_matrix(names, rng.uniform(20.0, 40.0, (200, 200)))
    searching: list[plink.Progress] = []

    def interrupt(progress: plink.Progress) -> None:
        # Only the search itself tells of its time limit.
        if progress.total is not None:
            searching.append(progress)
            if len(searching) == 2:
                signal.raise_signal(signal.SIGINT)

    with pytest.warns(plink.PlinkWarning, match="interrupted: this is the best order so far"):
        order = plink.order(cluster, time_limit_s=60, progress=interrupt)
    assert order.solver.ended_by == "interrupt"
    assert sorted(order.names) == names


def test_a_plan_may_have_servers(tmp_path: Path) -> None:
    cluster = plink.group(rack_cluster()).cluster
    name = cluster.hosts[0].name
    plan = plink.plan(cluster, size="25MB", kind="ps", servers=[f"{name}:4"])
    assert plan.kind == "ncc"
    assert plan.has_servers
    assert len(plan.ranks[-1].ports) == 4
    plan.save(tmp_path / "plan.json")
    assert plink.AggregationPlan.read(tmp_path / "plan.json").contributors == plan.contributors
    assert f"{name}: 4 ports" in str(plink.read(tmp_path / "plan.json"))
    with pytest.raises(plink.WrongUseError, match="the engine does not run"):
        plink.predict(plan, cluster=cluster)
    with pytest.raises(plink.WrongUseError, match="needs servers"):
        plink.plan(cluster, kind="hub")
    with pytest.raises(plink.WrongUseError, match=r"servers is \[4\]"):
        plink.plan(cluster, servers=[4])  # type: ignore[list-item]


def test_a_plan_follows_the_network(tmp_path: Path) -> None:
    plan = plink.plan(plink.group(rack_cluster()).cluster, size="25MB", kind="2lha")
    assert plan.kind == "2lha"
    assert plan.size_bytes == 25_000_000
    assert plan.time_s is not None
    assert plan.bound_s is not None
    assert plan.bound_s <= plan.time_s
    assert plan.reason
    assert repr(plan).startswith(
        "<plink.AggregationPlan: 2lha over 16 ranks, 16 routes; predicted "
    )
    assert str(plan).startswith("2lha plan of 16 hosts in 4 groups\n")
    plan.save(tmp_path / "plan.json")
    assert plink.AggregationPlan.read(tmp_path / "plan.json").time_s == plan.time_s


def test_an_order_remembers_the_cluster_to_predict_for() -> None:
    order = plink.order(rack_cluster(), time_limit_s=0.1)
    prediction = plink.predict(order, size="20MB", algorithms=["ring", "tree"])
    assert list(prediction) == ["ring", "tree"]
    ring = prediction["ring"]
    assert ring.order is not None
    assert ring.order.latency_us == pytest.approx(order.cost.cost_us)
    assert ring.given.latency_us == pytest.approx(order.cost.listed_us)
    assert ring.order.time_s is None
    assert "ring" in prediction
    with pytest.raises(KeyError, match="bcube"):
        prediction["bcube"]
    assert str(prediction).startswith("order: 20 MB on 16 hosts\n")
    assert repr(prediction) == "<plink.Prediction: 2 algorithms, 20 MB on 16 ranks>"


def test_a_plan_of_another_cluster_is_noted(tmp_path: Path) -> None:
    for seed in (1, 2):
        cluster = plink.MeasuredCluster.from_matrix(rack_names(), rack_matrix(seed=seed))
        cluster.save(tmp_path / f"{seed}.json")
    one, other = (plink.MeasuredCluster.read(tmp_path / f"{seed}.json") for seed in (1, 2))
    plan = plink.plan(one, size="25MB")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not plink.predict(plan, cluster=one).notes
    with pytest.warns(plink.PlinkWarning, match="made from another version of"):
        assert len(plink.predict(plan, cluster=other).notes) == 1


def test_an_order_from_a_file_is_predicted_with_its_cluster(tmp_path: Path) -> None:
    cluster = rack_cluster()
    plink.order(cluster, time_limit_s=0.1).save(tmp_path / "order.json")
    order = plink.RankOrder.read(tmp_path / "order.json")
    with pytest.raises(plink.WrongUseError) as caught:
        plink.predict(order)
    assert list(caught.value.arguments) == ["cluster"]
    prediction = plink.predict(order, cluster=cluster, algorithms=["ring"])
    assert prediction["ring"].order is not None
    grouped = plink.group(cluster).cluster
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plink.predict(order, cluster=grouped, algorithms=["ring"])
    assert cluster.rtt is not None
    again = {name: matrix + 1.0 for name, matrix in cluster.rtt.rtt_us.items()}
    changed = replace(cluster, rtt=replace(cluster.rtt, rtt_us=again))
    with pytest.warns(plink.PlinkWarning, match="made from another version of the cluster"):
        plink.predict(order, cluster=changed, algorithms=["ring"])
    with pytest.raises(plink.WrongUseError, match="is not a host of the cluster"):
        plink.predict(order, cluster=rack_cluster(2, 2))
    with pytest.raises(plink.WrongUseError) as refused:
        plink.predict(cluster, cluster=cluster)
    assert set(refused.value.arguments) == {"cluster"}


def test_a_cluster_is_predicted_for_in_its_own_order() -> None:
    prediction = plink.predict(rack_cluster(), size=1024)
    assert prediction["ring"].order is None
    others = set(OTHERS)
    assert set(prediction) | set(prediction.refused) == set(plink.algorithms()) - others
    assert prediction.assumptions
    gathered = plink.predict(rack_cluster(), size=1024, collective="all-gather")
    assert set(gathered) == {"gloo-all-gather"} <= others


def test_a_plan_is_predicted_collective_by_collective() -> None:
    cluster = rack_cluster()
    plan = plink.plan(cluster, size="1MB", kind="flat", collective=["all-gather", "all-gather"])
    assert plan.collectives == ("all-gather", "all-gather")
    along = plink.predict(plan, cluster=cluster)
    assert set(along) == set(COLLECTIVES)
    assert plan.time_s == pytest.approx(2 * along["all-gather"].time_s)
    assert along["all-gather"].bound_s <= along["all-gather"].time_s
    assert "all-gather" in str(along)
    with pytest.raises(plink.WrongUseError, match="a plan does not contain the measurements"):
        plink.predict(plan)
    with pytest.raises(plink.WrongUseError) as refused:
        plink.plan(cluster, size="1MB", collective=5)  # type: ignore[arg-type]
    assert refused.value.arguments == {"collective": 5}


CALLS: list[tuple[Any, dict[str, Any], str]] = [
    (plink.order, {"algorithm": "rign"}, "there is no algorithm 'rign'; did you mean ring"),
    (plink.order, {"objective": "speed"}, "objective is 'speed', expected bandwidth, contention"),
    (plink.order, {"engine": "cpsat"}, "engine is 'cpsat', expected cp-sat or z3"),
    (plink.order, {"seed": -1}, "seed is -1, expected a whole number from 0 to"),
    (plink.order, {"ranks": 2.5}, "ranks is 2.5, expected a whole number from 1"),
    (plink.order, {"ranks": 17}, "17 ranks do not fit on 16 hosts with 16 slots"),
    (plink.order, {"time_limit_s": float("nan")}, "time_limit_s is nan, expected a number"),
    (plink.order, {"size": "20XB"}, "'20XB' is not a size"),
    (plink.order, {"size": 0}, "size is 0, expected a whole number from 1"),
    (plink.order, {"percentile": 50}, "the cluster: has no round-trip times at p50"),
    (plink.order, {"objective": "contention", "prove_s": 1}, "an exact engine cannot prove"),
    (plink.group, {"method": "levls"}, "method is 'levls', expected auto, kmeans, levels"),
    (plink.group, {"k": 17}, "17 groups need as many measured hosts"),
    (plink.group, {"elasticity": 3.0}, "elasticity is 3.0, expected a number from 1 to 2"),
    (
        plink.group,
        {"elasticity": 1.5, "method": "levels"},
        "elasticity=1.5 is allowed only with method=linkage",
    ),
    (
        plink.plan,
        {"kind": "star"},
        "kind is 'star', expected 2lha, auto, flat, hub, ps, ring or tree",
    ),
    (plink.plan, {"kind": "2lha", "ranks_per_host": 0}, "ranks_per_host is 0, expected a whole"),
    (plink.predict, {"algorithms": ["rign"]}, "there is no algorithm 'rign'; did you mean ring"),
    (plink.predict, {"algorithms": ["lightgbm-bruck"]}, "lightgbm-bruck needs a number"),
]


@pytest.mark.parametrize(("function", "options", "message"), CALLS)
def test_wrong_arguments_are_one_sentence(
    function: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(plink.WrongUseError) as caught:
        function(rack_cluster(), **options)
    assert message in str(caught.value)


def test_progress_is_told_to_a_callback() -> None:
    told: list[plink.Progress] = []
    cluster = rack_cluster()
    plink.order(cluster, time_limit_s=0.1, progress=told.append)
    plink.group(cluster, progress=told.append)
    plink.plan(cluster, progress=told.append)
    plink.predict(cluster, algorithms=["tree"], progress=told.append)
    texts = [str(each) for each in told]
    assert {"groups", "order", "tree"} <= set(texts)


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plink.predict(plink.order(plink.group(rack_cluster()).cluster, time_limit_s=0.1))
        plink.plan(rack_cluster())
    assert capfd.readouterr() == ("", "")
