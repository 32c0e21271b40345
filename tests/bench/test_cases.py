"""From words on a command line to what is launched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from planning.clusters import rack_cluster
from plink.base.errors import WrongUseError
from plink.bench.cases import CaseOptions, make_cases
from plink.bench.clients.client import Workload
from plink.bench.plans import plan_from_file, plans_of_kinds
from plink.bench.request import Case, ways_of
from plink.cli import cli
from plink.formats import cluster as cluster_file
from plink.formats import plan as plan_file
from plink.optimize.plans.planning import find_plan
from plink.optimize.plans.request import PlanRequest
from plink.optimize.plans.traffic import Demand
from plink.plans.check import check
from plink.solvers.slots.layout import RankLayout
from support.recorded_progress import RecordedProgress

CLUSTER = rack_cluster([2, 2])


def cases_of(
    ways: dict[str, list[str]],
    sizes: Sequence[int],
    orders: str | None = None,
    progress: RecordedProgress | None = None,
) -> list[Case]:
    options = CaseOptions(
        ways=ways,
        plan_files=[],
        orders=orders,
        workloads=[Workload(size, 0, 1) for size in sizes],
        slots=1,
        layout=RankLayout([1] * 4, 4),
        seed=1,
        time_limit_s=0.2,
    )
    return make_cases(options, CLUSTER, progress or RecordedProgress())


@pytest.mark.parametrize(
    ("clients", "words", "ways"),
    [
        (["engine"], [], {"engine": ["auto"]}),
        (["engine", "gloo"], [], {"engine": ["auto"], "gloo": ["ring"]}),
        (["engine", "gloo"], ["ring", "2lha"], {"engine": ["ring", "2lha"], "gloo": ["ring"]}),
        (
            ["gloo", "mpich"],
            ["recursive-doubling"],
            {"gloo": ["ring"], "mpich": ["recursive-doubling"]},
        ),
    ],
)
def test_every_client_runs_the_words_that_it_knows_or_its_usual_one(
    clients: list[str], words: list[str], ways: dict[str, list[str]]
) -> None:
    assert ways_of(clients, words) == ways


def test_a_word_that_no_client_knows_is_refused() -> None:
    with pytest.raises(WrongUseError, match="engine and gloo cannot run rabenseifner"):
        ways_of(["engine", "gloo"], ["rabenseifner"])


def test_sizes_come_one_after_the_other_with_plans_and_orders_in_each() -> None:
    cases = cases_of({"engine": ["flat", "2lha"], "gloo": ["ring"]}, [4, 20_000_000])
    assert [(case.client, case.algorithm, case.order.label) for case in cases] == [
        ("engine", "flat", ""),
        ("engine", "2lha", ""),
        ("gloo", "ring", "given"),
        ("gloo", "ring", "plink"),
    ] * 2
    assert [case.workload.size_bytes for case in cases] == [4] * 4 + [20_000_000] * 4
    for case in cases:
        assert case.predicted_s is not None
        assert sorted(case.order.order) == [0, 1, 2, 3]
        assert (case.plan is None) == (case.client == "gloo")
        if case.plan is not None:
            check(case.plan.forest)
            assert case.plan.kind == case.algorithm
            assert case.plan.hosts == [0, 1, 2, 3]


def test_what_a_library_has_no_algorithm_for_is_left_out_and_told() -> None:
    progress = RecordedProgress()
    ways = {"openmpi": ["ring", "recursive-doubling"], "mpich": ["reduce-scatter-allgather"]}
    cases = cases_of(ways, [12, 16], "given", progress)
    assert [(case.client, case.algorithm, case.workload.size_bytes) for case in cases] == [
        ("openmpi", "recursive-doubling", 12),
        ("openmpi", "ring", 16),
        ("openmpi", "recursive-doubling", 16),
        ("mpich", "reduce-scatter-allgather", 16),
    ]
    assert progress.said == [
        "openmpi ring has no part for every rank of 12 B: left out",
        "mpich reduce-scatter-allgather has no part for every rank of 12 B: left out",
    ]
    with pytest.raises(WrongUseError, match="nothing is left to compare"):
        cases_of({"openmpi": ["ring"]}, [4])


def test_auto_takes_the_kind_that_is_predicted_to_be_best_for_each_size() -> None:
    def kind(size_bytes: int) -> str:
        plans = plans_of_kinds(
            ["auto", "2lha", "flat", "ring", "tree"],
            CLUSTER,
            slots=1,
            demand=Demand("all-reduce", size_bytes),
            seed=1,
        )
        auto, *others = plans
        times = [plan.predicted_s for plan in others if plan.predicted_s is not None]
        assert auto.predicted_s is not None
        assert auto.predicted_s <= min(times) * 1.01
        return auto.kind

    assert kind(4) == "flat"
    assert kind(20_000_000) in ("2lha", "ring")


def test_nothing_is_predicted_where_no_rate_is_known() -> None:
    unmeasured = rack_cluster([2, 2], uplink_gbit_s=None)
    plans = plans_of_kinds(["2lha"], unmeasured, slots=1, demand=Demand("all-reduce", 4), seed=1)
    assert [plan.predicted_s for plan in plans] == [None]


def test_a_kind_that_a_network_has_no_plan_of_is_refused() -> None:
    with pytest.raises(WrongUseError, match="there is no plan of kind 2lha: all hosts are in one"):
        plans_of_kinds(["2lha"], rack_cluster([4]), slots=1, demand=Demand("all-reduce", 4), seed=1)


def test_a_plan_file_is_run_with_its_ranks_on_its_hosts(tmp_path: Path) -> None:
    plan = find_plan(CLUSTER, PlanRequest(kind="tree", size=4000, ranks_per_host=2)).plan
    path = tmp_path / "mine.json"
    plan_file.write_plan(str(path), plan)
    found = plan_from_file(str(path), CLUSTER, 2, Demand("all-reduce", 4000))
    assert (found.label, found.kind) == ("mine.json", "tree")
    assert found.hosts == [0, 0, 1, 1, 2, 2, 3, 3]
    assert found.predicted_s is not None
    with pytest.raises(WrongUseError, match="does not have 1 rank on each of 4 hosts") as caught:
        plan_from_file(str(path), CLUSTER, 1, Demand("all-reduce", 4000))
    assert "--slots K" in (caught.value.hint or "")
    plan_file.write_plan(str(path), find_plan(rack_cluster([3, 2]), PlanRequest(kind="flat")).plan)
    with pytest.raises(WrongUseError, match="n04 is not a host of the cluster file"):
        plan_from_file(str(path), CLUSTER, 1, Demand("all-reduce", 4000))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ["--client", "engine", "--orders", "given"],
            "--orders does not apply to the client engine",
        ),
        (["--client", "engine,gloo", "--ranks", "2"], "--ranks needs one library"),
        (["--client", "engine,gloo", "--correlate"], "--correlate needs one library and one size"),
        (
            ["--client", "gloo,mpich", "--plan", "x.json"],
            "--plan is for engine and hub, not for --client gloo,mpich",
        ),
        (
            ["--client", "gloo", "--plan", "x.json"],
            "--plan is for engine and hub, not for --client gloo",
        ),
        (
            ["--client", "engine,gloo", "--mpirun", "x"],
            "--mpirun is for openmpi and mpich, not for --client engine,gloo",
        ),
        (
            ["--client", "openmpi,mpich", "--mpicc", "x"],
            "--mpicc applies to one MPI, but the clients are",
        ),
        (
            ["--client", "openmpi,mpich", "--python", "x"],
            "--python is for engine, hub, gloo and nccl, not for --client openmpi,mpich",
        ),
        (["--client", "engine,ucc"], "--client 'ucc' is not known"),
        (["--client", "gloo,gloo"], "--client names gloo twice"),
        (["--client", "engine", "--algo", "ring,flat,ring"], "the algorithm ring is named twice"),
        (["--client", "mpich", "--algo", "ring,x"], "mpich cannot run x"),
        (["--client", "gloo", "--size", "4,4 B"], "--size names a size twice"),
        (["--client", "engine", "--size", "4,6"], "a size of 6 B is not a whole number of float32"),
        (["--client", "engine", "-o", "{}"], "is the output, but also an input"),
        (["--client", "engine", "--plan", "{}"], "expected a plink.plan file"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, options: list[str], complaint: str
) -> None:
    path = tmp_path / "cluster.json"
    cluster_file.write_cluster(str(path), CLUSTER)
    words = ["bench", str(path), *(word.format(path) for word in options)]
    result: Any = CliRunner().invoke(cli, words, standalone_mode=False)
    assert complaint in str(result.exception)
