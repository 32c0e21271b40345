"""CP-SAT model of rounds: which hosts are peers, and the cost of each round.

Distances enter only by their rank among all distances. A round has a ladder of variables, one for
each distance: whether the round costs at least so much.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from ortools.sat.python import cp_model

from plink.solvers.bounds.patterns import adjacency, find_digit
from plink.solvers.collectives.form import RoundsForm
from plink.solvers.exact.cp_places import Places, join
from plink.solvers.exact.whole import Whole, WholeTerms
from plink.solvers.limits.deadline import Deadline


def add_rounds(
    model: cp_model.CpModel,
    form: RoundsForm,
    whole: WholeTerms,
    places: Places,
    deadline: Deadline,
) -> cp_model.LinearExprT:
    """Add the rounds to a model; return their cost.

    Raises:
        TimeoutError: the time did not suffice.
    """
    costs = [
        _add_round(model, adjacency(step.edges, form.ranks), terms, places, deadline)
        for step, terms in zip(form.rounds, whole.terms_of, strict=True)
    ]
    _break_symmetry(model, form, places, costs)
    return sum(costs)


def _add_round(
    model: cp_model.CpModel,
    peers: npt.NDArray[np.bool_],
    terms: Whole,
    places: Places,
    deadline: Deadline,
) -> cp_model.IntVar:
    hosts = range(len(peers))
    levels = np.unique(terms[np.triu_indices(len(terms), 1)])
    at_least = [model.new_bool_var("") for _ in levels]
    model.add_bool_and(at_least[0])
    for lower, higher in itertools.pairwise(at_least):
        model.add_implication(higher, lower)
    cost = model.new_int_var(int(levels[0]), int(levels[-1]), "round")
    steps = zip(np.diff(levels).tolist(), at_least[1:], strict=True)
    model.add(cost == int(levels[0]) + sum(step * is_taken for step, is_taken in steps))
    level_of = np.searchsorted(levels, terms)
    pairs: dict[tuple[int, int], cp_model.IntVar] = {}
    for i in hosts:
        for j in range(i):
            pairs[i, j] = pairs[j, i] = model.new_bool_var("")
            model.add_implication(pairs[i, j], at_least[int(level_of[i, j])])
    degrees = peers.sum(axis=1).tolist()
    for i in hosts:
        around = [pairs[i, j] for j in hosts if j != i]
        if set(degrees) == {1}:
            model.add_exactly_one(around)
        else:
            model.add(sum(around) == sum(degrees[p] * places[p][i] for p in hosts))
    near = {p: np.flatnonzero(peers[p]).tolist() for p in hosts}
    join(model, places, pairs, near, deadline)
    return cost


def _break_symmetry(
    model: cp_model.CpModel, form: RoundsForm, places: Places, costs: Sequence[cp_model.IntVar]
) -> None:
    """Exclude orders that differ only by a symmetry of the ranks' digits.

    Where every round is a digit of the ranks' numbers, adding a number to a digit of every rank
    changes no round, so rank 0 can be on host 0. Nor does exchanging values of a digit other than
    0; and where all rounds weigh the same, nor does exchanging digits.
    """
    found = [find_digit(adjacency(step.edges, form.ranks)) for step in form.rounds]
    digits = [digit for digit in found if digit is not None and len(digit.members) == form.ranks]
    bases = {digit.base for digit in digits}
    if len(digits) < len(found) or len(bases) != 1:
        return
    base = bases.pop()
    if not _is_power(form.ranks, base):
        return
    model.add_bool_and(places[0][0])
    for digit in digits:
        hosts = [
            sum(host * here for host, here in enumerate(places[value * digit.place]))
            for value in range(1, base)
        ]
        for lower, higher in itertools.pairwise(hosts):
            model.add(lower <= higher)
    if len({step.weight for step in form.rounds}) == 1:
        for cheaper, dearer in itertools.pairwise(costs):
            model.add(cheaper <= dearer)


def _is_power(number: int, base: int) -> bool:
    while number % base == 0:
        number //= base
    return number == 1
