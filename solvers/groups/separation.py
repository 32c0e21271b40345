"""How clearly hosts belong to their groups.

For a host, distances to its group and to the nearest other group are taken as two log-normal
samples. Its *separation* is the difference of their mean logarithms in units of the standard
deviation of a difference of two draws; that separation is the normal quantile of the probability
that a host of its own group is nearer than one of the other group (an AUC). Where hosts are spread
evenly, those at a group's border are as near to the next group: their separation is about 0,
however many groups are cut. So the *weakest tenth* tells groups from a continuum, where silhouettes
and other means over hosts do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.groups.grouping import ALONE, Labels, Matrix

WEAKEST_SHARE = 0.1
# A distance of zero has no logarithm; nor do differences below this share of the median count.
_LEAST_SHARE = 1e-6


@dataclass(frozen=True)
class Separation:
    """The separation of each host and what follows for the grouping.

    Args:
        of_hosts: (N,) standard deviations; minus infinity for a host alone.
        nearest_group: (N,) the other group that is nearest; -1 where there is none.
        ratio: (N,) the geometric mean distance to the nearest other group over that to the own
            one; NaN for a host alone.
    """

    of_hosts: npt.NDArray[np.float64]
    nearest_group: Labels
    ratio: npt.NDArray[np.float64]

    @property
    def weakest(self) -> float:
        """The separation that nine in ten hosts have."""
        count = int(WEAKEST_SHARE * len(self.of_hosts))
        return float(np.partition(self.of_hosts, count)[count])

    @property
    def certainty(self) -> npt.NDArray[np.float64]:
        """(N,) the chance that a host's group mate is nearer than a host of the next group."""
        from scipy.special import ndtr  # noqa: PLC0415

        chance: npt.NDArray[np.float64] = ndtr(self.of_hosts)
        return chance


def log_distances(distance: Matrix) -> Matrix:
    """(N, N) natural logarithms, zero on the diagonal."""
    off_diagonal = distance[~np.eye(len(distance), dtype=bool)]
    median = float(np.median(off_diagonal)) if off_diagonal.size else 0.0
    logs: Matrix = np.log(np.maximum(distance, max(_LEAST_SHARE * median, 1e-300)))
    np.fill_diagonal(logs, 0.0)
    return logs


def separation(logs: Matrix, labels: Labels) -> Separation:
    """How clearly hosts belong to their groups.

    Args:
        logs: (N, N), as `log_distances` has them.
        labels: (N,) groups 0 ... k-1; `ALONE` hosts belong to none, and are no group to be near.
    """
    size, groups = len(labels), int(labels.max(initial=ALONE)) + 1
    is_placed = labels != ALONE
    if groups < 2:
        lone = np.full(size, -np.inf)
        return Separation(lone, np.full(size, -1), np.full(size, np.nan))
    own = np.where(is_placed, labels, 0)
    hosts = np.arange(size)
    hot = np.zeros((size, groups))
    hot[hosts[is_placed], labels[is_placed]] = 1.0
    counts = hot.sum(axis=0) - hot
    sums = logs @ hot
    squares = (logs * logs) @ hot
    means = np.full((size, groups), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    scatter = np.where(counts > 0, np.maximum(squares - sums * np.nan_to_num(means), 0.0), 0.0)
    variance = _pooled(hot, scatter, np.maximum(counts - 1.0, 0.0))
    elsewhere = means.copy()
    elsewhere[hosts, own] = np.inf
    nearest = elsewhere.argmin(axis=1)
    gap = elsewhere[hosts, nearest] - means[hosts, own]
    deviation = np.sqrt(variance[own, own] + variance[own, nearest])
    is_grouped = is_placed & (counts[hosts, own] > 0)
    found = np.full(size, -np.inf)
    np.divide(gap, np.maximum(deviation, _LEAST_SHARE), out=found, where=is_grouped)
    ratio = np.where(is_grouped, np.exp(np.where(is_grouped, gap, 0.0)), np.nan)
    return Separation(found, np.where(is_grouped, nearest, -1), ratio)


def _pooled(hot: Matrix, scatter: Matrix, freedom: Matrix) -> Matrix:
    """(k, k) the variance of log distances from a host of one group to hosts of another.

    Where too few hosts leave no freedom, that of the other side or of all blocks stands in.
    """
    blocks, degrees = hot.T @ scatter, hot.T @ freedom
    overall = float(scatter.sum() / max(1.0, freedom.sum()))
    variance = np.full(blocks.shape, np.nan)
    np.divide(blocks, degrees, out=variance, where=degrees > 0)
    across = np.where(np.isnan(variance), variance.T, variance)
    own = variance.diagonal()
    # Two hosts have one distance: how such distances spread is known from the other groups.
    usual = float(np.nanmedian(across)) if not np.isnan(across).all() else overall
    filled: Matrix = np.where(np.isnan(across), usual, across)
    np.fill_diagonal(filled, np.where(np.isnan(own), filled.min(axis=1), own))
    return filled
