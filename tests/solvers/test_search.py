"""The driver of all searches: its limits, and interrupts of searches in threads."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from plink.solvers.limits import Deadline
from plink.solvers.search import Search, Solution, search_in_threads


def test_orders_that_are_priced_one_by_one_are_not_tried_beyond_the_time() -> None:
    deadline = Deadline()
    number = itertools.count()

    def price(order: object) -> float:
        if next(number) == 10:
            deadline.stop()
        return 1.0

    search = Search(price, range(6), deadline)
    assert search.try_all() == "time"
    assert next(number) == 11
    assert search.bound == 0.0


def test_orders_that_are_priced_together_are_not_tried_beyond_the_time() -> None:
    search = Search(lambda order: float(order[0]), [5, 0, 1, 2, 3, 4], Deadline())
    assert search.try_all(lambda orders, _: np.asarray(orders[:7, 0], dtype=np.float64)) == "time"
    assert (search.cost, search.steps, search.bound) == (0.0, 7, 0.0)


def test_an_interrupt_before_a_search_begins_passes() -> None:
    deadline = Deadline()

    def run(number: int) -> Solution:
        if number == 0:
            raise KeyboardInterrupt
        return Solution([0], 0.0, 0.0, "time")

    with pytest.raises(KeyboardInterrupt):
        search_in_threads(run, 2, deadline, ends_together=True)
    assert deadline.is_over
