"""Proven lower bound on an algorithm's latency cost over all rank orders."""

from __future__ import annotations

from plink.solvers.bounds.mesh import mesh_bound
from plink.solvers.bounds.nearest import nearest_distances, quick_rounds_bound, quick_trees_bound
from plink.solvers.bounds.rounds import rounds_bound
from plink.solvers.bounds.tree_budgets import budget_bound
from plink.solvers.collectives.form import Form, MeshForm, RingForm, RoundsForm
from plink.solvers.distances import Matrix, check_distances
from plink.solvers.limits import Deadline
from plink.solvers.ring.ring_search import ring_bound

# Sums of floats may differ in their last digits from one order of adding to another.
_ROUNDING = 1e-12


def lower_bound(form: Form, distance: Matrix, deadline: Deadline) -> float:
    """Return a proven lower bound on an algorithm's latency cost over all rank orders.

    Args:
        form: what the cost sums up.
        distance: (N, N), symmetric, zero diagonal, finite, not negative.
        deadline: of the proof. What was proven until then is returned; what the hosts' nearest
            others prove is known at once.

    Raises:
        ValueError: not a distance matrix, or one whose size is not the form's number of ranks.
    """
    matrix = check_distances(distance, form.ranks)
    if form.ranks < 2:
        return 0.0
    if isinstance(form, RingForm):
        bound = ring_bound(matrix, deadline)
    elif isinstance(form, MeshForm):
        bound = mesh_bound(form, matrix, deadline)
    elif isinstance(form, RoundsForm):
        quick = quick_rounds_bound(form, nearest_distances(matrix))
        bound = max(quick, rounds_bound(form, matrix, deadline))
    else:
        quick = quick_trees_bound(form, nearest_distances(matrix, 1))
        bound = budget_bound(form, matrix, quick, deadline)
    return max(0.0, bound * (1.0 - _ROUNDING))
