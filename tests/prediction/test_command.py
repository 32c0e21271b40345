"""`plink predict` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plink.base.replacing import replace
from plink.cli import run
from plink.formats.cluster import Cluster
from plink.plans.names import COLLECTIVES
from plink.solvers.collectives.registry import ALGORITHMS
from prediction.clusters import rack_cluster, write


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    return write(tmp_path / "cluster.json", rack_cluster(4, 4))


@pytest.fixture
def order(cluster: Path) -> Path:
    path = cluster.with_name("order.json")
    assert run(["order", str(cluster), "--time-limit", "0.2", "-o", str(path)]) == 0
    return path


def predicted(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    capsys.readouterr()
    assert run(["predict", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_order_is_predicted_beside_given_and_random_ones(
    cluster: Path, order: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = predicted(capsys, order, "--cluster", cluster, "--size", "10MB", "--algo", "gloo-ring")
    (row,) = data["rows"]
    assert row["algorithm"] == "gloo-ring"
    assert row["order"]["time_s"] == pytest.approx(0.375, abs=0.002)
    assert row["given"]["time_s"] == pytest.approx(1.5, abs=0.002)
    assert row["order"]["time_s"] < row["random"]["time_s"] <= row["given"]["time_s"]
    assert row["order"]["latency_us"] == 12 * 20 + 4 * 50
    assert (data["hosts"], data["size_bytes"], data["assumptions"]) == (16, 10_000_000, [])


def test_the_table_names_every_algorithm_or_why_it_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = write(tmp_path / "cluster.json", rack_cluster(2, 3))
    assert run(["predict", str(cluster), "--size", "1MB"]) == 0
    lines = capsys.readouterr().out.splitlines()
    # The path may take more than one line.
    heading = " ".join(" ".join(lines[: lines.index("")]).split())
    assert "1 MB on 6 hosts" in heading
    assert max(map(len, lines)) <= 80
    for name in ALGORITHMS:
        assert any(line.split()[:1] == [name] for line in lines), name
    assert "halving-doubling needs a power of two of ranks, not 6" in lines
    titles = next(line for line in lines if line.startswith("algorithm"))
    assert titles.split() == ["algorithm", "given", "random", "of", "random", "latency"]


def test_the_latency_form_is_compared_where_no_rate_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = write(tmp_path / "cluster.json", rack_cluster(2, 2, has_uplinks=False))
    assert run(["predict", str(cluster), "--size", "1MB", "--algo", "ring"]) == 0
    captured = capsys.readouterr()
    assert "predicted sums of latencies" in captured.out
    assert captured.out.splitlines()[-1].split()[:3] == ["ring", "200", "µs"]
    assert "note: no groups are known" in captured.err


def test_ranks_of_a_host_stay_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = write(tmp_path / "cluster.json", rack_cluster(2, 2, slots=3))
    data = predicted(capsys, cluster, "--size", "12MB", "--algo", "gloo-ring")
    assert (data["hosts"], data["ranks"]) == (4, 12)
    # Racks in turn: both hosts of a rack send out of it, 2 x 11/12 of 12 MB at 50 MB/s each.
    assert data["rows"][0]["given"]["time_s"] == pytest.approx(2 * 22 / 50, rel=0.01)


def test_another_cluster_file_is_noted(
    cluster: Path, order: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write(tmp_path / "other.json", replace(rack_cluster(4, 4), uplinks=None))
    what = ["--size", "1MB", "--algo", "ring"]
    assert run(["predict", str(order), "--cluster", str(other), *what]) == 0
    assert f"{order} was made from another version of {other}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{order}", "--size", "1MB"], "the cluster that it was made from"),
        (
            ["{cluster}", "--size", "1MB", "--cluster", "{cluster}"],
            "is neither an order nor a plan",
        ),
        (["{cluster}", "--size", "1"], ""),
        (["{cluster}", "--size", "x"], "is not a size"),
        (["{cluster}", "--size", "1MB", "--algo", "rign"], "there is no algorithm 'rign'"),
        (["{order}", "--size", "1MB", "--cluster", "{few}"], "is not a host of {few}"),
        (["{few}", "--size", "1MB", "--algo", "bcube"], "bcube needs a power of 4 of ranks, not 6"),
        (["{bare}", "--size", "1MB", "--objective", "contention"], "holds no bandwidths"),
    ],
)
def test_what_cannot_be_predicted_is_one_sentence(
    arguments: list[str],
    said: str,
    order: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {
        "cluster": order.with_name("cluster.json"),
        "order": order,
        "few": write(order.with_name("few.json"), rack_cluster(2, 3)),
        "bare": write(order.with_name("bare.json"), Cluster(rack_cluster(2, 2).hosts)),
    }
    capsys.readouterr()
    code = run(["predict", *(word.format(**files) for word in arguments)])
    assert code == (2 if said else 0)
    assert said.format(**files) in capsys.readouterr().err


def test_collectives_along_a_plan_are_predicted_and_bounded(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = cluster.with_name("plan.json")
    wanted = ["--collective", "all-gather,all-gather,reduce-scatter", "--size", "20MB"]
    assert run(["plan", str(cluster), *wanted, "-o", str(plan)]) == 0
    assert "2 all-gather, reduce-scatter of 20 MB on" in " ".join(capsys.readouterr().out.split())
    rows = {row["collective"]: row for row in predicted(capsys, plan, "--cluster", cluster)["rows"]}
    assert list(rows) == list(COLLECTIVES)
    # 3/4 of it crosses each uplink of 400 Mbit/s, 15/16 each host's link, in a direction.
    for name in ("all-gather", "reduce-scatter"):
        assert rows[name]["bound_s"] == pytest.approx(0.375)
        assert rows[name]["time_s"] == pytest.approx(0.375, rel=0.01)
    known = json.loads(plan.read_text())
    assert known["collectives"] == ["all-gather", "all-gather", "reduce-scatter"]
    assert known["bound_s"] == pytest.approx(3 * 0.375)
    one = ["predict", str(plan), "--cluster", str(cluster), "--collective", "barrier"]
    assert run(one) == 0
    shown = capsys.readouterr().out
    assert "of the bound" in shown
    assert "all-gather" not in shown


def test_what_a_plan_has_no_use_for_is_refused(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = cluster.with_name("plan.json")
    assert run(["plan", str(cluster), "-o", str(plan)]) == 0
    along = ["predict", str(plan), "--cluster", str(cluster)]
    for arguments, said in (
        (along[:2], "a plan does not contain the measurements"),
        ([*along, "--algo", "ring"], "--algo applies to orders"),
        (["plan", str(cluster), "--collective", "allgather"], "did you mean all-gather?"),
    ):
        assert run(arguments) == 2
        assert said in capsys.readouterr().err


def test_algorithms_of_other_collectives_are_predicted_in_orders(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = ["--size", "10MB", "--collective", "all-gather,all-to-all"]
    rows = predicted(capsys, cluster, *wanted)["rows"]
    names = [row["algorithm"] for row in rows]
    assert names == ["gloo-all-gather", "all-to-all", "gloo-all-to-all"]
