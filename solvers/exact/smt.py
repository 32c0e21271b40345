"""Proofs by Z3, the SMT solver of Luo 2020, §5.2.3, that no order costs less than a given cost.

There, ranks are integers and distances an array. Here, whether a rank is on a host is a Boolean,
and a hop is at least the distance where both its ends are; Z3 decides that much sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import z3

from plink.solvers.collectives.form import Form, RingForm, RoundsForm
from plink.solvers.exact.whole import EngineResult, Whole, WholeTerms
from plink.solvers.limits import Deadline

_MOST_RANKS = 24


def most_ranks(form: Form) -> int:  # noqa: ARG001
    """Return the largest number of ranks for which a Z3 proof is tried."""
    return _MOST_RANKS


def look_below(
    form: Form, whole: WholeTerms, below: int, least: int, deadline: Deadline
) -> EngineResult:
    """Search by Z3 for orders below a cost, lowering the cost until there is none.

    Args:
        form: merged, of at least two ranks.
        whole: the form's terms.
        below: what an order must cost less than.
        least: what every order costs at least.
        deadline: when to stop. An interrupt (Ctrl-C) ends the questions, with the last order.

    Raises:
        TimeoutError: the time does not suffice for the formula.
    """
    solver = z3.SolverFor("QF_LIA")
    places = _places(solver, form.ranks)
    cost = z3.Int("cost")
    solver.add(cost == _cost(_Formula(solver, places, deadline), form, whole), cost >= least)
    order: list[int] | None = None
    while True:
        solver.add(cost < below)
        left_ms = int(deadline.left_s * 1e3)
        if left_ms <= 0:
            return EngineResult(order, least, is_final=False)
        solver.set("timeout", left_ms)
        try:
            answer = solver.check()
        except (KeyboardInterrupt, z3.Z3Exception):
            return EngineResult(order, least, is_final=False)
        if answer == z3.unsat:
            return EngineResult(order, below, is_final=True)
        if answer != z3.sat:
            return EngineResult(order, least, is_final=False)
        model = solver.model()
        order = [
            next(i for i, here in enumerate(row) if z3.is_true(model.eval(here))) for row in places
        ]
        below = whole.cost(form, order)


@dataclass(frozen=True)
class _Formula:
    """SMT formula being built over Booleans `places[rank][host]`: whether the rank is there."""

    solver: Any
    places: Sequence[Sequence[Any]]
    deadline: Deadline

    def at_least(self, variable: Any, terms: Whole, edges: Sequence[tuple[int, int]]) -> None:
        """Assert that a variable is at least the distance of each of some pairs of ranks."""
        for i, j in np.argwhere(~np.eye(len(terms), dtype=bool)).tolist():
            self.deadline.require()
            meet = z3.Or([z3.And(self.places[p][i], self.places[q][j]) for p, q in edges])
            self.solver.add(z3.Implies(meet, variable >= int(terms[i, j])))


def _places(solver: Any, ranks: int) -> list[list[Any]]:
    """Return Boolean variables `places[rank][host]`, constrained to one rank per host."""
    everyone = range(ranks)
    places = [[z3.Bool(f"rank {p} on host {i}") for i in everyone] for p in everyone]
    for row in [*places, *zip(*places, strict=True)]:
        solver.add(z3.PbEq([(here, 1) for here in row], 1))
    return places


def _cost(formula: _Formula, form: Form, whole: WholeTerms) -> Any:
    if isinstance(form, RingForm):
        # The ring costs the same from whichever host it begins.
        formula.solver.add(formula.places[0][0])
        hops = z3.Ints([f"hop {rank}" for rank in range(form.ranks)])
        for rank, hop in enumerate(hops):
            formula.at_least(hop, whole.terms_of[0], [(rank, (rank + 1) % form.ranks)])
        return z3.Sum(hops)
    if isinstance(form, RoundsForm):
        rounds = z3.Ints([f"round {number}" for number in range(len(form.rounds))])
        for variable, step, terms in zip(rounds, form.rounds, whole.terms_of, strict=True):
            formula.at_least(variable, terms, step.edges.tolist())
        return z3.Sum(rounds)
    cost = z3.Int("greatest sum of hops")
    for number, parents in enumerate(form.parents):
        _tree(formula, whole.terms_of[0], parents.tolist(), f"tree {number}", cost)
    return cost


def _tree(formula: _Formula, terms: Whole, parents: list[int], name: str, cost: Any) -> None:
    """Assert that the paths of a tree from its root are no longer than the cost."""
    from_root = [z3.Int(f"{name}, root to rank {rank}") for rank in range(len(parents))]
    for rank, parent in enumerate(parents):
        if parent < 0:
            formula.solver.add(from_root[rank] == 0)
        else:
            hop = z3.Int(f"{name}, hop to rank {rank}")
            formula.at_least(hop, terms, [(parent, rank)])
            formula.solver.add(from_root[rank] == from_root[parent] + hop)
        formula.solver.add(from_root[rank] <= cost)
