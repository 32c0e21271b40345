"""Symmetric distances between hosts from round-trip times or bandwidths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plink.formats.cluster import Cluster, build_not_measured_error
from plink.formats.limits import LEAST_MEASURED_GBIT_S
from plink.formats.matrices import Matrix
from plink.model.estimating import estimate_round_trips
from plink.solvers.distances import fill_gaps
from plink.solvers.limits import Deadline

Mask = npt.NDArray[np.bool_]
Vector = npt.NDArray[np.float64]

_LEAST_IN_BOTH = 0.9

# For the shortest ways, where no other time is given.
_MOST_WAYS_S = 20.0
# What a way over a third host takes at least, so that nobody begins what cannot end in time.
_S_PER_WAY = 5e-10

# Hosts in a block of a matrix that is gone through block by block.
_BLOCK = 128

# Where measured pairs are on average so many times as far as the shortest ways over others, direct
# ways are no shorter than those. It was 1.0 to 1.3 in all matrices in which they were, and 2 to 3
# in the one in which they were not (`docs/bounds.md`).
_MOST_STRETCH = 1.5


@dataclass(frozen=True)
class DistanceLimits:
    """Least and greatest possible distances of the pairs that were not measured.

    Args:
        matrix_us: (N, N) in µs, as they were filled in.
        is_filled: (N, N) which of them were.
        ways_us: (N, N) in µs the shortest ways over pairs that were measured; None where measured
            pairs contradict that direct ways are no longer, or where there was no time to look.
    """

    matrix_us: Matrix
    is_filled: Mask
    ways_us: Matrix | None = None

    @cached_property
    def lowest_us(self) -> Matrix:
        """Lower limits in µs, (N, N): 0 for a pair that was not measured.

        No reading of other pairs keeps it from being the nearest one, as real round trips are no
        metric.
        """
        return np.where(self.is_filled, 0.0, self.matrix_us)

    @property
    def highest_us(self) -> Matrix:
        """Upper limits in µs, (N, N): the shortest measured path for an unmeasured pair.

        On the assumption that the direct way is no longer; infinite where no way is known.
        """
        if self.ways_us is None:
            return self.measured_us
        highest: Matrix = np.where(self.is_filled, self.ways_us, self.matrix_us)
        return highest

    @property
    def measured_us(self) -> Matrix:
        """Distances in µs, (N, N), infinite for a pair that was not measured."""
        return np.where(self.is_filled, np.inf, self.matrix_us)


@dataclass(frozen=True)
class Distances:
    """Symmetric distances between all hosts in µs, with unmeasured pairs filled in.

    Args:
        matrix_us: (N, N) in µs, symmetric, zero diagonal, no gaps.
        is_filled: (N, N) which pairs were measured in neither direction, and so were filled.
        unmeasured_hosts: names of the hosts without any measurement: all they have is filled.
        deviation: (N, N) standard deviation of the logarithms of an estimate; None for readings.
    """

    matrix_us: Matrix
    is_filled: Mask
    unmeasured_hosts: Sequence[str]
    deviation: Matrix | None = None

    @property
    def filled_pairs(self) -> int:
        """Number of unordered pairs that were filled in."""
        return int(self.is_filled.sum()) // 2

    @cached_property
    def limits(self) -> DistanceLimits | None:
        """Least and greatest possible filled-in distances; None if every pair was measured."""
        return self.limits_until(Deadline(_MOST_WAYS_S))

    def limits_until(self, deadline: Deadline) -> DistanceLimits | None:
        """Return limits of filled-in distances, no upper ones if out of time; None without gaps."""
        if not self.filled_pairs:
            return None
        paths_us = self._find_shortest_paths_us(deadline)
        return DistanceLimits(self.matrix_us, self.is_filled, paths_us)

    def _find_shortest_paths_us(self, deadline: Deadline) -> Matrix | None:
        """Return the lengths of shortest paths over measured pairs; None if time runs out.

        By all hosts as third ones in turn (Floyd 1962). At least the filled-in values; None also
        where measured pairs are much longer than paths over others.
        """
        if deadline.left_s < _S_PER_WAY * len(self.matrix_us) ** 3:
            return None
        ways: Matrix = np.where(self.is_filled, np.inf, self.matrix_us)
        over = np.empty_like(ways)
        for host in range(len(ways)):
            if deadline.is_over:
                return None
            np.add(ways[:, host, None], ways[None, host], out=over)
            np.minimum(ways, over, out=ways)
        del over
        is_measured = ~self.is_filled
        measured_us = self.matrix_us[is_measured].sum()
        if measured_us > _MOST_STRETCH * ways[is_measured].sum():
            return None
        return np.maximum(ways, self.matrix_us, out=ways)


def distances(cluster: Cluster) -> Distances:
    """Compute symmetric distances in µs between a cluster's hosts from its round-trip times.

    Where there are groups and readings of a pair disagree, distances are the best estimate
    (`plink.model.estimating`). Otherwise a pair's distance is the larger of its two directions'
    readings (Luo 2020, §5.2.2), or the one that there is. A pair that was not measured, and of
    which no estimate says anything, gets the least max(d(i, k), d(k, j)) over third hosts k, which
    is what it would be in a tree of switches, else the largest distance there is.

    Raises:
        WrongUseError: two or more hosts, and nothing was measured between them.
    """
    size = len(cluster.hosts)
    if size == 1:
        return Distances(np.zeros((1, 1)), np.zeros((1, 1), dtype=bool), ())
    if cluster.rtt is None:
        raise build_not_measured_error(cluster, "rtt")
    readings = cluster.rtt.readings_us
    if not _any_between(readings, 0.0):
        raise build_not_measured_error(cluster, "rtt")
    larger = combine_directions(readings, np.fmax)
    missing = np.isnan(larger)
    np.fill_diagonal(missing, val=False)
    estimate = estimate_round_trips(cluster)
    known = larger if estimate is None else estimate.distance
    np.fill_diagonal(known, np.nan)
    alone = np.flatnonzero(missing.sum(axis=1) == size - 1)
    # Whatever its group, nothing is known of such a host.
    known[alone, :] = known[:, alone] = np.nan
    matrix, _ = fill_gaps(known)
    names = cluster.names
    return Distances(
        matrix_us=matrix,
        is_filled=missing,
        unmeasured_hosts=[names[host] for host in alone],
        deviation=None if estimate is None else estimate.deviation,
    )


def split_directions(cluster: Cluster) -> Iterator[Matrix] | None:
    """Return two matrices of distances, one from each direction of every pair; None if too few.

    Returns:
        two (N, N) matrices in µs, one after the other, symmetric, zero diagonal, no gaps; None
        where fewer than nine in ten pairs were measured in both directions, or where one direction
        is a copy.
    """
    size = len(cluster.hosts)
    if cluster.rtt is None or size == 1:
        return None
    readings = cluster.rtt.readings_us
    in_both = np.isfinite(readings)
    np.fill_diagonal(in_both, val=False)
    in_both &= in_both.T
    is_other = readings != readings.T
    is_other &= in_both
    if not is_other.any() or in_both.sum() < _LEAST_IN_BOTH * size * (size - 1):
        return None
    return (_one_direction(one) for one in (readings, readings.T))


def _one_direction(readings: Matrix) -> Matrix:
    """Return symmetric distances in µs, (N, N), from the readings above the diagonal; fill gaps."""
    matrix = readings.copy()
    for host in range(len(matrix)):
        matrix[host:, host] = matrix[host, host:]
    np.fill_diagonal(matrix, np.nan)
    return fill_gaps(matrix)[0]


@dataclass(frozen=True)
class BandwidthDistances:
    """Symmetric distances between all hosts by bandwidth: seconds that a Gbit takes.

    Args:
        s_per_gbit: (N, N) how long a Gbit takes, zero diagonal, no gaps.
        is_filled: (N, N) pairs that were measured in neither direction.
        unmeasured_hosts: names of the hosts without any measurement.
    """

    s_per_gbit: Matrix
    is_filled: npt.NDArray[np.bool_]
    unmeasured_hosts: Sequence[str]

    @property
    def filled_pairs(self) -> int:
        """Number of unordered pairs that were not measured."""
        return int(self.is_filled.sum()) // 2


def has_only_bandwidth(cluster: Cluster) -> bool:
    """Return whether a cluster has measured bandwidths, but no round-trip time."""
    has_times = cluster.rtt is not None and _any_between(cluster.rtt.readings_us, 0.0)
    rates = cluster.bandwidth
    return not has_times and (
        rates is not None and _any_between(rates.gbit_s, LEAST_MEASURED_GBIT_S)
    )


def _any_between(values: Matrix, least: float) -> bool:
    """Return whether any value between two hosts is known and at least `least`.

    Row by row, as the first one mostly has one.
    """
    return any(
        bool((row[:host] >= least).any() or (row[host + 1 :] >= least).any())
        for host, row in enumerate(values)
    )


def bandwidth_distances(cluster: Cluster) -> Matrix:
    """Return the seconds that a Gbit takes in each pair's slower direction, (N, N); NaN if unknown.

    Returns:
        (N, N) in s a Gbit, symmetric, zero diagonal; the direction that was measured where only one
        was, NaN where neither was. A transfer that carried nothing counts as not measured.
    """
    size = len(cluster.hosts)
    if cluster.bandwidth is None:
        s_per_gbit = np.full((size, size), np.nan)
    else:
        s_per_gbit = combine_directions(cluster.bandwidth.gbit_s, _s_per_gbit)
    np.fill_diagonal(s_per_gbit, 0.0)
    return s_per_gbit


def _s_per_gbit(one: Matrix, other: Matrix) -> Matrix:
    """Return the seconds of a Gbit in each pair's slower direction, (N, N); NaN if unknown."""
    slower: Matrix = np.fmin(
        *(np.where(gbit_s >= LEAST_MEASURED_GBIT_S, gbit_s, np.nan) for gbit_s in (one, other))
    )
    return np.divide(1.0, slower, out=slower)


def filled_bandwidth_distances(cluster: Cluster) -> BandwidthDistances:
    """Return seconds per Gbit of all pairs, unmeasured ones as slow as the slowest measured.

    A transfer between them may well have failed, and no order should rest on them.

    Raises:
        WrongUseError: two or more hosts, and nothing was measured between them.
    """
    s_per_gbit = bandwidth_distances(cluster)
    size = len(s_per_gbit)
    is_filled = np.isnan(s_per_gbit)
    gaps = is_filled.sum(axis=1)
    if size > 1 and gaps.sum() == size * (size - 1):
        raise build_not_measured_error(cluster, "bandwidth")
    alone = np.flatnonzero((gaps == size - 1) & (size > 1))
    if gaps.any():
        s_per_gbit[is_filled] = np.fmax.reduce(s_per_gbit, axis=None)
    return BandwidthDistances(s_per_gbit, is_filled, [cluster.names[host] for host in alone])


def combine_directions(values: Matrix, choose: Callable[[Matrix, Matrix], Matrix]) -> Matrix:
    """Combine both directions' values of every pair by a function such as the maximum, (N, N).

    In blocks, as the columns of a large matrix lie too far apart for the processor's caches.
    """
    size = len(values)
    chosen = np.empty((size, size))
    for top in range(0, size, _BLOCK):
        rows = slice(top, top + _BLOCK)
        for left in range(top, size, _BLOCK):
            columns = slice(left, left + _BLOCK)
            block = choose(values[rows, columns], values[columns, rows].T)
            chosen[rows, columns] = block
            chosen[columns, rows] = block.T
    return chosen


def median_of_known(values: Vector) -> float:
    """Return the median of the values that are not NaN; NaN if there are none.

    NumPy's own would import masked arrays.
    """
    known = np.sort(values[~np.isnan(values)])
    if not known.size:
        return float("nan")
    return float(known[(len(known) - 1) // 2 : len(known) // 2 + 1].mean())
