"""What else could have made the readings: hosts that are slow themselves, or places in space.

Each is a rival of a structure of groups, and costs by the same measure (`structure`): negative
log-likelihood, and half the logarithm of the number of readings for each number that is fitted.
"""

from __future__ import annotations

import numpy as np

from plink.solvers.embedding.objective import Objective, squared_distances
from plink.solvers.embedding.observations import Observations
from plink.solvers.embedding.start import classical
from plink.solvers.groups.dendrogram import Mask
from plink.solvers.groups.grouping import Matrix
from plink.solvers.groups.structure import LEAST_NOISE, misfit

# A space of more dimensions has room for anything.
_DIMENSIONS = (1, 2, 3)
# With fewer readings for each coordinate, points fit whatever there is.
_READINGS_PER_NUMBER = 1.5
_STEPS = 60
_CUTOFF = 0.2
# Latencies of more hosts are fitted step by step: to solve for them takes the cube of the size.
_MOST_HOSTS_EXACT = 512
# A host's own part of a distance, or a distance between points, is no less than this share of the
# median distance: it has a logarithm.
_LEAST_SHARE = 1e-3


def cost_of_one_mean(logs: Matrix, is_measured: Mask, noise: float = LEAST_NOISE) -> float:
    """All hosts are equally far from each other."""
    values = logs[np.triu(is_measured, 1)]
    return float(misfit(float(((values - values.mean()) ** 2).sum()), float(values.size), noise))


def cost_of_host_latencies(logs: Matrix, is_measured: Mask, noise: float = LEAST_NOISE) -> float:
    """A distance is the sum of what its two hosts take by themselves."""
    distance = np.where(is_measured, np.exp(logs), 0.0)
    weight = np.where(is_measured, np.exp(-2.0 * logs), 0.0)
    scale = float(np.median(distance[is_measured]))
    right = (weight * distance).sum(axis=1)
    if len(logs) <= _MOST_HOSTS_EXACT:
        found, *_ = np.linalg.lstsq(weight + np.diag(weight.sum(axis=1)), right, rcond=None)
    else:
        found = _by_conjugate_gradients(weight, right)
    latency = np.maximum(found, _LEAST_SHARE * scale)
    predicted = np.log(latency[:, None] + latency[None, :])
    return _cost(predicted, logs, is_measured, noise, numbers=len(logs))


def _by_conjugate_gradients(weight: Matrix, right: Matrix) -> Matrix:
    """(N,) x of (weight + diagonal of its row sums) x = right, in a few products with the matrix.

    The diagonal is made 1 first, as it may differ a lot from row to row.
    """
    from scipy.sparse.linalg import LinearOperator, cg  # noqa: PLC0415  SciPy takes long to import

    own = 1.0 / np.sqrt(np.maximum(weight.sum(axis=1), np.finfo(float).tiny))
    product = LinearOperator(
        weight.shape, matvec=lambda x: own * (weight @ (own * x)) + x, dtype=np.float64
    )
    found, _ = cg(product, own * right)
    latencies: Matrix = own * found
    return latencies


def cost_of_space(logs: Matrix, is_measured: Mask, noise: float = LEAST_NOISE) -> float:
    """Hosts are points in the space, of one to three dimensions, that costs least."""
    distance = np.where(is_measured, np.exp(logs), 0.0)
    scale = float(np.median(distance[is_measured]))
    seen = Observations(scale, distance / scale, is_measured)
    size = len(logs)
    costs = []
    for dimensions in _DIMENSIONS:
        # Moving and turning the whole changes nothing.
        numbers = size * dimensions - dimensions * (dimensions + 1) // 2
        if is_measured.sum() / 2 >= _READINGS_PER_NUMBER * numbers:
            predicted = np.log(_between_points(seen, dimensions) * scale)
            costs.append(_cost(predicted, logs, is_measured, noise, numbers))
    return min(costs, default=np.inf)


def _between_points(seen: Observations, dimensions: int) -> Matrix:
    """(N, N) distances between points that were fitted to the observed ones."""
    from scipy.optimize import minimize  # noqa: PLC0415  SciPy takes long to import

    objective = Objective(seen, dimensions, alpha=1.0, has_heights=False, cutoff=_CUTOFF)
    start = classical(seen, dimensions, 1.0)
    heights = np.zeros(len(start))
    found = minimize(
        objective,
        objective.packed(start, heights),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _STEPS},
    )
    points, _ = objective.unpacked(found.x)
    distance: Matrix = np.sqrt(squared_distances(points))
    return np.maximum(distance, _LEAST_SHARE)


def _cost(predicted: Matrix, logs: Matrix, is_measured: Mask, noise: float, numbers: int) -> float:
    pairs = np.triu(is_measured, 1)
    readings = float(pairs.sum())
    squares = float(((predicted - logs)[pairs] ** 2).sum())
    return float(misfit(squares, readings, noise) + numbers * np.log(max(readings, 1.0)) / 2.0)
