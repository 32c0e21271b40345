"""Fragments of groups in the readings of a sample, and the evidence between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.sampling.linkage import link_hosts
from plink.solvers.sampling.scales import limits, spread
from plink.solvers.sampling.third_hosts import kinship

Matrix = npt.NDArray[np.float64]
Vector = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

# A far reading of a pair that is near says less than a near one: noise only adds.
_FAR_VOTE = -0.75
# The vote of a reading in units of log likelihood.
_VOTE_WORTH = 4.0
# What a clock that is too coarse reads as nothing.
_LEAST_US = 1e-3
_LEAST_WIDTH = 0.05
_LEAST_DEVIATION, _MOST_DEVIATION = 0.03, 0.3


@dataclass(frozen=True)
class Found:
    """Fragments of groups that near readings connect.

    Args:
        labels: (N,) fragment of each host, 0 ... G-1.
        votes: (N, N) what each reading says for being in one group, -0.75 to 1; 0 without one.
        direct: (G, G) log likelihood ratio of two fragments being one, by readings between them.
        thirds: (G, G) the same by what others are away from them.
        near_us: the longest reading that is near.
    """

    labels: Labels
    votes: Matrix
    direct: Matrix
    thirds: Matrix
    near_us: float

    @property
    def sizes(self) -> Labels:
        """Number of hosts of each fragment, (G,)."""
        return np.bincount(self.labels)


def found_in(readings_us: Matrix) -> Found | None:
    """Return the fragments in a sample's readings; None if no near mode stands out.

    Args:
        readings_us: (N, N), symmetric, NaN where not measured and on the diagonal.
    """
    one, other = np.nonzero(~np.isnan(readings_us))
    logs = np.log(np.maximum(readings_us[one, other], _LEAST_US))
    ends = limits(logs[one < other])
    if not ends:
        return None
    near = logs[logs <= ends[0]]
    deviation = min(max(spread(near), _LEAST_DEVIATION), _MOST_DEVIATION)
    cast = _cast(logs, near, ends[0])
    alone = np.arange(len(readings_us))
    fine = _join_clusters(alone, one, other, cast)
    coarse = fine
    if len(ends) > 1:
        second = logs[(logs > ends[0]) & (logs <= ends[1])]
        coarse = _join_clusters(fine, one, other, _cast(logs, second, ends[1]))
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
    return Found(fine, votes, direct, thirds, float(np.exp(ends[0])))


def sum_by_cluster(
    rows: Labels, columns: Labels, one: Labels, other: Labels, values: Vector
) -> Matrix:
    """Return sums of the values of pairs (one, other), by the clusters of both."""
    height, width = int(rows.max()) + 1, int(columns.max()) + 1
    places = rows[one] * width + columns[other]
    sums = np.bincount(places, values, minlength=height * width).astype(np.float64)
    return sums.reshape(height, width)


def _cast(logs: Vector, mode: Vector, end: float) -> Vector:
    """Return the vote of each reading: how clearly it lies below the end of a mode."""
    # Votes are whole where readings are as near as most of the mode.
    width = max(end - float(np.median(mode)), _LEAST_WIDTH)
    return np.clip((end - logs) / width, _FAR_VOTE, 1.0)


def _join_clusters(clusters: Labels, one: Labels, other: Labels, cast: Vector) -> Labels:
    """Return the clusters after joining them by the readings between them."""
    counts = sum_by_cluster(clusters, clusters, one, other, np.ones(len(one)))
    return link_hosts(sum_by_cluster(clusters, clusters, one, other, cast), counts)[clusters]
