"""From round-trip times as measured to the distances that orders are computed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.files.cluster import Cluster

Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
_Any = TypeVar("_Any", np.float64, np.bool_)

_LEAST_IN_BOTH = 0.9

# Where measured pairs are on average so many times as far as the shortest ways over others, direct
# ways are no shorter than those. It was 1.0 to 1.3 in all matrices in which they were, and 2 to 3
# in the one in which they were not (`docs/bounds.md`).
_MOST_STRETCH = 1.5


@dataclass(frozen=True)
class Limits:
    """Between what distances lie of which some were not measured; of the others both are equal.

    Args:
        lowest_us: (N, N) in µs: nothing for a pair that was not measured. No reading of other pairs
            keeps it from being the nearest one, as real round trips are no metric.
        highest_us: (N, N) in µs: for such a pair the shortest way over pairs that were measured,
            on the assumption that the direct way is no longer; infinite where there is none, or
            where measured pairs contradict the assumption.
        measured_us: (N, N) in µs: for such a pair infinite, which assumes nothing.
    """

    lowest_us: Matrix
    highest_us: Matrix
    measured_us: Matrix


@dataclass(frozen=True)
class Distances:
    """Symmetric distances between all hosts.

    Args:
        matrix_us: (N, N) in µs, symmetric, zero diagonal, no gaps.
        is_filled: (N, N) which pairs were measured in neither direction, and so were filled.
        unmeasured_hosts: names of the hosts without any measurement: all they have is filled.
    """

    matrix_us: Matrix
    is_filled: Mask
    unmeasured_hosts: Sequence[str]

    @property
    def filled_pairs(self) -> int:
        """How many unordered pairs were filled."""
        return int(self.is_filled.sum()) // 2

    @cached_property
    def limits(self) -> Limits | None:
        """Between what the distances lie; None where every pair was measured."""
        if not self.filled_pairs:
            return None
        return Limits(
            lowest_us=np.where(self.is_filled, 0.0, self.matrix_us),
            highest_us=np.where(self.is_filled, self._ways_us(), self.matrix_us),
            measured_us=np.where(self.is_filled, np.inf, self.matrix_us),
        )

    def _ways_us(self) -> Matrix:
        """The shortest ways over measured pairs, never less than what was filled in."""
        from scipy.sparse.csgraph import (  # noqa: PLC0415  only files with gaps pay for it
            csgraph_from_dense,
            shortest_path,
        )

        known = np.where(self.is_filled, np.inf, self.matrix_us)
        np.fill_diagonal(known, np.inf)
        graph = csgraph_from_dense(known, null_value=np.inf)
        ways: Matrix = shortest_path(graph, directed=False)
        measured_us = self.matrix_us[~self.is_filled].sum()
        if measured_us > _MOST_STRETCH * ways[~self.is_filled].sum():
            return np.full_like(ways, np.inf)
        return np.maximum(ways, self.matrix_us)


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
        return Distances(np.zeros((1, 1)), np.zeros((1, 1), dtype=bool), ())
    if cluster.rtt is None or np.isnan(_off_diagonal(cluster.rtt.readings_us)).all():
        raise WrongUseError(
            "the cluster file holds no round-trip time between its hosts",
            "plink probe measures them, plink import takes them from a matrix",
        )
    readings = _without_diagonal(cluster.rtt.readings_us)
    matrix, missing = filled(np.fmax(readings, readings.T))
    names = cluster.names
    alone = np.flatnonzero(missing.sum(axis=1) == size - 1)
    return Distances(
        matrix_us=matrix,
        is_filled=missing,
        unmeasured_hosts=[names[host] for host in alone],
    )


def both_directions(cluster: Cluster) -> tuple[Matrix, Matrix] | None:
    """Two measurements of the same distances: the readings of either direction of the pairs.

    Returns:
        two (N, N) matrices in µs, symmetric, zero diagonal, no gaps; None where fewer than nine
        in ten pairs were measured in both directions, or where one direction is a copy.
    """
    if cluster.rtt is None or len(cluster.hosts) == 1:
        return None
    readings = _without_diagonal(cluster.rtt.readings_us)
    in_both = ~np.isnan(readings) & ~np.isnan(readings.T)
    is_copy = bool((readings == readings.T)[in_both].all())
    if is_copy or _off_diagonal(in_both).mean() < _LEAST_IN_BOTH:
        return None
    is_above = np.triu(np.ones(readings.shape, dtype=bool), 1)
    first, _ = filled(np.where(is_above, readings, readings.T))
    second, _ = filled(np.where(is_above, readings.T, readings))
    return first, second


def _off_diagonal(matrix: npt.NDArray[_Any]) -> npt.NDArray[_Any]:
    values: npt.NDArray[_Any] = matrix[~np.eye(len(matrix), dtype=bool)]
    return values


def _without_diagonal(matrix: Matrix) -> Matrix:
    copy = matrix.copy()
    np.fill_diagonal(copy, np.nan)
    return copy


def filled(measured: Matrix) -> tuple[Matrix, Mask]:
    """A symmetric matrix without gaps and with a zero diagonal, and where the gaps were."""
    missing = np.isnan(measured)
    np.fill_diagonal(missing, val=False)
    # Third hosts that were not measured must lose every minimum.
    known = np.where(np.isnan(measured), np.inf, measured)
    largest = float(np.nanmax(measured))
    matrix = measured.copy()
    for host in np.flatnonzero(missing.any(axis=1)):
        others = np.flatnonzero(missing[host])
        nearest = np.maximum(known[host], known[others]).min(axis=1)
        matrix[host, others] = np.where(np.isfinite(nearest), nearest, largest)
    np.fill_diagonal(matrix, 0.0)
    return matrix, missing
