"""Plans as people see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plans.strategies import two_by_two
from plink.base.replacing import replace
from plink.cli import run
from plink.formats import plan as plan_file
from plink.formats.hosts import Group
from plink.formats.plan import Plan, PlanRank, Predicted
from plink.plans.forest import make_forest

PLAN = Plan(
    kind="2lha",
    ranks=[PlanRank(name, f"10.0.0.{number}") for number, name in enumerate("abcd", 1)],
    forest=two_by_two(),
    size_bytes=20_000_000,
    groups=(Group("r1", ["a", "b"]), Group("r2", ["c", "d"])),
    predicted=[Predicted("ring", 0.75), Predicted("2lha", 0.5)],
    bound_s=0.5,
    assumptions=["hosts are\x1b[31m alike"],
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(plan: Plan, capsys: pytest.CaptureFixture[str]) -> list[str]:
    plan_file.write_plan("p.json", plan)
    assert run(["show", "p.json", "--width", "80"]) == 0
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_a_plan_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(PLAN, capsys) == [
        "2lha plan of 4 hosts in 2 groups",
        "made for 20 MB",
        "",
        "predicted 2lha 500 ms",
        "ring 750 ms",
        "no plan takes less than 500 ms",
        "routes 4, 25 % of the buffer each",
        "at most 4 rounds",
        "bytes 120 MB on the wire",
        "40.0 MB between groups",
        "the busiest rank has 1.00 times the mean",
        "assumed hosts are\\x1b[31m alike",
    ]


def test_a_plan_of_which_little_is_known_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    ranks = [PlanRank("a", "10.0.0.1"), PlanRank("a", "10.0.0.1"), PlanRank("b", "10.0.0.2")]
    forest = make_forest([3, 1], [[-1, 0, 0], [2, 2, -1]], [[-1, 0, 0], [2, 2, -1]])
    lines = shown(Plan("mine", ranks, forest, 1000), capsys)
    assert lines[0] == "mine plan of 2 hosts, 3 ranks"
    assert "predicted nothing" in lines
    assert "routes 2, 25 % to 75 % of the buffer" in lines
    # Rank 1 sends and gets three quarters within its host.
    assert "bytes 2.50 KB on the wire" in lines
    assert not any("between groups" in line for line in lines)


def test_json_tells_who_is_the_root_of_how_much(capsys: pytest.CaptureFixture[str]) -> None:
    plan_file.write_plan("p.json", replace(PLAN, assumptions=[]))
    assert run(["show", "p.json", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["of"], data["kind"], data["rounds"]) == ("plink.plan", "2lha", 4)
    assert data["root_shares"] == [0.25] * 4
    assert data["cross_group_bytes"] == 40e6


def test_a_plan_has_no_percentiles(capsys: pytest.CaptureFixture[str]) -> None:
    plan_file.write_plan("p.json", PLAN)
    assert run(["show", "p.json", "--percentile", "50"]) == 2
    assert "--percentile applies only to cluster files" in capsys.readouterr().err
