"""The plan file: what goes in comes out, and nothing else gets in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.refusals import is_one_sentence, refusal
from plans.strategies import forests, two_by_two
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats import document
from plink.formats import plan as plan_file
from plink.formats.hosts import Group
from plink.formats.plan import Plan, PlanRank, Predicted
from plink.formats.structs import FormatError, encode
from plink.plans.check import BrokenForestError
from plink.plans.forest import make_forest

PLAN = Plan(
    kind="2lha",
    ranks=[PlanRank(name, f"10.0.0.{number}") for number, name in enumerate("abcd", 1)],
    forest=two_by_two(),
    size_bytes=1000,
    groups=[Group("r1", ["a", "b"]), Group("r2", ["c", "d"])],
    predicted=[Predicted("2lha", 0.5), Predicted("ring", 0.75)],
    bound_s=0.5,
    assumptions=["uplinks not measured, assumed to be unlimited: r1"],
    seed=3,
    made_from="sha256:0",
)

LITERAL = """{
 "format": "plink.plan",
 "version": 1,
 "kind": "2lha",
 "ranks": [
  {"host": "a", "address": "10.0.0.1"},
  {"host": "b", "address": "10.0.0.2"},
  {"host": "c", "address": "10.0.0.3"},
  {"host": "d", "address": "10.0.0.4"}
 ],
 "forest": {
  "weights": [0.25, 0.25, 0.25, 0.25],
  "reduce_parents": [
   [-1, 0, 0, 2],
   [1, -1, 3, 1],
   [2, 0, -1, 2],
   [1, 3, 3, -1]
  ],
  "broadcast_parents": [
   [-1, 0, 0, 2],
   [1, -1, 3, 1],
   [2, 0, -1, 2],
   [1, 3, 3, -1]
  ]
 },
 "size_bytes": 1000,
 "groups": [
  {"name": "r1", "hosts": ["a", "b"]},
  {"name": "r2", "hosts": ["c", "d"]}
 ],
 "predicted": [
  {"kind": "2lha", "time_s": 0.5},
  {"kind": "ring", "time_s": 0.75}
 ],
 "bound_s": 0.5,
 "assumptions": ["uplinks not measured, assumed to be unlimited: r1"],
 "seed": 3,
 "made_from": "sha256:0",
 "collectives": ["all-reduce"]
}
"""


def same(first: Plan, second: Plan) -> bool:
    return encode(first) == encode(second)


def test_a_plan_is_written_like_this(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan_file.write_plan(str(path), PLAN)
    assert path.read_text() == LITERAL
    again = plan_file.read_plan(str(path))
    assert same(again, PLAN)
    assert again.forest.weights.dtype == np.float64
    assert again.forest.reduce_parents.dtype == np.int32


@given(forests(), st.integers(1, 3), st.integers(1, 1 << 60))
def test_any_plan_comes_back(forest, slots, size_bytes) -> None:
    ranks = [
        PlanRank(f"h{rank // slots}", f"10.0.0.{rank // slots}") for rank in range(forest.ranks)
    ]
    plan = Plan("flat", ranks, forest, size_bytes)
    again = plan_file.decode_plan(
        document.parse(document.dump(encode(plan)), "plan.json"), "plan.json"
    )
    assert same(again, plan)
    assert again.host_by_rank == [rank // slots for rank in range(forest.ranks)]
    assert again.group_by_rank == again.host_by_rank


def test_groups_of_ranks_are_those_of_their_hosts() -> None:
    ranks = [PlanRank(host, "10.0.0.1") for host in "xaabd"]
    star = [[-1, 0, 0, 0, 0]]
    groups = [Group("r1", ["a", "b"]), Group("r2", ["d"])]
    plan = Plan("flat", ranks, make_forest([1.0], star, star), 1000, groups)
    assert plan.host_by_rank == [0, 1, 1, 2, 3]
    places = plan.group_by_rank
    assert places[1:] == [0, 0, 0, 1]
    assert places[0] not in (0, 1)


def test_a_broken_plan_cannot_be_made() -> None:
    up = PLAN.forest.reduce_parents.copy()
    up[2, 0] = 3
    up[2, 3] = 0
    with pytest.raises(BrokenForestError, match="route 2: the contribution of rank 0 never"):
        replace(PLAN, forest=replace(PLAN.forest, reduce_parents=up))
    with pytest.raises(BrokenForestError, match="over 4 ranks, but 3 ranks"):
        replace(PLAN, ranks=PLAN.ranks[:3])


def hostile(change: Any) -> WrongUseError | None:
    data = json.loads(LITERAL)
    change(data)
    return refusal(
        lambda: plan_file.decode_plan(document.parse(json.dumps(data).encode(), "p.json"), "p.json")
    )


def put(*path: Any) -> Any:
    """A change that sets the value at the end of a path."""
    *way, last, value = path

    def change(data: Any) -> None:
        for step in way:
            data = data[step]
        data[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (put("kind", "a b"), "kind"),
        (put("size_bytes", 0), "size_bytes"),
        (put("seed", -1), "seed"),
        (put("bound_s", -1.0), "bound_s"),
        (put("predicted", 0, "time_s", "1"), "predicted[0].time_s"),
        (put("assumptions", [1]), "assumptions[0]"),
        (put("collectives", []), "collectives"),
        (put("collectives", ["all-for-one"]), "collectives[0]"),
        (put("ranks", []), "ranks"),
        (put("ranks", [{"host": "a", "address": "b"}] * 4097), "ranks"),
        (put("ranks", 1, "host", "-x"), "ranks[1].host"),
        (put("ranks", 2, "host", "a"), ""),
        (put("ranks", 1, {"host": "a", "address": "x"}), ""),
        (put("groups", 0, "hosts", ["z"]), ""),
        (put("groups", 1, "hosts", ["a"]), ""),
        (put("colour", "red"), ""),
        (put("forest", "weights", []), ""),
        (put("forest", "weights", 0, 1e300), ""),
        (put("forest", "weights", 0, None), ""),
        (put("forest", "weights", [0, 0, 0, 0]), ""),
        (put("forest", "weights", "x"), "forest.weights"),
        (put("forest", "reduce_parents", 1, [0]), "forest.reduce_parents"),
        (put("forest", "reduce_parents", 1, "x"), "forest.reduce_parents"),
        (put("forest", "reduce_parents", 1, 0, True), "forest.reduce_parents"),
        (put("forest", "reduce_parents", 1, 0, 1.0), "forest.reduce_parents"),
        (put("forest", "reduce_parents", 1, 0, 1 << 40), "forest.reduce_parents"),
        (put("forest", "broadcast_parents", 1, 3, 4), ""),
        (put("forest", "reduce_parents", 3, 3, 2), ""),
        (put("forest", "broadcast_parents", 0, 3, 3), ""),
        (put("forest", "broadcast_parents", 2, [1, -1, 1, 2]), ""),
    ],
)
def test_what_cannot_be_is_refused(change: Any, place: str) -> None:
    error = hostile(change)
    assert isinstance(error, FormatError)
    assert is_one_sentence(error, "p.json")
    assert error.place == place


@pytest.mark.parametrize("change", [put("format", "plink.order"), put("version", 2)])
def test_other_files_are_refused(change: Any) -> None:
    assert is_one_sentence(hostile(change), "p.json")
    assert hostile(change) is not None
