"""Forests with servers: what is right passes, what a replay shows to be wrong does not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans.server_strategies import forests_with_servers, is_right
from plans.strategies import forests
from plink.base.errors import WrongUseError
from plink.engine.forest import native
from plink.plans.by_port import list_member_ranks, merge_ports, split_by_port
from plink.plans.check import BrokenForestError, Flags, check, check_ports
from plink.plans.forest import ABSENT, Forest, make_forest
from plink.plans.measures import measure


def passes(forest: Forest, is_server: Flags) -> bool:
    try:
        check(forest, is_server)
    except BrokenForestError:
        return False
    return True


@given(forests_with_servers())
def test_what_aggregates_passes(drawn: tuple[Forest, Flags]) -> None:
    assert is_right(*drawn)
    check(*drawn)


@given(forests_with_servers(), st.data())
def test_changed_trees_pass_exactly_if_a_replay_ends_well(
    drawn: tuple[Forest, Flags], data: st.DataObject
) -> None:
    forest, is_server = drawn
    up, down = forest.reduce_parents.copy(), forest.broadcast_parents.copy()
    for _ in range(data.draw(st.integers(1, 3))):
        tree = data.draw(st.sampled_from([up, down]))
        route = data.draw(st.integers(0, forest.routes - 1))
        rank = data.draw(st.integers(0, forest.ranks - 1))
        tree[route, rank] = data.draw(st.integers(-3, forest.ranks))
    changed = make_forest(forest.weights, up, down)
    assert passes(changed, is_server) == is_right(changed, is_server)


@given(forests())
def test_without_servers_it_is_the_check_of_all_plans(forest: Forest) -> None:
    check(forest)
    check(forest, np.zeros(forest.ranks, dtype=bool))


def star(absent: int | None = None) -> tuple[list[int], list[int]]:
    """Three workers and a server, 3; another one, 4, is not used."""
    tree = [3, 3, 3, -1, ABSENT]
    if absent is not None:
        tree[absent] = ABSENT
    return tree, list(tree)


SERVERS = np.array([False, False, False, True, True])


@pytest.mark.parametrize(
    ("up", "down", "said"),
    [
        (star(1)[0], star()[1], "route 0: the reduction tree omits rank 1, which is a"),
        (star()[0], star(2)[1], "route 0: the broadcast tree omits rank 2, which is a"),
        (
            [3, 3, 3, -1, 3],
            star()[1],
            "rank 4 is a server, but receives nothing that it could send",
        ),
        ([3, 3, 4, -1, ABSENT], star()[1], "has rank 4 as the parent of rank 2, but omits"),
        ([3, 3, 3, 4, -1], star()[1], "the root is rank 4 in the reduction tree, but rank 3"),
        ([3, 3, 3, 4, 3], star()[1], "the reduction tree has no root"),
        ([1, 0, 3, -1, ABSENT], star()[1], "ranks 0 and 1 wait for each other"),
        (star()[0], [1, 0, 3, -1, ABSENT], "the result never arrives at rank 0"),
        ([3, 3, 3, -3, ABSENT], star()[1], "has -3 as the parent of rank 3"),
        ([3, 3, -1, -1, ABSENT], star()[1], "has 2 roots: ranks 2 and 3"),
    ],
)
def test_what_is_wrong_is_said(up: Sequence[int], down: Sequence[int], said: str) -> None:
    with pytest.raises(BrokenForestError, match="route 0: ") as caught:
        check(make_forest([1.0], [up], [down]), SERVERS)
    assert said in str(caught.value)


def test_a_server_may_get_the_result_it_has_no_use_for() -> None:
    up, down = star()
    down[4] = 3
    check(make_forest([1.0], [up], [down]), SERVERS)


def test_servers_alone_aggregate_nothing() -> None:
    forest = make_forest([1.0], [[-1, 0]], [[-1, 0]])
    with pytest.raises(BrokenForestError, match="no rank is a worker"):
        check(forest, np.array([True, True]))
    with pytest.raises(BrokenForestError, match="has 2 ranks, but roles are given for 1"):
        check(forest, np.array([True]))


def test_the_engine_refuses_what_does_without_ranks() -> None:
    up, down = star()
    forest = make_forest([1.0], [up], [down])
    with pytest.raises(BrokenForestError, match="plink hub runs"):
        check(forest)
    with pytest.raises(WrongUseError, match="the engine runs none") as caught:
        native(forest)
    assert caught.value.hint == "plink hub runs servers"


@given(forests_with_servers(), st.data())
def test_members_are_ports_of_ranks(drawn: tuple[Forest, Flags], data: st.DataObject) -> None:
    forest, is_server = drawn
    ports_of = [data.draw(st.integers(1, 3)) if server else 0 for server in is_server]
    most = np.maximum(ports_of, 1)
    is_part = (forest.reduce_parents != ABSENT) | (forest.broadcast_parents != ABSENT)
    drawn_ports = data.draw(
        st.lists(
            st.tuples(*(st.integers(0, int(each) - 1) for each in most)),
            min_size=forest.routes,
            max_size=forest.routes,
        )
    )
    ports = np.where(is_part, np.array(drawn_ports, dtype=np.int32), 0).astype(np.int32)
    check_ports(forest, ports, ports_of)
    rank_of = list_member_ranks(ports_of)
    members = split_by_port(forest, ports, ports_of)
    check(members, is_server[rank_of])
    back, back_ports = merge_ports(members, rank_of)
    assert np.array_equal(back.reduce_parents, forest.reduce_parents)
    assert np.array_equal(back.broadcast_parents, forest.broadcast_parents)
    assert np.array_equal(back_ports, ports)
    # What ports carry is what their ranks do.
    whole, parts = measure(forest, 1000.0), measure(members, 1000.0)
    for of_ranks, of_members in (
        (whole.sent_bytes, parts.sent_bytes),
        (whole.received_bytes, parts.received_bytes),
    ):
        assert np.bincount(rank_of, of_members) == pytest.approx(of_ranks)
    assert whole.rounds == parts.rounds


def test_two_ports_of_a_rank_are_not_one() -> None:
    members = make_forest([1.0], [[1, -1, 1]], [[1, -1, 1]])
    with pytest.raises(ValueError, match="two ports of one rank"):
        merge_ports(members, np.array([0, 1, 1]))


def test_ports_are_those_that_there_are() -> None:
    up, down = star()
    forest = make_forest([1.0], [up], [down])
    with pytest.raises(BrokenForestError, match=r"route 0: rank 3 has no port 2, expected 0 to 1"):
        check_ports(forest, np.array([[0, 0, 0, 2, 0]], dtype=np.int32), [0, 0, 0, 2, 0])
    with pytest.raises(BrokenForestError, match="differ in the number of routes"):
        check_ports(forest, np.zeros((2, 5), dtype=np.int32), [0] * 5)
