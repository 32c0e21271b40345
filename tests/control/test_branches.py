"""What the benchmark training-control trains, and how it reads what it notes."""

from __future__ import annotations

import pytest
import torch

from benchkit.control.disorder import BRANCHES, CHANCE, EACH, IN_ORDER, ONE, order_of
from benchkit.control.oversleep import Found, spreads_s
from benchkit.control.paced_models import Branchy

RANKS = 8


def orders(case: str, seed: int) -> list[list[int]]:
    found = [order_of(case, rank, RANKS, seed) for rank in range(RANKS)]
    assert all(sorted(order) == list(range(BRANCHES)) for order in found)
    return found


def test_each_case_disorders_as_many_ranks_as_it_says() -> None:
    given = list(range(BRANCHES))
    assert orders(IN_ORDER, 1) == [given] * RANKS
    # The branch that is drawn to be late may be the one that is late as given.
    assert {sum(order != given for order in orders(ONE, seed)) for seed in range(30)} <= {0, 1}
    assert len({tuple(order) for order in orders(EACH, 1)}) > 2
    assert all(order[1:] == sorted(order[1:]) for order in orders(EACH, 1))
    assert len({tuple(order) for order in orders(CHANCE, 1)}) == RANKS
    assert orders(CHANCE, 1) != orders(CHANCE, 2)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]])
def test_gradients_come_in_the_opposite_order_and_the_loss_is_the_same(order: list[int]) -> None:
    torch.manual_seed(0)
    model = Branchy(4, 8, 0.0)
    inputs = torch.randn(2, 8)
    come: list[int] = []
    for i, branch in enumerate(model.branches):
        first = next(branch.parameters())
        first.register_post_accumulate_grad_hook(lambda _, i=i: come.append(i))  # type: ignore[no-untyped-call]
    loss = model(inputs, order).pow(2).mean()
    loss.backward()
    assert come == order[::-1]
    assert torch.equal(loss, model(inputs, [0, 1, 2, 3]).pow(2).mean())


def test_spreads_are_of_cycles_that_all_ranks_began() -> None:
    found = [
        Found({3: 1.0, 4: 2.0, 5: 3.0}, [], [], 1.0, 0.0),
        Found({4: 2.5, 5: 3.0, 6: 4.0}, [], [], 1.0, 0.0),
    ]
    assert spreads_s(found) == {4: 0.5, 5: 0.0}
