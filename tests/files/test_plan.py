"""The plan file: what goes in comes out, and nothing else gets in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from files.refusals import is_one_sentence, refusal
from plans.strategies import forests, two_by_two
from plink.base.errors import WrongUseError
from plink.files import document
from plink.files import plan as plan_file
from plink.files.groups import Group
from plink.files.plan import Plan, PlanRank, Predicted
from plink.plans.check import BrokenForestError

PLAN = Plan(
    kind="2lha",
    ranks=[PlanRank(name, f"10.0.0.{number}") for number, name in enumerate("abcd", 1)],
    forest=two_by_two(),
    size_bytes=1000,
    groups=(Group("r1", ["a", "b"]), Group("r2", ["c", "d"])),
    predicted=[Predicted("2lha", 0.5), Predicted("ring", 0.75)],
    bound_s=0.5,
    assumptions=["uplinks not measured, assumed to be unlimited: r1"],
    seed=3,
    made_from="sha256:0",
)

LITERAL = """{
 "format": "plink.plan",
 "version": 1,
 "made_from": "sha256:0",
 "kind": "2lha",
 "size_bytes": 1000,
 "collectives": ["all-reduce"],
 "seed": 3,
 "predicted": [
  {"kind": "2lha", "time_s": 0.5},
  {"kind": "ring", "time_s": 0.75}
 ],
 "bound_s": 0.5,
 "assumptions": ["uplinks not measured, assumed to be unlimited: r1"],
 "ranks": [
  {"host": "a", "address": "10.0.0.1"},
  {"host": "b", "address": "10.0.0.2"},
  {"host": "c", "address": "10.0.0.3"},
  {"host": "d", "address": "10.0.0.4"}
 ],
 "groups": [
  {"name": "r1", "hosts": ["a", "b"]},
  {"name": "r2", "hosts": ["c", "d"]}
 ],
 "routes": [
  {"weight": 0.25, "reduce": [-1, 0, 0, 2], "broadcast": [-1, 0, 0, 2]},
  {"weight": 0.25, "reduce": [1, -1, 3, 1], "broadcast": [1, -1, 3, 1]},
  {"weight": 0.25, "reduce": [2, 0, -1, 2], "broadcast": [2, 0, -1, 2]},
  {"weight": 0.25, "reduce": [1, 3, 3, -1], "broadcast": [1, 3, 3, -1]}
 ]
}
"""


def same(first: Plan, second: Plan) -> bool:
    return plan_file.to_json(first) == plan_file.to_json(second)


def test_a_plan_is_written_like_this(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan_file.write(str(path), PLAN)
    assert path.read_text() == LITERAL
    again = plan_file.read(str(path))
    assert same(again, PLAN)
    assert again.forest.weights.dtype == np.float64
    assert again.forest.reduce_parents.dtype == np.int32


@given(forests(), st.integers(1, 3), st.integers(1, 1 << 60))
@settings(max_examples=30)
def test_any_plan_comes_back(forest, slots, size_bytes) -> None:
    ranks = [
        PlanRank(f"h{rank // slots}", f"10.0.0.{rank // slots}") for rank in range(forest.ranks)
    ]
    plan = Plan("flat", ranks, forest, size_bytes)
    again = plan_file.parse(document.dump(plan_file.to_json(plan)), "plan.json")
    assert same(again, plan)
    assert again.host_of == [rank // slots for rank in range(forest.ranks)]
    assert again.group_of == again.host_of


def test_groups_of_ranks_are_those_of_their_hosts() -> None:
    ranks = [PlanRank(host, "10.0.0.1") for host in "xaabd"]
    plan = replace(PLAN, ranks=ranks, groups=(Group("r1", ["a", "b"]), Group("r2", ["d"])))
    assert plan.host_of == [0, 1, 1, 2, 3]
    places = plan.group_of
    assert places[1:] == [0, 0, 0, 1]
    assert places[0] not in (0, 1)


def test_a_broken_plan_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    up = PLAN.forest.reduce_parents.copy()
    up[2, 0] = 3
    up[2, 3] = 0
    broken = replace(PLAN, forest=replace(PLAN.forest, reduce_parents=up))
    with pytest.raises(BrokenForestError, match="route 2: the contribution of rank 0 never"):
        plan_file.write(str(path), broken)
    with pytest.raises(BrokenForestError, match="over 4 ranks, and 3 ranks"):
        plan_file.write(str(path), replace(PLAN, ranks=PLAN.ranks[:3]))
    assert not path.exists()


def hostile(change: Any) -> WrongUseError | None:
    data = json.loads(LITERAL)
    change(data)
    return refusal(lambda: plan_file.parse(json.dumps(data).encode(), "p.json"))


def put(*path: Any) -> Any:
    """A change that sets the value at the end of a path."""
    *way, last, value = path

    def change(data: Any) -> None:
        for step in way:
            data = data[step]
        data[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put("format", "plink.order"), "expected a plink.plan file, found a 'plink.order' file"),
        (put("version", 3), "version 3 of plink.plan is not known here"),
        (put("kind", "a b"), "kind is 'a b', expected a word"),
        (put("size_bytes", 0), "size_bytes is 0, expected a whole number from 1"),
        (put("seed", -1), "seed is -1"),
        (put("bound_s", -1.0), "bound_s is -1.0"),
        (put("predicted", 0, "time_s", "1"), "predicted[0]: time_s is '1'"),
        (put("assumptions", [1]), "assumptions is [1], expected a list of texts"),
        (put("ranks", []), "has 0 ranks, expected 1 to 4096"),
        (put("ranks", [{"host": "a", "address": "b"}] * 4097), "has 4097 ranks"),
        (put("ranks", 1, "host", "-x"), "ranks[1]: host is '-x'"),
        (put("ranks", 2, "host", "a"), "ranks[2]: the ranks of 'a' are not adjacent"),
        (
            put("ranks", 1, {"host": "a", "address": "x"}),
            "ranks[1]: 'a' has two addresses",
        ),
        (put("groups", 0, "hosts", ["z"]), "groups[0]: 'z' is not one of the hosts"),
        (put("groups", 1, "hosts", ["a"]), "groups[1]: 'a' is in two groups"),
        (put("routes", []), "has 0 routes, expected 1 to 65536"),
        (put("routes", 0, "weight", float("1e300")), "routes[0]: weight is 1e+300"),
        (put("routes", 0, "weight", None), "routes[0]: weight is None"),
        (put("routes", 1, "reduce", [0]), "routes[1]: reduce has 1 numbers, expected 4"),
        (put("routes", 1, "reduce", "x"), "routes[1]: reduce is 'x', expected 4 whole numbers"),
        (put("routes", 1, "reduce", 0, True), "routes[1]: reduce[0] is True"),
        (put("routes", 1, "reduce", 0, 1.0), "routes[1]: reduce[0] is 1.0"),
        (put("routes", 1, "broadcast", 3, 4), "broadcast[3] is 4, expected a whole number from -1"),
        (put("routes", 3, "reduce", 3, 2), "route 3: the reduction tree has no root"),
        (put("routes", 0, "broadcast", 3, 3), "route 0: the broadcast tree makes rank 3 its own"),
        (
            put("routes", 2, "broadcast", [1, -1, 1, 2]),
            "route 2: the sum arrives at rank 2, but rank 1 sends it out",
        ),
    ],
)
def test_what_cannot_be_is_refused(change: Any, said: str) -> None:
    error = hostile(change)
    assert error is not None
    assert is_one_sentence(error, "p.json")
    assert said in str(error)


def test_weights_of_nothing_are_refused() -> None:
    def change(data: Any) -> None:
        for route in data["routes"]:
            route["weight"] = 0

    assert "sum up to nothing" in str(hostile(change))
