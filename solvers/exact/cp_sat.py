"""Proofs by OR-Tools' CP-SAT that no order costs less: models of rings, rounds and trees.

Distances of rounds enter only by their rank among all distances. A round has a ladder of
variables, one for each distance: whether the round costs at least so much.
"""

from __future__ import annotations

import itertools
import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from ortools.sat.python import cp_model

from plink.solvers.bounds.rounds import adjacency, find_digit
from plink.solvers.collectives.form import Form, RingForm, RoundsForm, TreesForm
from plink.solvers.collectives.trees import depths, heights
from plink.solvers.exact.whole import EngineResult, Whole, WholeTerms
from plink.solvers.limits import Deadline

# `places[rank][host]`: whether the rank is on the host.
Places: TypeAlias = Sequence[Sequence[cp_model.IntVar]]

# `pairs[i, j]`: whether two ranks that are joined are on the hosts i and j.
Pairs: TypeAlias = Mapping[tuple[int, int], cp_model.IntVar]

# Writing down a model of more takes minutes, and no proof comes of it.
_MOST_RANKS_OF_RING = 200
_MOST_RANKS = 40

# Returns the order in a solution, by which variables are true in it.
_Reader = Callable[[Callable[[cp_model.IntVar], bool]], list[int]]


def add_places(model: cp_model.CpModel, ranks: int) -> Places:
    """Add variables to a model that place every rank on one host and every host under one rank."""
    everyone = range(ranks)
    places = [[model.new_bool_var(f"rank {p} on {i}") for i in everyone] for p in everyone]
    for rank in everyone:
        model.add_exactly_one(places[rank])
    for host in everyone:
        model.add_exactly_one(places[rank][host] for rank in everyone)
    return places


def join(
    model: cp_model.CpModel,
    places: Places,
    pairs: Pairs,
    peers: Mapping[int, Sequence[int]],
    deadline: Deadline,
) -> None:
    """Constrain variables of host pairs to be true where the ranks placed on them are joined.

    Args:
        model: model that gets the constraints.
        places: places of the ranks.
        pairs: whether two hosts are joined, from the first to the second.
        peers: of every rank, those to which it is joined.
        deadline: when to stop.

    Raises:
        TimeoutError: the time did not suffice.
    """
    for (i, j), is_joined in pairs.items():
        deadline.require()
        for rank, others in peers.items():
            for other in others:
                model.add_bool_or(~places[rank][i], ~places[other][j], is_joined)
            model.add_bool_or(~places[rank][i], ~is_joined, *(places[q][j] for q in others))


def add_rounds(
    model: cp_model.CpModel,
    form: RoundsForm,
    whole: WholeTerms,
    places: Places,
    deadline: Deadline,
) -> cp_model.LinearExprT:
    """Add the latency cost of an algorithm in rounds to a model; return its expression."""
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


def add_trees(
    model: cp_model.CpModel,
    form: TreesForm,
    hops: Whole,
    places: Places,
    *,
    most: int,
    deadline: Deadline,
) -> cp_model.LinearExprT:
    """Add given trees' latency cost by hosts' places to a model; return it, up to `most` units."""
    cost = model.new_int_var(0, most, "cost")
    hosts = range(form.ranks)
    walks = _shortest_walks(hops)
    for tree in form.parents:
        parents, depth, height = tree.tolist(), depths(tree[None])[0], heights(tree[None])[0]
        children: dict[int, list[int]] = {rank: [] for rank in hosts}
        for rank, parent in enumerate(parents):
            if parent >= 0:
                children[parent].append(rank)
        from_root = [model.new_int_var(0, most, "") for _ in hosts]
        to_leaf = [model.new_int_var(0, most, "") for _ in hosts]
        is_parent = {(i, j): model.new_bool_var("") for i in hosts for j in hosts if i != j}
        for i in hosts:
            above = [is_parent[j, i] for j in hosts if j != i]
            below = [is_parent[i, j] for j in hosts if j != i]
            model.add_exactly_one(*above, places[parents.index(-1)][i])
            model.add(sum(below) == sum(len(children[rank]) * places[rank][i] for rank in hosts))
            model.add(from_root[i] + to_leaf[i] <= cost)
        for (i, j), holds in is_parent.items():
            hop = int(hops[i, j])
            model.add(from_root[j] >= from_root[i] + hop).only_enforce_if(holds)
            model.add(to_leaf[i] >= to_leaf[j] + hop).only_enforce_if(holds)
        for rank in hosts:
            up, down = int(depth[rank]), int(height[rank])
            for host in hosts:
                here = places[rank][host]
                model.add(from_root[host] >= int(walks[up][host])).only_enforce_if(here)
                model.add(to_leaf[host] >= int(walks[down][host])).only_enforce_if(here)
        join(model, places, is_parent, children, deadline)
    return cost


def _shortest_walks(hops: Whole) -> list[Whole]:
    """Return the least length of a walk of k hops from every host, (N,), for k = 0 to N."""
    apart = hops + np.diag(np.full(len(hops), hops.max() * len(hops)))
    walks = [np.zeros(len(hops), dtype=np.int64)]
    for _ in hops:
        walks.append((apart + walks[-1]).min(axis=1))
    return walks


def most_ranks(form: Form) -> int:
    """Return the largest number of ranks for which a CP-SAT proof is tried."""
    return _MOST_RANKS_OF_RING if isinstance(form, RingForm) else _MOST_RANKS


def look_below(
    form: Form, whole: WholeTerms, below: int, least: int, deadline: Deadline
) -> EngineResult:
    """Search by CP-SAT for the cheapest order that costs less than a given cost.

    Args:
        form: merged, of at least four ranks.
        whole: the form's terms.
        below: what an order must cost less than.
        least: what every order costs at least.
        deadline: when to stop. An interrupt (Ctrl-C) ends the solver, too.

    Raises:
        TimeoutError: the time does not suffice for the model.
    """
    model, read = _build_model(form, whole, below, least, deadline)
    deadline.require()
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = deadline.left_s
    if not isinstance(form, RingForm):
        # Linear relaxations of these models say next to nothing.
        solver.parameters.linearization_level = 0
    with _interruptible(solver):
        status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return EngineResult(None, below, is_final=True)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return EngineResult(None, _whole_bound(solver, least, below), is_final=False)
    order = read(lambda variable: bool(solver.value(variable)))
    return EngineResult(
        order, _whole_bound(solver, least, below), is_final=status == cp_model.OPTIMAL
    )


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


def _build_model(
    form: Form, whole: WholeTerms, below: int, least: int, deadline: Deadline
) -> tuple[cp_model.CpModel, _Reader]:
    model = cp_model.CpModel()
    if isinstance(form, RingForm):
        cost, read = add_ring(model, whole.terms_of[0])
    else:
        places = add_places(model, form.ranks)
        if isinstance(form, RoundsForm):
            cost = add_rounds(model, form, whole, places, deadline)
        else:
            cost = add_trees(
                model, form, whole.terms_of[0], places, most=below - 1, deadline=deadline
            )

        def read(is_true: Callable[[cp_model.IntVar], bool]) -> list[int]:
            return [next(i for i, here in enumerate(row) if is_true(here)) for row in places]

    model.add(cost >= least)
    model.add(cost <= below - 1)
    model.minimize(cost)
    return model, read


def add_ring(model: cp_model.CpModel, hops: Whole) -> tuple[cp_model.LinearExprT, _Reader]:
    """Add a ring to a model; return the expression of its length, and a reader of its order."""
    hosts = range(len(hops))
    arcs = {(i, j): model.new_bool_var("") for i in hosts for j in hosts if i != j}
    model.add_circuit([(i, j, used) for (i, j), used in arcs.items()])

    def read(is_true: Callable[[cp_model.IntVar], bool]) -> list[int]:
        following = {i: j for (i, j), used in arcs.items() if is_true(used)}
        order = [0]
        while len(order) < len(following):
            order.append(following[order[-1]])
        return order

    return sum(int(hops[i, j]) * used for (i, j), used in arcs.items()), read
