"""How clearly hosts belong to their groups.

For a host, distances to its group and to the nearest other group are taken as two log-normal
samples. Its *separation* is the difference of their mean logarithms in units of the standard
deviation of a difference of two draws: the normal quantile of the probability that a host of its
own group is nearer than one of the other group (an AUC). Deviations count on the side where the two
samples meet: a group that holds smaller groups is no less of one.

Where hosts are spread evenly, those at a group's border are as near to the next group: their
separation is about 0, however many groups are cut. So the *weakest tenth* tells groups from a
continuum, where silhouettes and other means over hosts do not.
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
    means = np.full((size, groups), np.nan)
    np.divide(logs @ hot, counts, out=means, where=counts > 0)
    elsewhere = means.copy()
    elsewhere[hosts, own] = np.inf
    nearest = elsewhere.argmin(axis=1)
    own_mean, other_mean = means[hosts, own], elsewhere[hosts, nearest]
    is_grouped = is_placed & (counts[hosts, own] > 0)
    # What is farther than usual in the own group and nearer than usual in the other one.
    mates = (labels[None, :] == own[:, None]) & is_grouped[:, None]
    np.fill_diagonal(mates, val=False)
    above = _half_variance(np.maximum(logs - own_mean[:, None], 0.0), mates, own, groups)
    others = (labels[None, :] == nearest[:, None]) & is_grouped[:, None]
    block = own * groups + nearest
    below = _half_variance(
        np.maximum(other_mean[:, None] - logs, 0.0), others, block, groups * groups
    )
    gap = other_mean - own_mean
    deviation = np.sqrt(_filled(above[own], below[block]) + _filled(below[block], above[own]))
    found = np.full(size, -np.inf)
    np.divide(gap, np.maximum(deviation, _LEAST_SHARE), out=found, where=is_grouped)
    ratio = np.where(is_grouped, np.exp(np.where(is_grouped, gap, 0.0)), np.nan)
    return Separation(found, np.where(is_grouped, nearest, -1), ratio)


def _half_variance(
    beyond: Matrix, chosen: npt.NDArray[np.bool_], block: Labels, blocks: int
) -> npt.NDArray[np.float64]:
    """(blocks,) twice the mean square of one side's deviations; NaN without any freedom.

    Args:
        beyond: (N, N) the deviations from each host's mean on that side, zero on the other.
        chosen: (N, N) which of them count.
        block: (N,) the block that each host's deviations belong to.
    """
    squares = np.where(chosen, beyond, 0.0)
    squares *= squares
    number = chosen.sum(axis=1)
    total = np.bincount(block, squares.sum(axis=1), blocks)
    freedom = np.bincount(block, np.maximum(number - 1, 0), blocks)
    variance = np.full(blocks, np.nan)
    np.divide(2.0 * total, freedom, out=variance, where=freedom > 0)
    return variance


def _filled(
    variance: npt.NDArray[np.float64], stand_in: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """(N,) variances; where two hosts have one distance only, the other side's, else the usual."""
    filled = np.where(np.isnan(variance), stand_in, variance)
    known = filled[~np.isnan(filled)]
    return np.where(np.isnan(filled), np.median(known) if known.size else 0.0, filled)
