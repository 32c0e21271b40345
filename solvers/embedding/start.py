"""Starting points of an embedding's optimisation."""

from __future__ import annotations

import numpy as np

from plink.solvers.embedding.observations import Matrix, Observations

# How far points step into dimensions that they have not used yet, in median distances.
_STEP = 0.05
_SHARE_OF_SMALLEST = 0.45


def classical(observations: Observations, dimensions: int, alpha: float) -> Matrix:
    """Return (N, D) points by classical multidimensional scaling (Torgerson 1952).

    A pair that was not measured counts with the mean square, and what was is scaled up for it:
    so the estimate stays unbiased where gaps are random (Keshavan, Montanari and Oh, "Matrix
    completion from a few entries", 2010).
    """
    # SciPy takes 0.3 s to import, and callers import this module for small things too.
    from scipy.linalg import eigh  # noqa: PLC0415

    size = len(observations.distance)
    is_measured = observations.is_measured
    squared = observations.distance ** (2.0 / alpha)
    mean = float(squared[is_measured].mean())
    share = is_measured.sum() / (size * (size - 1))
    filled = np.where(is_measured, mean + (squared - mean) / share, mean)
    np.fill_diagonal(filled, 0.0)
    centred = filled - filled.mean(axis=0)
    centred -= centred.mean(axis=1)[:, None]
    values, vectors = eigh(-0.5 * centred, subset_by_index=[size - dimensions, size - 1])
    points: Matrix = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    return points


def change_dimensions(points: Matrix, dimensions: int, rng: np.random.Generator) -> Matrix:
    """Return points in another dimension, by principal axes or small random offsets."""
    size, known = points.shape
    if dimensions < known:
        centred = points - points.mean(axis=0)
        _, _, axes = np.linalg.svd(centred, full_matrices=False)
        reduced: Matrix = centred @ axes[:dimensions].T
        return reduced
    steps = rng.normal(0.0, _STEP, (size, dimensions - known))
    return np.hstack([points, steps])


def smallest_halves(observations: Observations) -> Matrix:
    """Return starting heights, (N,): just under half of each host's least distance.

    No pair's two heights are then more than its distance.
    """
    measured = np.where(observations.is_measured, observations.distance, np.inf)
    halves: Matrix = _SHARE_OF_SMALLEST * measured.min(axis=1)
    return halves
