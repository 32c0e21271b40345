"""Forests over ranks that are left and ranks that have come."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans.strategies import forests, two_by_two
from plink.plans.check import check
from plink.plans.forest import NO_PARENT, Forest, Parents, make_forest
from plink.plans.measures import measure
from plink.plans.regroup import flat, regroup_forest

CHANGE = st.data()


def drawn_change(data: st.DataObject, forest: Forest) -> list[int | None]:
    kept = data.draw(st.lists(st.sampled_from(range(forest.ranks)), unique=True))
    new: list[int | None] = [None] * data.draw(st.integers(0 if kept else 1, 3))
    return data.draw(st.permutations([*kept, *new]))


def roots_of(parents: Parents) -> list[int]:
    return [row.index(NO_PARENT) for row in parents.tolist()]


def is_below(parents: Parents, rank: int, ancestor: int) -> bool:
    while rank not in (NO_PARENT, ancestor):
        rank = int(parents[rank])
    return rank == ancestor


@given(forests(), CHANGE)
def test_it_is_a_forest_over_the_ranks_asked_for(forest: Forest, data: st.DataObject) -> None:
    changed = drawn_change(data, forest)
    result = regroup_forest(forest, changed)
    check(result)
    assert result.ranks == len(changed)
    assert result.weights.sum() == pytest.approx(1.0)
    assert (result.weights > 0.0).all()


@given(forests(), CHANGE)
def test_who_is_left_stays_below_whom_it_was_below(forest: Forest, data: st.DataObject) -> None:
    roots = {
        root
        for root, weight in zip(roots_of(forest.reduce_parents), forest.weights, strict=True)
        if weight > 0
    }
    lost = data.draw(st.sets(st.sampled_from(range(forest.ranks))))
    if roots <= lost:
        return
    kept = [rank for rank in range(forest.ranks) if rank not in lost]
    result = regroup_forest(forest, kept)
    living = [
        route
        for route in range(forest.routes)
        if forest.weights[route] > 0 and roots_of(forest.reduce_parents)[route] in kept
    ]
    shares = forest.weights[living] / forest.weights[living].sum()
    assert result.weights == pytest.approx(shares)
    for before, after in (
        (forest.reduce_parents, result.reduce_parents),
        (forest.broadcast_parents, result.broadcast_parents),
    ):
        for new_route, route in enumerate(living):
            for i, rank in enumerate(kept):
                for j, ancestor in enumerate(kept):
                    was = is_below(before[route], rank, ancestor)
                    assert is_below(after[new_route], i, j) == was


@given(forests(), st.integers(1, 3))
def test_each_new_rank_has_a_route_and_is_a_leaf_of_the_others(forest: Forest, new: int) -> None:
    result = regroup_forest(forest, [*range(forest.ranks), *[None] * new])
    used = int((forest.weights > 0.0).sum())
    assert roots_of(result.reduce_parents)[used:] == list(range(forest.ranks, result.ranks))
    for parents in (result.reduce_parents, result.broadcast_parents):
        for route, root in enumerate(roots_of(parents)[:used]):
            assert set(parents[route, forest.ranks :]) == {root}
            assert not np.isin(parents[route], range(forest.ranks, result.ranks)).any()


@given(st.integers(1, 9), CHANGE)
def test_flat_stays_flat(ranks: int, data: st.DataObject) -> None:
    changed = drawn_change(data, flat(ranks))
    result, expected = regroup_forest(flat(ranks), changed), flat(len(changed))
    order = np.argsort(roots_of(result.reduce_parents))
    assert result.weights == pytest.approx(1.0 / len(changed))
    assert (result.reduce_parents[order] == expected.reduce_parents).all()
    assert (result.broadcast_parents[order] == expected.broadcast_parents).all()


def test_a_chain_is_closed_behind_a_lost_rank() -> None:
    chain = make_forest([1.0], [[-1, 0, 1, 2]], [[-1, 0, 1, 2]])
    assert regroup_forest(chain, [0, 1, 3]).reduce_parents.tolist() == [[-1, 0, 1]]
    assert regroup_forest(chain, [1, 2, 3]).reduce_parents.tolist() == [[-1, 0, 1]]


def test_the_root_of_the_only_route_has_its_heaviest_child_for_an_heir() -> None:
    tree = make_forest([1.0], [[-1, 0, 0, 2, 2]], [[-1, 0, 1, 1, 0]])
    result = regroup_forest(tree, [1, 2, 3, 4])
    assert result.reduce_parents.tolist() == [[1, -1, 1, 1]]
    # In the broadcast rank 2 was below rank 1, whose place it takes.
    assert roots_of(result.broadcast_parents) == [1]
    check(result)


def test_two_levels_stay_two_levels() -> None:
    groups = [0, 0, 1, 1]
    before = measure(two_by_two(), 100.0, group_of=groups)
    fewer = measure(regroup_forest(two_by_two(), [0, 1, 3]), 100.0, group_of=[0, 0, 1])
    more = measure(regroup_forest(two_by_two(), [0, 1, 2, 3, None]), 100.0, group_of=[*groups, 2])
    assert before.rounds == fewer.rounds == more.rounds == 4
    # Once there and once back, whatever the number of hosts in a group.
    assert fewer.cross_group_bytes == pytest.approx(before.cross_group_bytes)
    # Three groups now, and a fifth of the buffer from each rank of a copied route's group.
    assert more.cross_group_bytes <= 2 * 200.0 + 40.0


@pytest.mark.parametrize("wrong", [[], [0, 0], [4], [-1, None]])
def test_what_is_no_change_of_its_ranks(wrong: list[int | None]) -> None:
    with pytest.raises(ValueError, match="expected distinct ranks of the old forest"):
        regroup_forest(flat(4), wrong)
