"""Plan files with servers: written as version 2, read only by who runs them, refused in a line."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.refusals import is_one_sentence, refusal
from formats.test_hostile_plan import JUNK
from plans.server_strategies import forests_with_servers
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats import document
from plink.formats import plan as plan_file
from plink.formats.plan import SERVER, WORKER, Plan, PlanRank, Port
from plink.formats.structs import FormatError, encode
from plink.plans.check import BrokenForestError, Flags
from plink.plans.forest import Forest, make_forest
from support.schemas import check, fault

LITERAL = """\
{
 "format": "plink.plan",
 "version": 1,
 "kind": "ncc",
 "ranks": [
  {"host": "a", "address": "10.0.0.1"},
  {"host": "b", "address": "10.0.0.2"},
  {"host": "box", "address": "10.0.0.9", "role": "server", "ports": [{"address": "10.0.0.9"}, \
{"address": "10.0.0.10", "weight": 2.0}]},
  {"host": "spare", "address": "10.0.0.8", "role": "server"}
 ],
 "forest": {
  "weights": [0.25, 0.75],
  "reduce_parents": [[2, 2, -1, -2], [2, 2, -1, -2]],
  "broadcast_parents": [[2, 2, -1, -2], [2, 2, -1, -2]]
 },
 "size_bytes": 1000,
 "groups": [],
 "predicted": [],
 "assumptions": [],
 "seed": 0,
 "collectives": ["all-reduce"],
 "route_ports": [[0, 0, 0, 0], [0, 0, 1, 0]]
}
"""
STAR = [2, 2, -1, -2]
PLAN = Plan(
    kind="ncc",
    ranks=[
        PlanRank("a", "10.0.0.1"),
        PlanRank("b", "10.0.0.2"),
        PlanRank("box", "10.0.0.9", SERVER, (Port("10.0.0.9"), Port("10.0.0.10", 2.0))),
        PlanRank("spare", "10.0.0.8", SERVER),
    ],
    forest=make_forest([0.25, 0.75], [STAR, STAR], [STAR, STAR]),
    size_bytes=1000,
    route_ports=np.array([[0, 0, 0, 0], [0, 0, 1, 0]], dtype=np.int32),
)


def parse(content: bytes, *, with_servers: bool = True) -> Plan:
    return plan_file.decode_plan(
        document.parse(content, "p.json"), "p.json", with_servers=with_servers
    )


def test_it_is_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan_file.write_plan(str(path), PLAN)
    assert json.loads(path.read_text()) == json.loads(LITERAL)
    check("plan", json.loads(path.read_text()))
    read = plan_file.read_plan(str(path), with_servers=True)
    assert list(read.ranks) == list(PLAN.ranks)
    assert read.route_ports is not None
    assert np.array_equal(read.route_ports, PLAN.route_ports)
    assert read.contributors == 2
    assert read.is_server.tolist() == [False, False, True, True]


def test_a_plan_without_servers_has_no_roles_and_ports() -> None:
    forest = make_forest([1.0], [[-1, 0]], [[-1, 0]])
    written = encode(replace(PLAN, ranks=PLAN.ranks[:2], forest=forest, route_ports=None))
    assert "route_ports" not in written
    assert written["ranks"][0] == {"host": "a", "address": "10.0.0.1"}


def test_who_does_not_run_servers_names_who_does(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan_file.write_plan(str(path), PLAN)
    for read in (
        lambda: plan_file.read_plan(str(path)),
        lambda: parse(LITERAL.encode(), with_servers=False),
    ):
        with pytest.raises(WrongUseError, match="2 ranks of this plan are servers") as caught:
            read()
        assert "plink hub runs servers" in str(caught.value.hint)


def test_a_star_that_all_ranks_are_in_is_refused_for_its_server_too() -> None:
    # No route does without a rank, so that only the role tells.
    data = json.loads(LITERAL)
    del data["ranks"][3]
    forest = data["forest"]
    for rows in (forest["reduce_parents"], forest["broadcast_parents"], data["route_ports"]):
        for row in rows:
            del row[3]
    content = json.dumps(data).encode()
    assert parse(content).contributors == 2
    assert "1 rank of this plan is a server" in str(
        refusal(lambda: parse(content, with_servers=False))
    )


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("ranks", 2, "role", "boss"), "ranks[2].role"),
        (("ranks", 0, "ports", [{"address": "x"}]), "ranks[0]"),
        (("ranks", 2, "ports", 0, "weight", 0), "ranks[2].ports[0].weight"),
        (("ranks", 2, "ports", 0, "address", "a b"), "ranks[2].ports[0].address"),
        (("ranks", 2, "ports", [{"address": "x"}] * 257), "ranks[2].ports"),
        (("ranks", 2, "role", "worker"), "ranks[2]"),
        (("ranks", 3, "role", "worker"), ""),
        (("route_ports", 0, [0, 0, 2, 0]), ""),
        (("route_ports", 0, [1, 0, 0, 0]), ""),
        (("route_ports", 0, [0]), "route_ports"),
        (("forest", "reduce_parents", 1, 3, 2), ""),
        (("forest", "reduce_parents", 1, 1, 3), ""),
        (("forest", "reduce_parents", 1, 1, -2), ""),
        (("forest", "broadcast_parents", 1, 1, -3), ""),
    ],
)
def test_what_cannot_be_is_refused(path: tuple[Any, ...], place: str) -> None:
    *way, last, value = path
    data = json.loads(LITERAL)
    inner = data
    for step in way:
        inner = inner[step]
    inner[last] = value
    error = refusal(lambda: parse(json.dumps(data).encode()))
    assert isinstance(error, FormatError)
    assert is_one_sentence(error, "p.json")
    assert error.place == place


@given(forests_with_servers())
def test_any_plan_with_servers_is_written_and_read(drawn: tuple[Forest, Flags]) -> None:
    forest, is_server = drawn
    ranks = [
        PlanRank(f"h{rank}", f"10.0.0.{rank}", SERVER if server else WORKER)
        for rank, server in enumerate(is_server)
    ]
    written = encode(Plan("any", ranks, forest, 1))
    read = parse(json.dumps(written).encode())
    assert np.array_equal(read.forest.reduce_parents, forest.reduce_parents)
    assert np.array_equal(read.forest.broadcast_parents, forest.broadcast_parents)
    assert np.array_equal(read.is_server, is_server)
    assert fault("plan", written) is None


@given(st.data())
def test_any_changes_of_values_are_taken_or_refused(data: st.DataObject) -> None:
    plan: Any = copy.deepcopy(json.loads(LITERAL))
    for _ in range(data.draw(st.integers(1, 4))):
        place: Any = plan
        while True:
            key = data.draw(
                st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place)))
            )
            inner = place[key]
            if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
                break
            place = inner
        place[key] = data.draw(JUNK)
    taken: list[Plan] = []
    error = refusal(lambda: taken.append(parse(json.dumps(plan).encode())))
    assert taken or is_one_sentence(error, "p.json")
    for each in taken:
        encode(each)


def test_what_is_broken_cannot_be_made() -> None:
    bad_ports = np.array([[0, 0, 0, 0], [0, 0, 2, 0]], dtype=np.int32)
    with pytest.raises(BrokenForestError, match="route 1: rank 2 has no port 2"):
        replace(PLAN, route_ports=bad_ports)
    workers = [replace(rank, role=WORKER, ports=()) for rank in PLAN.ranks]
    with pytest.raises(BrokenForestError):
        replace(PLAN, ranks=workers)
