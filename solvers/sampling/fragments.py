"""Fragments of groups in a sample of readings, and the evidence that two belong together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

Vector = npt.NDArray[np.float64]

_STEP = 0.01
_BANDWIDTH = 0.06
# A valley is believed where a window of twice the bandwidth holds at most this share of what it
# holds at the peaks to both sides, and the difference is so many deviations of counts.
_DEPTH = 0.8
_DEVIATIONS = 2.2
_MOST_LIMITS = 3
# A mode begins where the window holds this share of what it holds at the peak, which is within so
# many bins.
_RISE = 0.1
_REACH = 30

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

# A join that more pairs speak for comes before one that fewer speak for as much.
_CAUTION = 0.5
# When so many of the clusters are left, the others' rows and columns are removed.
_COMPACT_AT = 0.7

# How likely a reading is one that says nothing: a detour, a spell of other work.
_DISTURBED = 0.05
_MOST = 3.0
_LEAST_STEP = 0.05
_MOST_LEVELS = 40

_NEAREST = 3
# More than any difference by chance.
_UNIT = 10.0

# A far reading of a pair that is near says less than a near one: noise only adds.
_FAR_VOTE = -0.75
# The vote of a reading in units of log likelihood.
_VOTE_WORTH = 4.0
# What a clock that is too coarse reads as nothing.
_LEAST_US = 1e-3
_LEAST_WIDTH = 0.05
_LEAST_DEVIATION, _MOST_DEVIATION = 0.03, 0.3


def find_mode_limits(logs: Vector) -> list[float]:
    """Return the upper ends of the modes of log readings, except the last; empty for one mode.

    The smoothed histogram is gone through from the left for valleys that are too deep to be chance
    between the peaks before and after them. At most `_MOST_LIMITS` limits are returned, the lowest
    first.
    """
    if len(logs) < 2:
        return []
    low, high = float(logs.min()), float(logs.max())
    bins = math.ceil((high - low) / _STEP) + 1
    counts = np.bincount(((logs - low) / _STEP).astype(np.intp), minlength=bins)
    # The smoothed number of readings in a window around each bin.
    reach = round(4 * _BANDWIDTH / _STEP)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * _STEP / _BANDWIDTH) ** 2)
    kernel *= 2 * _BANDWIDTH / _STEP / kernel.sum()
    window = np.convolve(np.pad(counts.astype(np.float64), reach), kernel, mode="valid")
    valleys: list[int] = []
    begin = 0
    while len(valleys) < _MOST_LIMITS:
        valley = _first_valley(window[begin:])
        if valley is None:
            break
        valleys.append(begin + valley)
        begin = valleys[-1]
    return [low + (valley + 0.5) * _STEP for valley in valleys]


def spread(logs: Vector) -> float:
    """Return the standard deviation of log readings within one mode, estimated by the median."""
    return float(1.4826 * np.median(np.abs(logs - np.median(logs)))) if len(logs) else 0.0


def _first_valley(window: Vector) -> int | None:
    """Return the bin where a smoothed histogram's second mode begins; None if it has one mode."""
    peak, lowest, place = 0.0, math.inf, 0
    for step, value in enumerate(window):
        if _is_deeper(lowest, peak) and _is_deeper(lowest, value):
            break
        if value > peak and not _is_deeper(lowest, peak):
            peak, lowest, place = value, value, step
        if value < lowest:
            lowest, place = value, step
    else:
        return None
    second = float(window[step : step + _REACH].max())
    # Noise only adds, so that a mode begins at once and ends slowly: the limit is late.
    is_up = window[place:] > lowest + _RISE * (second - lowest)
    return place + int(np.argmax(is_up))


def _is_deeper(valley: float, peak: float) -> bool:
    difference = peak - valley
    return valley <= _DEPTH * peak and difference > _DEVIATIONS * math.sqrt(peak + valley)


def link_hosts(votes: Matrix, counts: Matrix) -> Labels:
    """Cluster hosts by average linkage over votes of measured pairs for being in one group.

    The two clusters that the most speaks for are joined, as in average linkage (UPGMA), but over
    the pairs that there are, until the average vote between any two is not positive.

    Args:
        votes: (N, N), symmetric sums of votes: positive for together, negative for apart.
        counts: (N, N), symmetric, of how many pairs.

    Returns:
        (N,) cluster of each host, 0 ... G-1 in the order of their first hosts.
    """
    labels: Labels = np.arange(len(votes))
    sums = np.stack([votes, counts])
    sums[:, labels, labels] = 0.0
    is_done = False
    while not is_done:
        joins, is_done = _join_some(sums)
        kept, numbers = np.unique(joins, return_inverse=True)
        labels = numbers[labels]
        sums = np.ascontiguousarray(sums[:, kept][:, :, kept])
    return labels


def _join_some(sums: Matrix) -> tuple[Labels, bool]:
    """Join clusters, best pair first; return each's new one, and whether none is left to join."""
    size = sums.shape[1]
    hosts = np.arange(size)
    joins = hosts.copy()
    left = size
    merit = _merit(sums)
    best = merit.argmax(axis=1)
    best_merit = merit[hosts, best]
    while left > _COMPACT_AT * size:
        one = int(best_merit.argmax())
        if best_merit[one] <= 0.0:
            return joins, True
        a, b = sorted((one, int(best[one])))
        joins[joins == b] = a
        left -= 1
        sums[:, a] += sums[:, b]
        sums[:, a, a] = 0.0
        sums[:, b] = 0.0
        sums[:, :, a] = sums[:, a]
        sums[:, :, b] = 0.0
        best_merit[b], best[b] = 0.0, b
        merit_of_a = _merit(sums[:, a])
        is_better = merit_of_a > best_merit
        is_stale = (best == a) | (best == b)
        best[is_better] = a
        best_merit[is_better] = merit_of_a[is_better]
        is_stale &= ~is_better
        is_stale[a] = True
        stale = is_stale.nonzero()[0]
        merit = _merit(sums[:, stale])
        best[stale] = merit.argmax(axis=1)
        best_merit[stale] = merit[np.arange(len(stale)), best[stale]]
    return joins, False


def _merit(sums: Matrix) -> Matrix:
    """Return the mean vote for joining each pair of clusters, lowered if there are few votes."""
    merit: Matrix = sums[0] / (sums[1] + _CAUTION)
    return merit


def kinship(mean_logs: Matrix, deviation: float, farthest: float) -> Matrix:
    """Return log likelihood ratios that two clusters are one, (G, G), by readings to third ones.

    In an ultrametric two that are together are equally far from any third one. So a third one that
    is far from one and near to the other speaks against it, and one that is equally far from both
    speaks for it by as much as that distance is rare.

    Args:
        mean_logs: (G, C) means of logarithms of readings from clusters to third ones, NaN where
            there is none.
        deviation: deviation of one reading's logarithm.
        farthest: beyond it, logarithms tell no more: noise adds, and so long readings are alike by
            chance.

    Returns:
        (G, G), symmetric; 0 where no third cluster has met both.
    """
    size, thirds = mean_logs.shape
    cluster, third = np.nonzero(~np.isnan(mean_logs))
    values = mean_logs[cluster, third]
    if not len(values):
        return np.zeros((size, size))
    high = farthest
    low = min(float(np.quantile(values, 0.005)), high)
    step = max(_LEAST_STEP, deviation / 2.0, (high - low) / _MOST_LEVELS)
    level = (np.clip(values - low, 0.0, high - low) / step).astype(np.intp)
    table = _table(level, deviation / step)
    levels = len(table)
    shape = (size, thirds * levels)
    at_level = sparse.csr_array((np.ones(len(level)), (cluster, third * levels + level)), shape)
    columns = (third[:, None] * levels + np.arange(levels)).ravel()
    rows = np.repeat(cluster, levels)
    said = sparse.csr_array((table[level].ravel(), (rows, columns)), shape)
    ratio: Matrix = (said @ at_level.T).toarray()
    return (ratio + ratio.T) / 2.0


def _table(level: npt.NDArray[np.intp], deviation: float) -> Matrix:
    """Return log likelihood ratios, (L, L), that two are one, by levels of readings to a third."""
    levels = int(level.max()) + 1
    share = (np.bincount(level, minlength=levels) + 0.5) / (len(level) + 0.5 * levels)
    apart = np.arange(levels)[:, None] - np.arange(levels)[None, :]
    alike = np.exp(-0.25 * (apart / max(deviation, 0.5)) ** 2) * share
    alike /= alike.sum(axis=1, keepdims=True)
    ratio = np.log((1.0 - _DISTURBED) * alike / share + _DISTURBED)
    clipped: Matrix = np.clip((ratio + ratio.T) / 2.0, math.log(_DISTURBED), _MOST)
    return clipped


def value_by_third_hosts(readings_us: Matrix) -> Matrix:
    """Return the priority of measuring each pair, (N, N): greater if a third host is near both.

    Returns:
        (N, N), symmetric; the more, the less the larger of the readings to a third host that is
        among the nearest three of either; 0 for pairs without such a one.
    """
    distance = np.where(np.isnan(readings_us), np.inf, readings_us)
    np.fill_diagonal(distance, np.inf)
    size = len(distance)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :_NEAREST]
    largest = float(np.max(distance, where=np.isfinite(distance), initial=0.0))
    worth = np.zeros((size, size))
    if largest == 0.0:
        return worth
    for third in range(size):
        # Those that it is near to, or that are near to it.
        around = np.union1d(nearest[third], np.flatnonzero((nearest == third).any(axis=1)))
        around = around[np.isfinite(distance[third, around])]
        away = distance[third, around]
        gain = _UNIT * (1.0 + largest / np.maximum.outer(away, away))
        block = np.ix_(around, around)
        worth[block] = np.maximum(worth[block], gain)
    return worth


@dataclass(frozen=True)
class Fragments:
    """Fragments of groups, sets of hosts that near readings connect, with the evidence for them.

    Args:
        labels: (N,) fragment of each host, 0 ... G-1.
        votes: (N, N) what each reading says for being in one group, -0.75 to 1; 0 without one.
        direct: (G, G) log likelihood ratio of two fragments being one, by readings between them.
        thirds: (G, G) the same by what others are away from them.
    """

    labels: Labels
    votes: Matrix
    direct: Matrix
    thirds: Matrix

    @property
    def sizes(self) -> Labels:
        """Number of hosts of each fragment, (G,)."""
        return np.bincount(self.labels)


def find_fragments(readings_us: Matrix) -> Fragments | None:
    """Find fragments of groups in a sample of readings; None if readings have only one mode.

    Args:
        readings_us: (N, N), symmetric, NaN where not measured and on the diagonal.
    """
    one, other = np.nonzero(~np.isnan(readings_us))
    logs = np.log(np.maximum(readings_us[one, other], _LEAST_US))
    ends = find_mode_limits(logs[one < other])
    if not ends:
        return None
    near = logs[logs <= ends[0]]
    deviation = min(max(spread(near), _LEAST_DEVIATION), _MOST_DEVIATION)
    cast = _cast_votes(logs, near, ends[0])
    alone = np.arange(len(readings_us))
    fine = _join_clusters(alone, one, other, cast)
    coarse = fine
    if len(ends) > 1:
        second = logs[(logs > ends[0]) & (logs <= ends[1])]
        coarse = _join_clusters(fine, one, other, _cast_votes(logs, second, ends[1]))
    direct = sum_by_cluster(fine, fine, one, other, _VOTE_WORTH * cast)
    farthest = float(np.median(logs[logs > ends[-1]]))
    is_far = logs > ends[0]
    one, other, logs = one[is_far], other[is_far], logs[is_far]
    thirds = np.zeros(direct.shape)
    for columns in (fine,) if coarse is fine else (fine, coarse):
        count = sum_by_cluster(fine, columns, one, other, np.ones(len(one)))
        with np.errstate(invalid="ignore"):
            mean = sum_by_cluster(fine, columns, one, other, logs) / count
        thirds += kinship(mean, deviation, farthest)
    votes = np.zeros(readings_us.shape)
    votes[np.nonzero(~np.isnan(readings_us))] = cast
    return Fragments(fine, votes, direct, thirds)


def sum_by_cluster(
    rows: Labels, columns: Labels, one: Labels, other: Labels, values: Vector
) -> Matrix:
    """Return the sums of host pairs' values by the two hosts' clusters, (rows, columns)."""
    height, width = int(rows.max()) + 1, int(columns.max()) + 1
    places = rows[one] * width + columns[other]
    sums = np.bincount(places, values, minlength=height * width).astype(np.float64)
    return sums.reshape(height, width)


def _cast_votes(logs: Vector, mode: Vector, end: float) -> Vector:
    """Return each reading's vote for one group, -0.75 to 1: how far it lies below a mode's end."""
    # Votes are whole where readings are as near as most of the mode.
    width = max(end - float(np.median(mode)), _LEAST_WIDTH)
    return np.clip((end - logs) / width, _FAR_VOTE, 1.0)


def _join_clusters(clusters: Labels, one: Labels, other: Labels, cast: Vector) -> Labels:
    """Join clusters whose readings between them vote for it; return each host's new cluster."""
    counts = sum_by_cluster(clusters, clusters, one, other, np.ones(len(one)))
    return link_hosts(sum_by_cluster(clusters, clusters, one, other, cast), counts)[clusters]
