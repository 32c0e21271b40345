"""Proofs by OR-Tools' constraint solver CP-SAT."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from ortools.sat.python import cp_model

from plink.solvers.collectives.form import Form, RingForm, RoundsForm
from plink.solvers.exact.cp_places import add_places, read_places
from plink.solvers.exact.cp_rounds import add_rounds
from plink.solvers.exact.cp_trees import add_trees
from plink.solvers.exact.whole import Stage, Whole, WholeTerms
from plink.solvers.limits.deadline import Deadline

# Writing down a model of more takes minutes, and no proof comes of it.
_MOST_RANKS_OF_RING = 200
_MOST_RANKS = 40

# Of a model, what a quick machine writes down at most.
_PARTS_PER_S = 4e5

_Reader = Callable[[Callable[[cp_model.IntVar], bool]], list[int]]

# `arcs[i, j]`: whether host j comes after host i.
Arcs: TypeAlias = Mapping[tuple[int, int], cp_model.IntVar]


@dataclass(frozen=True)
class _Model:
    model: cp_model.CpModel
    read: _Reader


def most_ranks(form: Form) -> int:
    """Return the largest number of ranks that a model may have."""
    return _MOST_RANKS_OF_RING if isinstance(form, RingForm) else _MOST_RANKS


def look_below(form: Form, whole: WholeTerms, below: int, least: int, deadline: Deadline) -> Stage:
    """Search for the cheapest order that costs less than a number of units.

    Args:
        form: merged, of at least four ranks.
        whole: the form's terms.
        below: what an order must cost less than.
        least: what every order costs at least.
        deadline: when to stop. An interrupt (Ctrl-C) ends the solver, too.

    Raises:
        TimeoutError: the time does not suffice for the model.
    """
    if _parts(form) / _PARTS_PER_S > deadline.left_s:
        raise TimeoutError
    written = _build_model(form, whole, below, least, deadline)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = deadline.left_s
    if not isinstance(form, RingForm):
        # Linear relaxations of these models say next to nothing.
        solver.parameters.linearization_level = 0
    with _interruptible(solver):
        status = solver.solve(written.model)
    if status == cp_model.INFEASIBLE:
        return Stage(None, below, is_final=True)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Stage(None, _whole_bound(solver, least, below), is_final=False)
    order = written.read(lambda variable: bool(solver.value(variable)))
    return Stage(order, _whole_bound(solver, least, below), is_final=status == cp_model.OPTIMAL)


@contextmanager
def _interruptible(solver: cp_model.CpSolver) -> Iterator[None]:
    """Stop the solver on Ctrl-C and restore the previous handler afterwards.

    The solver puts its own handler in the place of Python's, and afterwards removes it: the next
    Ctrl-C would kill the process. Only the main thread may put handlers back.
    """
    before = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    solver.parameters.catch_sigint_signal = is_main and before is not None
    try:
        yield
    finally:
        if solver.parameters.catch_sigint_signal:
            signal.signal(signal.SIGINT, before)


def _whole_bound(solver: cp_model.CpSolver, least: int, below: int) -> int:
    bound = solver.best_objective_bound
    return min(below, max(least, math.ceil(bound - 1e-6))) if math.isfinite(bound) else least


def _parts(form: Form) -> int:
    """Return the approximate number of terms in a model's constraints."""
    if isinstance(form, RingForm):
        return form.ranks**2
    if isinstance(form, RoundsForm):
        return sum(2 * len(step.edges) * form.ranks**2 for step in form.rounds)
    return sum(2 * form.ranks**3 for _ in form.parents)


def _build_model(
    form: Form, whole: WholeTerms, below: int, least: int, deadline: Deadline
) -> _Model:
    model = cp_model.CpModel()
    if isinstance(form, RingForm):
        arcs = add_ring(model, whole.terms_of[0])
        cost = ring_cost(arcs, whole.terms_of[0])
        reader: _Reader = lambda is_true: read_ring(arcs, is_true)  # noqa: E731
    else:
        places = add_places(model, form.ranks)
        if isinstance(form, RoundsForm):
            cost = add_rounds(model, form, whole, places, deadline)
        else:
            cost = add_trees(model, form, whole, places, most=below - 1, deadline=deadline)
        reader = lambda is_true: read_places(places, is_true)  # noqa: E731
    model.add(cost >= least)
    model.add(cost <= below - 1)
    model.minimize(cost)
    return _Model(model, reader)


def add_ring(model: cp_model.CpModel, hops: Whole) -> Arcs:
    """Add a ring through all hosts to a model; return its variables."""
    hosts = range(len(hops))
    arcs = {(i, j): model.new_bool_var("") for i in hosts for j in hosts if i != j}
    model.add_circuit([(i, j, used) for (i, j), used in arcs.items()])
    return arcs


def ring_cost(arcs: Arcs, hops: Whole) -> cp_model.LinearExprT:
    """Return the sum of a ring's hops."""
    return sum(int(hops[i, j]) * used for (i, j), used in arcs.items())


def read_ring(arcs: Arcs, is_true: Callable[[cp_model.IntVar], bool]) -> list[int]:
    """Return the hosts along the ring of a solution."""
    following = {i: j for (i, j), used in arcs.items() if is_true(used)}
    order = [0]
    while len(order) < len(following):
        order.append(following[order[-1]])
    return order
