"""Validation of distance matrices, and estimates for their missing entries."""

from __future__ import annotations

from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from plink.solvers import _native

Matrix = npt.NDArray[np.float64]

# Views that `check_distances` returned, by their addresses: searches hand them on to searches.
_passed: WeakValueDictionary[int, Matrix] = WeakValueDictionary()

Mask = npt.NDArray[np.bool_]

# So many third hosts' rows are looked at in one go.
_AT_ONCE = 256


def check_distances(distance: Matrix, ranks: int) -> Matrix:
    """Validate a distance matrix; return it as a C-contiguous read-only view.

    Looking at all pairs of thousands of hosts takes long: a view that this function returned is not
    looked at again, unless somebody made it one that can be written to. Who writes to the matrix
    behind it asks anew with that.

    Args:
        distance: (N, N), symmetric, zero diagonal, finite, not negative.
        ranks: N.

    Raises:
        ValueError: it is not that.
    """
    is_passed = _passed.get(id(distance)) is distance and not distance.flags.writeable
    if is_passed and len(distance) == ranks:
        return distance
    matrix = np.ascontiguousarray(distance, dtype=np.float64)[...]
    if matrix.shape != (ranks, ranks):
        raise ValueError(f"distance has shape {matrix.shape}, expected ({ranks}, {ranks})")
    fault: str | None = _native.fault_of(matrix)
    if fault is not None:
        raise ValueError(fault)
    matrix.flags.writeable = False
    _passed[id(matrix)] = matrix
    return matrix


def sample_pairs(distance: Matrix, per_host: int) -> Matrix:
    """Return the distances of each host to `per_host` evenly spread others, (N * per_host,)."""
    hosts = np.arange(len(distance))[:, None]
    steps = np.linspace(1, len(distance) // 2, per_host).astype(np.intp)
    sample: Matrix = distance[hosts, (hosts + steps) % len(distance)].ravel()
    return sample


def fill_gaps(matrix: Matrix) -> tuple[Matrix, Mask]:
    """Fill unmeasured pairs in place: with the longer of two hops over the best third host.

    Args:
        matrix: (N, N), NaN where nothing was measured. It is changed: of a large cluster there is
            no room for many.

    Returns:
        the matrix, with a zero diagonal, and where the gaps were.
    """
    missing = np.isnan(matrix)
    np.fill_diagonal(missing, val=False)
    # Third hosts that were not measured must lose every minimum.
    if missing.any():
        known = np.where(np.isnan(matrix), np.inf, matrix)
        largest = float(np.fmax.reduce(matrix, axis=None))
        for host in np.flatnonzero(missing.any(axis=1)):
            others = np.flatnonzero(missing[host])
            for some in np.array_split(others, 1 + len(others) // _AT_ONCE):
                nearest = np.maximum(known[host], known[some]).min(axis=1)
                matrix[host, some] = np.where(np.isfinite(nearest), nearest, largest)
    np.fill_diagonal(matrix, 0.0)
    return matrix, missing
