"""Fast lower bounds on the latency cost, from every host's nearest neighbours."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.collectives.form import RoundsForm, TreesForm, merge_rounds
from plink.solvers.collectives.trees import depths
from plink.solvers.distances import Matrix
from plink.solvers.limits import Deadline

# So many of every host are looked at: ranks exchange data with few others in most algorithms.
_MOST_NEAREST = 64

# They are found in any case: thousands of hosts take no longer.
_LEAST_S = 0.3


def nearest_distances(matrix: Matrix, count: int = _MOST_NEAREST) -> Matrix:
    """Return each host's distances to its K nearest others, (N, K), K = min(count, N - 1).

    0 for hosts that there was no time for.

    Args:
        matrix: (N, N), C-contiguous, N at least 2.
        count: K.
    """
    count = min(count, len(matrix) - 1)
    lists = _native.nearest_lists(matrix, count, Deadline(_LEAST_S))
    nearest = np.zeros((len(matrix), count))
    for host, others in enumerate(lists):
        if others:
            nearest[host] = matrix[host, others]
    return nearest


def quick_rounds_bound(form: RoundsForm, nearest: Matrix) -> float:
    """Return a lower bound on the latency cost of rounds, from hosts' distances to nearest others.

    Of each round: so many ranks have d peers in it, and so the dearest of its edges is no nearer
    than the d-th nearest host is to as many hosts. And where no two rounds share an edge: a host
    has at least so many peers in any k rounds as the rank with the fewest, within the distance of
    the dearest; the greatest weights are taken to fall on the cheapest rounds.
    """
    rounds = merge_rounds(form).rounds
    if not rounds:
        return 0.0
    reached = np.sort(nearest, axis=0)
    peers = [np.bincount(step.edges.ravel(), minlength=form.ranks) for step in rounds]
    own = math.fsum(
        step.weight * degrees_threshold(degrees, reached)
        for step, degrees in zip(rounds, peers, strict=True)
    )
    weights = sorted((step.weight for step in rounds), reverse=True)
    edges = np.concatenate([step.edges for step in rounds])
    if len(np.unique(edges[:, 0] * form.ranks + edges[:, 1])) < len(edges):
        return own
    # In any k rounds a rank has at least what its k smallest numbers of peers are.
    fewest = np.cumsum(np.sort(peers, axis=0), axis=0).min(axis=1)
    all_reached = nearest.max(axis=0)
    thresholds = [
        float(all_reached[min(int(few), len(all_reached)) - 1]) if few else float(reached[0, 0])
        for few in fewest
    ]
    return max(own, float(np.dot(weights, thresholds)))


def degrees_threshold(degrees: npt.NDArray[np.intp], reached: Matrix) -> float:
    """Return a lower bound on partner ranks' greatest distance, by how many partners ranks have."""
    threshold = float(reached[0, 0])
    for degree in range(1, min(int(degrees.max()), reached.shape[1]) + 1):
        hosts = int((degrees >= degree).sum())
        threshold = max(threshold, float(reached[hosts - 1, degree - 1]))
    return threshold


def quick_trees_bound(form: TreesForm, nearest: Matrix) -> float:
    """Return a lower bound on trees' latency cost: the shortest hops, one for each level."""
    ascending = np.sort(nearest[:, 0])
    longest = (int(depths(tree[None]).max()) for tree in form.parents)
    return max((float(ascending[:edges].sum()) for edges in longest), default=0.0)
