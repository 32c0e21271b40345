"""From round-trip times as measured to the distances that orders are computed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.errors import WrongUseError
from plink.files.cluster import Cluster

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Distances:
    """Symmetric distances between all hosts.

    Args:
        matrix_us: (N, N) in µs, symmetric, zero diagonal, no gaps.
        filled_pairs: unordered pairs that were measured in neither direction, and so were filled.
        unmeasured_hosts: names of the hosts without any measurement: all they have is filled.
        noise_us: by how much the two directions of a pair differ, the median over the pairs that
            were measured in both; None if there is none. A difference between distances that is
            not well above it means nothing.
    """

    matrix_us: Matrix
    filled_pairs: int
    unmeasured_hosts: Sequence[str]
    noise_us: float | None


def distances(cluster: Cluster) -> Distances:
    """The distances between a cluster's hosts.

    A pair's distance is the larger of its two directions' readings (Luo 2020, §5.2.2), or the one
    that there is. A pair that was not measured gets the least max(d(i, k), d(k, j)) over third
    hosts k, which is what it would be in a tree of switches, else the largest distance there is.

    Raises:
        WrongUseError: two or more hosts, and nothing was measured between them.
    """
    size = len(cluster.hosts)
    if size == 1:
        return Distances(np.zeros((1, 1)), 0, (), None)
    if cluster.rtt is None or np.isnan(_off_diagonal(cluster.rtt.readings_us)).all():
        raise WrongUseError(
            "the cluster file holds no round-trip time between its hosts",
            "plink probe measures them, plink import takes them from a matrix",
        )
    readings = _without_diagonal(cluster.rtt.readings_us)
    measured = np.fmax(readings, readings.T)
    missing = np.isnan(measured)
    np.fill_diagonal(missing, val=False)
    matrix = _filled(measured, missing)
    names = cluster.names
    alone = np.flatnonzero(missing.sum(axis=1) == size - 1)
    return Distances(
        matrix_us=matrix,
        filled_pairs=int(missing.sum()) // 2,
        unmeasured_hosts=[names[host] for host in alone],
        noise_us=_noise(readings),
    )


def _off_diagonal(matrix: Matrix) -> Matrix:
    values: Matrix = matrix[~np.eye(len(matrix), dtype=bool)]
    return values


def _without_diagonal(matrix: Matrix) -> Matrix:
    copy = matrix.copy()
    np.fill_diagonal(copy, np.nan)
    return copy


def _filled(measured: Matrix, missing: npt.NDArray[np.bool_]) -> Matrix:
    # Third hosts that were not measured must lose every minimum.
    known = np.where(np.isnan(measured), np.inf, measured)
    largest = float(np.nanmax(measured))
    matrix = measured.copy()
    for host in np.flatnonzero(missing.any(axis=1)):
        others = np.flatnonzero(missing[host])
        nearest = np.maximum(known[host], known[others]).min(axis=1)
        matrix[host, others] = np.where(np.isfinite(nearest), nearest, largest)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _noise(readings: Matrix) -> float | None:
    difference = np.abs(readings - readings.T)
    found = difference[~np.isnan(difference)]
    return float(np.median(found)) if found.size else None
