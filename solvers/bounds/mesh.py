"""Lower bounds on the latency cost of a device mesh.

The distances are split into a part that is an ultrametric, and a rest that is not negative; both
parts' bounds add up.

For the ultrametric: at each threshold hosts fall into clusters by pairs no farther apart, and what
ranks in different clusters exchange goes farther. A set of s ranks of a mesh that meets L_d lines
of dimension d has at most c_d (s - L_d) inside it in that dimension (`MeshLine.most_per_joint`),
and the product of all L_d is at least s^(D - 1) (Loomis and Whitney 1949). So the greatest weight
that a cluster can hold follows from its size alone.

For the rest: every host pairs its nearest others with the heaviest partners of some rank, and ranks
are assigned to hosts so that all pay least (Gilmore 1962, Lawler 1963).
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from plink.solvers.bounds.nearest import nearest_distances
from plink.solvers.collectives.form import MeshForm
from plink.solvers.limits import Deadline
from plink.solvers.linkages import linkage

Floats = npt.NDArray[np.float64]

# Shares of the ultrametric that are split off.
_SHARES = (1.0, 0.0)

# Steps of the ascent to the best payments, and by how much each is shorter than the one before.
_PAYMENTS, _LESS = 60, 0.93

_HALVINGS = 60

# What the clusters may take in any case, and for each pair of hosts.
_FIRST_S, _FIRST_S_PER_PAIR = 0.1, 1e-8

# What splitting the distances takes, for each pair of hosts.
_S_PER_PAIR = 1e-7


def mesh_bound(form: MeshForm, distance: Floats, deadline: Deadline) -> float:
    """Return a proven lower bound on a device mesh's latency cost over all rank orders.

    Of (N, N) distances, symmetric and not negative. The bound of clusters comes whatever the time.
    """
    if not len(form.joined.weights):
        return 0.0
    least = float(form.joined.weights.sum()) * float(nearest_distances(distance, 1).min())
    first_s = _FIRST_S + _FIRST_S_PER_PAIR * len(distance) ** 2
    try:
        merges = linkage(distance, "single", deadline.at_least(first_s))
    except TimeoutError:
        return least
    cut = _cut_bound(form, merges)
    best = max(cut, least)
    if deadline.left_s < _S_PER_PAIR * len(distance) ** 2:
        return best
    ultrametric = _cophenetic(merges)
    weights = _heaviest_first(form)
    for share in _SHARES:
        if deadline.is_over:
            break
        rest = np.maximum(distance - share * ultrametric, 0.0)
        best = max(best, share * cut + _assignment_bound(weights, rest))
    return best


def _cophenetic(merges: Floats) -> Floats:
    """Return the merge height of every two hosts in a dendrogram, (N, N).

    As SciPy's `cophenet`, whose import would take longer than a short search.
    """
    size = len(merges) + 1
    members = [np.array([host]) for host in range(size)]
    heights = np.zeros((size, size))
    for left, right, height, _ in merges.tolist():
        one, other = members[int(left)], members[int(right)]
        heights[np.ix_(one, other)] = heights[np.ix_(other, one)] = height
        members.append(np.concatenate([one, other]))
    return heights


def _cut_bound(form: MeshForm, merges: Floats) -> float:
    """Return a lower bound on a mesh's cost, by traffic that must leave single-linkage clusters."""
    mesh_ranks = form.mesh_ranks
    inside = most_inside(form)
    total = sum(line.weight * mesh_ranks / line.size for line in form.lines)
    # Where places take more ranks than there are, the largest clusters are filled first: what a
    # rank has inside its cluster grows with the cluster.
    per_rank = inside / np.maximum(np.arange(mesh_ranks + 1), 1)
    places = [1] * form.ranks
    filled = np.zeros(mesh_ranks + 1)
    filled[min(form.ranks_per_place, mesh_ranks)] = form.ranks
    bound, below = 0.0, 0.0
    sizes = np.arange(mesh_ranks + 1)
    for height, together in itertools.groupby(merges.tolist(), key=lambda merge: merge[2]):
        room = np.cumsum((sizes * filled)[::-1])[::-1]
        taken = np.minimum(room, mesh_ranks)
        most = float((per_rank * (taken - np.append(taken[1:], 0.0))).sum())
        bound += max(0.0, total - most) * (height - below)
        below = height
        for left, right, _, _ in together:
            places.append(places[int(left)] + places[int(right)])
            for part, change in ((left, -1.0), (right, -1.0), (len(places) - 1, 1.0)):
                filled[min(places[int(part)] * form.ranks_per_place, mesh_ranks)] += change
    return bound


def most_inside(form: MeshForm) -> Floats:
    """Return an upper bound on the traffic that any m ranks have among themselves, (N + 1,)."""
    sizes = np.arange(form.mesh_ranks + 1, dtype=np.float64)
    sizes[0] = 1.0
    cost = np.array([line.most_per_joint for line in form.lines])
    least = np.maximum(1.0, sizes[:, None] / np.array([line.size for line in form.lines]))
    most = np.broadcast_to(sizes[:, None], least.shape)
    needed = (len(form.lines) - 1) * np.log(sizes)
    # Cheapest lines with a great enough product: each as many as a common price buys, in limits.
    low, high = np.zeros(len(sizes)), sizes * max(float(cost.max()), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            bought = np.where(cost > 0.0, middle[:, None] / cost, np.inf)
            lines = np.clip(bought, least, most)
            is_enough = np.log(lines).sum(axis=1) >= needed
            low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
        lines = np.clip(np.where(cost > 0.0, low[:, None] / cost, np.inf), least, most)
    found: Floats = ((sizes[:, None] - lines) * cost).sum(axis=1)
    found[0] = 0.0
    return found


def _heaviest_first(form: MeshForm) -> Floats:
    """Return the traffic of each rank with each of its partners, heaviest first, (N, D)."""
    joined = form.joined
    counts = np.diff(np.append(joined.starts, len(joined.edges)))
    of_edge = np.repeat(joined.weights / counts, counts)
    low, high = np.sort(joined.edges, axis=1).T
    pairs, place = np.unique(low * form.ranks + high, return_inverse=True)
    weight = np.bincount(place, of_edge)
    ends = np.concatenate([pairs // form.ranks, pairs % form.ranks])
    both = np.concatenate([weight, weight])
    in_order = np.lexsort((-both, ends))
    ends, both = ends[in_order], both[in_order]
    degree = np.bincount(ends, minlength=form.ranks)
    found = np.zeros((form.ranks, int(degree.max())))
    found[ends, np.arange(len(ends)) - np.repeat(np.cumsum(degree) - degree, degree)] = both
    return found


def _assignment_bound(weights: Floats, rest: Floats) -> float:
    """Return a lower bound on a mesh's cost, with every rank's partners on the nearest hosts."""
    nearest = np.partition(
        rest + np.diag(np.full(len(rest), np.inf)), range(weights.shape[1]), axis=1
    )[:, : weights.shape[1]]
    kinds, counts = np.unique(weights, axis=0, return_counts=True)
    return _least_assigned(kinds @ nearest.T, counts) / 2.0


def _least_assigned(cost: Floats, counts: npt.NDArray[np.intp]) -> float:
    """Return a lower bound on assigning ranks of K kinds to N hosts at (K, N) costs.

    Whatever a kind is paid for being chosen, hosts that choose freely pay no more in all; what it
    is paid follows how many choose it (Held, Wolfe, Crowder 1974).
    """
    paid = np.zeros(len(cost))
    best = 0.0
    step = float(np.ptp(cost, axis=0).mean()) / 2.0
    for _ in range(_PAYMENTS):
        chosen = (cost - paid[:, None]).argmin(axis=0)
        lacking = counts - np.bincount(chosen, minlength=len(cost))
        freely = cost[chosen, np.arange(cost.shape[1])].sum()
        best = max(best, float(freely + paid @ lacking))
        if len(cost) == 1 or not lacking.any():
            break
        paid = paid + step * lacking / counts.max()
        step *= _LESS
    return best
