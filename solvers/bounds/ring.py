"""Lower bounds for the sum of a ring's hops."""

from __future__ import annotations

import math

from solvers import _native
from solvers.bounds.nearest import nearest_distances
from solvers.distances import Matrix
from solvers.limits.deadline import Deadline
from solvers.ring.reference import ring_cost

# Steps of the 1-tree ascent between two proofs, one for each host and iteration.
_SLICE_STEPS = 100_000

# A ring to aim at is found in any case: thousands of hosts take no longer.
_LEAST_S = 0.1


def ring_bound(matrix: Matrix, deadline: Deadline) -> float:
    """Minimum 1-trees under penalties (Held and Karp 1970), or what nearest hosts prove.

    Args:
        matrix: (N, N), checked, N at least 2.
        deadline: what was proven until then is returned.
    """
    size = len(matrix)
    if size == 2:
        return 2.0 * float(matrix[0, 1])
    nearest = nearest_distances(matrix, 2)
    known = math.fsum(nearest.ravel().tolist()) / 2.0
    # The ascent aims at the cost of a ring; it need not be a cheap one.
    some = _native.nearest_neighbour_ring(matrix, 0, Deadline(_LEAST_S).native)
    ascent = _native.Ascent(matrix, ring_cost(matrix, some))
    iterations = max(1, _SLICE_STEPS // size)
    while not deadline.is_over and not ascent.run(iterations, deadline.native):
        pass
    return max(ascent.bound, known)
