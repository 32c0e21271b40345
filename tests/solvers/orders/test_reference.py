"""The plain evaluator, against costs written out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from plink.solvers.collectives import papers
from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.form import RingForm, RoundsForm, TreesForm, WeightedRound

# Hosts on a line, a µs apart each; the distance of two is the difference of their numbers.
_LINE = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0)))


def test_a_ring_goes_there_and_back():
    assert latency_cost(RingForm(8), _LINE, range(8)) == 14.0


def test_halving_doubling_sums_the_distances_of_its_rounds():
    form = papers.HALVING_DOUBLING.form(8)
    assert latency_cost(form, _LINE, range(8)) == 1.0 + 2.0 + 4.0
    # Host 7 in the place of host 1: 7 - 0, then 3 and 5 from 7 (4), then 7 to 5 and 4 to 0.
    assert latency_cost(form, _LINE, [0, 7, 2, 3, 4, 5, 6, 1]) == 7.0 + 4.0 + 4.0


def test_a_weight_multiplies_its_round_and_an_empty_round_costs_nothing():
    rounds = [
        WeightedRound(np.array([[0, 1], [2, 3]]), 2.0),
        WeightedRound(np.array([[0, 3]]), 0.5),
        WeightedRound(np.zeros((0, 2), dtype=np.intp), 9.0),
    ]
    assert latency_cost(RoundsForm(4, rounds), _LINE, [0, 1, 3, 6]) == 2.0 * 3.0 + 0.5 * 6.0


def test_a_tree_costs_its_dearest_way_down():
    # 0 is the root; 1 and 2 below it; 3 below 2.
    parents = np.array([-1, 0, 0, 2])
    assert latency_cost(TreesForm(4, [parents]), _LINE, [0, 5, 1, 3]) == 5.0
    assert latency_cost(TreesForm(4, [parents]), _LINE, [0, 2, 1, 7]) == 1.0 + 6.0
    other = np.array([1, 2, 3, -1])
    assert latency_cost(TreesForm(4, [parents, other]), _LINE, [0, 2, 1, 7]) == 6.0 + 1.0 + 2.0


@pytest.mark.parametrize("form", [RoundsForm(3, []), TreesForm(1, [np.array([-1])])])
def test_nothing_to_send_costs_nothing(form):
    assert latency_cost(form, _LINE, range(form.ranks)) == 0.0
