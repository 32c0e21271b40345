"""A ring for CP-SAT: a circuit of arcs between hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ortools.sat.python import cp_model

from solvers.exact.whole import Whole

# `arcs[i, j]`: whether host j comes after host i.
Arcs: TypeAlias = Mapping[tuple[int, int], cp_model.IntVar]


def add_ring(model: cp_model.CpModel, hops: Whole) -> Arcs:
    """A ring through all hosts."""
    hosts = range(len(hops))
    arcs = {(i, j): model.new_bool_var("") for i in hosts for j in hosts if i != j}
    model.add_circuit([(i, j, used) for (i, j), used in arcs.items()])
    return arcs


def ring_cost(arcs: Arcs, hops: Whole) -> cp_model.LinearExprT:
    """The sum of a ring's hops."""
    return sum(int(hops[i, j]) * used for (i, j), used in arcs.items())


def read_ring(arcs: Arcs, is_true: Callable[[cp_model.IntVar], bool]) -> list[int]:
    """The hosts around the ring of a solution."""
    following = {i: j for (i, j), used in arcs.items() if is_true(used)}
    order = [0]
    while len(order) < len(following):
        order.append(following[order[-1]])
    return order
