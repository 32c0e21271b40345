"""Lower bounds on the sum of a ring's hops."""

from __future__ import annotations

from plink.solvers import _native
from plink.solvers.collectives.cost import ring_cost
from plink.solvers.distances import Matrix
from plink.solvers.limits.deadline import Deadline
from plink.solvers.ring.bound import rising_bounds, two_nearest_bound

# Nearest hosts and a ring to aim at are found in any case: thousands of hosts take no longer.
_LEAST_S = 0.3


def ring_bound(matrix: Matrix, deadline: Deadline) -> float:
    """Return the bound by 1-trees under penalties (Held and Karp 1970), or by nearest hosts.

    Args:
        matrix: (N, N), checked, N at least 2.
        deadline: what was proven until then is returned.
    """
    size = len(matrix)
    if size == 2:
        return 2.0 * float(matrix[0, 1])
    near = _native.nearest_lists(matrix, 2, deadline.at_least(_LEAST_S).native)
    known = two_nearest_bound(matrix, near)
    # The ascent aims at the cost of a ring; it need not be a cheap one.
    some = _native.nearest_neighbour_ring(matrix, 0, deadline.at_least(_LEAST_S).native)
    ascent = _native.Ascent(matrix, ring_cost(matrix, some))
    return max([known, *rising_bounds(ascent, size, deadline)])
