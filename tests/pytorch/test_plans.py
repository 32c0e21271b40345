"""PLINK_PLAN: a plan for these ranks is used, one for others is refused by all of them."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans.strategies import forests
from plink.autotune.ranks.placing import Place, match, rename_ranks
from plink.base.errors import WrongUseError
from plink.engine import EngineError
from plink.engine.forest import native
from plink.formats import plan as plan_file
from plink.formats.plan import Plan, PlanRank
from plink.plans.forest import Forest, make_forest
from plink.torch.forests import PlanChoice, flat
from pytorch import work_checks as checks
from pytorch.processes import results

pytestmark = pytest.mark.timing

# 0 - 1 - 2: the ends have nothing to say to each other.
LINE = make_forest([1.0], [[-1, 0, 1]], [[-1, 0, 1]])


def written(folder: Path, forest: Forest, host: str | None = None) -> dict[str, str]:
    """The environment with a plan for ranks on this host."""
    ranks = [PlanRank(host or socket.gethostname(), "192.0.2.1")] * forest.ranks
    path = str(folder / "plan.json")
    plan_file.write_plan(path, Plan("line", ranks, forest, 1000))
    return {"PLINK_PLAN": path}


def test_a_plan_says_who_talks_to_whom(tmp_path: Path) -> None:
    environment = written(tmp_path, LINE)
    assert results(checks.bytes_sent, 3, tmp_path, environment=environment) == [
        {1: True, 2: False},
        {0: True, 2: True},
        {0: False, 1: True},
    ]


def test_without_a_plan_all_talk_to_all(tmp_path: Path) -> None:
    heard = results(checks.bytes_sent, 3, tmp_path)
    assert all(all(sent.values()) and len(sent) == 2 for sent in heard)


@pytest.mark.parametrize(
    ("ranks", "host", "why"),
    [
        (2, None, "is for 3 ranks, there are 2"),
        (3, "elsewhere", f"has no host {socket.gethostname()}, on which rank 0 runs"),
    ],
)
def test_a_plan_for_others_is_refused(
    ranks: int, host: str | None, why: str, tmp_path: Path
) -> None:
    environment = written(tmp_path, LINE, host)
    path = environment["PLINK_PLAN"]
    heard = results(checks.reduced, ranks, tmp_path, environment=environment)
    assert heard == [f"DistBackendError: plink: the plan {path} {why}"] * ranks


def test_a_plan_for_others_is_made_to_fit_where_members_change(tmp_path: Path) -> None:
    longer = make_forest([1.0], [[-1, 0, 1, 2]], [[-1, 0, 1, 2]])
    environment = {**written(tmp_path, longer), "PLINK_MEMBERS_CHANGE": "1"}
    assert results(checks.bytes_sent, 3, tmp_path, environment=environment) == [
        {1: True, 2: False},
        {0: True, 2: True},
        {0: False, 1: True},
    ]


def test_what_is_no_plan_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "no.json"
    file.write_text("{}")
    heard = results(checks.reduced, 2, tmp_path, environment={"PLINK_PLAN": str(file)})
    assert heard[0] == heard[1]
    assert heard[0].startswith(f"DistBackendError: plink: {file}")


@pytest.mark.parametrize("said", [None, "junk", [], {"weights": 1}, {"forest": 7}])
def test_what_another_version_put_into_the_store_is_refused(said: Any, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="rank 0 put something into") as caught:
        PlanChoice(1, 2, None, is_part=False).forest(said)
    assert caught.value.rank == 0
    choice = PlanChoice(0, 3, written(tmp_path, LINE)["PLINK_PLAN"], is_part=False)
    with pytest.raises(EngineError, match="rank 1 put something into"):
        choice.decided([choice.told(), said, said])


def test_ranks_are_matched_by_name_and_by_address() -> None:
    planned = [PlanRank("a", "10.0.0.1")] * 2 + [PlanRank("b", "10.0.0.2")]
    places = [
        Place("b.example.org", ["10.9.9.9"]),
        Place("a", []),
        Place("container-7", ["127.0.0.1", "10.0.0.1"]),
    ]
    assert match(planned, places) == [2, 0, 1]


def test_a_host_with_more_ranks_than_planned_is_refused() -> None:
    planned = [PlanRank("a", "10.0.0.1"), PlanRank("b", "10.0.0.2")]
    with pytest.raises(WrongUseError, match="has 1 ranks on a, where more than these run"):
        match(planned, [Place("a", []), Place("a", [])])


@given(forests(), st.randoms(use_true_random=False))
def test_placing_renames_ranks_and_nothing_else(forest: Forest, chance: object) -> None:
    order = list(range(forest.ranks))
    chance.shuffle(order)  # type: ignore[attr-defined]
    result = rename_ranks(forest, order)
    native(result)
    for old, new in (
        (forest.reduce_parents, result.reduce_parents),
        (forest.broadcast_parents, result.broadcast_parents),
    ):
        for route in range(forest.routes):
            edges = {(order[rank], order[to]) for rank, to in enumerate(new[route]) if to >= 0}
            assert edges == {(rank, to) for rank, to in enumerate(old[route]) if to >= 0}


def test_flat_is_a_star_for_every_rank() -> None:
    forest = flat(3)
    assert np.array_equal(forest.reduce_parents, [[-1, 0, 0], [1, -1, 1], [2, 2, -1]])
    native(forest)
