"""Proven lower bound on an algorithm's latency cost over all rank orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from plink.solvers.bounds.mesh import mesh_bound
from plink.solvers.bounds.nearest import nearest_distances, quick_rounds_bound, quick_trees_bound
from plink.solvers.bounds.rounds import rounds_bound
from plink.solvers.bounds.tree_budgets import budget_bound, has_time
from plink.solvers.bounds.trees import trees_bound
from plink.solvers.collectives.form import Form, MeshForm, RingForm, RoundsForm
from plink.solvers.distances import Matrix, check_distances
from plink.solvers.limits import Deadline
from plink.solvers.ring.ring_search import ring_bound

Kind = Literal["held-karp", "mesh-cuts", "threshold-graphs", "priced-trees", "trivial"]

# The share of the time for trees' mean paths, which prove more where distances are much alike.
_SHARE_OF_MEANS = 0.5

# Sums of floats may differ in their last digits from one order of adding to another.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Bound:
    """Lower bound on the latency cost of every rank order, with the kind of its proof.

    Args:
        value: in the matrix's unit.
        kind: what proves it: `held-karp` (1-trees under penalties), `mesh-cuts` (what clusters of
            hosts can hold of a mesh), `threshold-graphs` (what the graph of short pairs must hold),
            `priced-trees` (trees that may use a host more than once, at a price, and how far hosts
            are), or `trivial` (there is nothing to sum).
    """

    value: float
    kind: Kind


def lower_bound(form: Form, distance: Matrix, time_limit_s: float = 1.0) -> Bound:
    """Return a proven lower bound on an algorithm's latency cost over all rank orders.

    Args:
        form: what the cost sums up.
        distance: (N, N), symmetric, zero diagonal, finite, not negative.
        time_limit_s: for the proof. What was proven until then is returned; what the hosts'
            nearest others prove is known at once.

    Raises:
        ValueError: not a distance matrix, or one whose size is not the form's number of ranks.
    """
    deadline = Deadline(time_limit_s)
    return lower_bound_of_checked(form, check_distances(distance, form.ranks), deadline)


def lower_bound_of_checked(form: Form, matrix: Matrix, deadline: Deadline) -> Bound:
    """Return a proven bound as `lower_bound` does, without validating the distance matrix."""
    if form.ranks < 2:
        return Bound(0.0, "trivial")
    if isinstance(form, RingForm):
        bound = Bound(ring_bound(matrix, deadline), "held-karp")
    elif isinstance(form, MeshForm):
        bound = Bound(mesh_bound(form, matrix, deadline), "mesh-cuts")
    elif isinstance(form, RoundsForm):
        quick = quick_rounds_bound(form, nearest_distances(matrix))
        bound = Bound(max(quick, rounds_bound(form, matrix, deadline)), "threshold-graphs")
    else:
        value = quick_trees_bound(form, nearest_distances(matrix, 1))
        has_both = has_time(form.ranks, deadline)
        means = deadline.part(_SHARE_OF_MEANS) if has_both else deadline
        value = max(value, trees_bound(form, matrix, means))
        if has_both:
            value = budget_bound(form, matrix, value, deadline)
        bound = Bound(value, "priced-trees")
    return Bound(max(0.0, bound.value * (1.0 - _ROUNDING)), bound.kind)
