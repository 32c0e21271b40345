"""A proven lower bound for any latency form."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from solvers import _native
from solvers.bounds.mesh import mesh_bound
from solvers.bounds.rounds import rounds_bound
from solvers.bounds.trees import trees_bound
from solvers.collectives.form import Form, MeshForm, RingForm, RoundsForm
from solvers.distances import Matrix, checked

Kind = Literal["held-karp", "mesh-cuts", "threshold-graphs", "priced-trees", "trivial"]

# Iterations of the 1-tree ascent between two looks at the clock.
_SLICE_WEIGHTS = 20_000_000

# Sums of floats may differ in their last digits from one order of adding to another.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Bound:
    """No order costs less.

    Args:
        value: in the matrix's unit.
        kind: what proves it: `held-karp` (1-trees under penalties), `mesh-cuts` (what clusters of
            hosts can hold of a mesh), `threshold-graphs` (what the graph of short pairs must hold),
            `priced-trees` (trees that may use a host more than once, at a price), or `trivial`
            (there is nothing to sum).
    """

    value: float
    kind: Kind


def lower_bound(form: Form, distance: Matrix, time_limit_s: float = 1.0) -> Bound:
    """A value that no order's cost is below.

    Args:
        form: what the cost sums up.
        distance: (N, N), symmetric, zero diagonal, finite, not negative.
        time_limit_s: for the proof. What was proven until then is returned; the first steps are
            always taken.

    Raises:
        ValueError: not a distance matrix, or one whose size is not the form's number of ranks.
    """
    matrix = checked(distance, form.ranks)
    until = time.monotonic() + time_limit_s
    if form.ranks < 2:
        return Bound(0.0, "trivial")
    if isinstance(form, RingForm):
        bound = Bound(_ring_bound(matrix, until), "held-karp")
    elif isinstance(form, MeshForm):
        bound = Bound(mesh_bound(form, matrix, until), "mesh-cuts")
    elif isinstance(form, RoundsForm):
        bound = Bound(rounds_bound(form, matrix, until), "threshold-graphs")
    else:
        bound = Bound(trees_bound(form, matrix, until), "priced-trees")
    return Bound(max(0.0, bound.value * (1.0 - _ROUNDING)), bound.kind)


def _ring_bound(matrix: Matrix, until: float) -> float:
    """Minimum 1-trees under penalties (Held and Karp 1970)."""
    size = len(matrix)
    if size == 2:
        return 2.0 * float(matrix[0, 1])
    nearest = np.sort(matrix + np.diag(np.full(size, np.inf)), axis=1)
    # The ascent aims at the cost of a ring; it need not be a cheap one.
    ascent = _native.Ascent(matrix, _some_ring(matrix))
    iterations = max(1, _SLICE_WEIGHTS // size**2)
    while not ascent.run(iterations) and time.monotonic() < until:
        pass
    return max(ascent.bound, math.fsum(nearest[:, :2].sum(axis=1)) / 2.0)


def _some_ring(matrix: Matrix) -> float:
    """The cost of the ring that goes to the nearest host left, each time."""
    left = np.ones(len(matrix), dtype=bool)
    here, cost = 0, 0.0
    for _ in range(len(matrix) - 1):
        left[here] = False
        following = int(np.where(left, matrix[here], np.inf).argmin())
        cost += float(matrix[here, following])
        here = following
    return cost + float(matrix[here, 0])
