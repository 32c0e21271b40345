"""Lower bounds on the cost of any placement of ranks on hosts with slots."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from plink.solvers.bounds.lower_bound import lower_bound
from plink.solvers.bounds.nearest import nearest_distances
from plink.solvers.collectives.form import Form, RingForm
from plink.solvers.limits import Deadline
from plink.solvers.linkages import linkage
from plink.solvers.slots.layout import RankLayout, pad_form

Matrix = npt.NDArray[np.float64]

_ROUNDING = 1e-12

# More slots than this, and no bound is looked for: that takes a matrix of them.
_MOST_BOUND_SLOTS = 1024


def slots_bound(form: Form, matrix: Matrix, layout: RankLayout, time_limit_s: float) -> float:
    """Return a lower bound on the latency cost of any placement of ranks on hosts' slots.

    0 where no bound is found in time. An interrupt (Ctrl-C) ends the proof with that.
    """
    if isinstance(form, RingForm):
        return subset_ring_bound(matrix, layout, Deadline(time_limit_s))
    places = sum(layout.slots)
    if time_limit_s <= 0.0 or places > _MOST_BOUND_SLOTS:
        return 0.0
    try:
        padded = pad_form(form, places)
        return lower_bound(padded, by_slot(matrix, layout), Deadline(time_limit_s))
    except KeyboardInterrupt:
        return 0.0


def by_slot(matrix: Matrix, layout: RankLayout) -> Matrix:
    """Expand host distances to distances between all hosts' slots, (S, S); 0 within a host."""
    hosts = layout.host_by_slot
    return np.ascontiguousarray(matrix[np.ix_(hosts, hosts)])


def subset_ring_bound(
    distance: Matrix, layout: RankLayout, deadline: Deadline | None = None
) -> float:
    """Return a lower bound on the length of any ring through hosts with slots for all ranks.

    The greater of two sums. Half of the distances from each host to its two nearest ones, of the
    hosts for which that is least. And, at each distance t, the hosts fall into components by pairs
    no farther apart than t; where the ranks need m > 1 of these at least, m or more hops of a ring
    are longer than t, so that a ring costs at least the integral of m over t.

    Args:
        distance: (H, H), symmetric.
        layout: layout of the H hosts.
        deadline: for the second sum, of which what is known until then counts.
    """
    if layout.fewest_hosts == 1:
        return 0.0
    matrix = np.ascontiguousarray(distance, dtype=np.float64)
    nearest = nearest_distances(matrix, 2)
    if layout.fewest_hosts == 2:
        # A ring of two goes there and back.
        nearest = nearest[:, :1].repeat(2, axis=1)
    halves = np.sort(nearest.sum(axis=1))[: layout.fewest_hosts] / 2.0
    until = deadline or Deadline()
    bound = max(float(halves.sum()), _bound_by_components(matrix, layout, until))
    return bound * (1.0 - _ROUNDING)


def _bound_by_components(distance: Matrix, layout: RankLayout, deadline: Deadline) -> float:
    sizes = list(layout.slots)
    is_whole = [True] * len(sizes)
    total, below = 0.0, 0.0
    try:
        merges = linkage(distance, "single", deadline).tolist()
    except TimeoutError:
        return 0.0
    for height, together in itertools.groupby(merges, key=lambda merge: merge[2]):
        components = [size for size, whole in zip(sizes, is_whole, strict=True) if whole]
        needed = RankLayout(components, layout.ranks).fewest_hosts
        if needed == 1 or deadline.is_over:
            break
        total += needed * (height - below)
        below = height
        for left, right, _, _ in together:
            sizes.append(sizes[int(left)] + sizes[int(right)])
            is_whole[int(left)] = is_whole[int(right)] = False
            is_whole.append(True)
    return total
