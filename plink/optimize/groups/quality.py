"""Quality of found groups: distances within and between them, hosts that may belong elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.formats.groups import DoubtfulHost, GroupQuality, NearestGroups
from plink.formats.hosts import Group
from plink.model.denoising import Denoised
from plink.solvers.groups.grouping import ALONE, Labels, separate_alone
from plink.solvers.groups.levels import Level
from plink.solvers.groups.partitions import Pairs, weigh_membership

# Hosts that are less sure to belong where they are get named.
_NAMED_BELOW = 0.9
_LEAST_DISTANCE = 1e-12


def qualities(
    groups: Sequence[Group], labels: Labels, denoised: Denoised, level: Level | None
) -> list[GroupQuality]:
    """Return, for each group, its distances within and to the nearest group, and its probability.

    Args:
        groups: in the order of their labels.
        labels: (M,) of the hosts of `denoised`.
        level: that they are; None where they were cut by another method.
    """
    of_hosts = _weigh_members(labels, denoised, level)
    mean = _mean_distances(labels, denoised)
    found = []
    for number, group in enumerate(groups):
        hosts = np.flatnonzero(labels == number)
        block = denoised.matrix[np.ix_(hosts, hosts)]
        known = denoised.is_measured[np.ix_(hosts, hosts)]
        inside = block[np.triu(known, 1)]
        nearest = int(mean[number].argmin())
        others = np.ix_(hosts, np.flatnonzero(labels == nearest))
        is_apart = len(groups) > 1 and np.isfinite(mean[number, nearest])
        outside = denoised.matrix[others][denoised.is_measured[others]] if is_apart else np.empty(0)
        within = float(np.median(inside)) if inside.size else None
        between = float(np.median(outside)) if outside.size else None
        found.append(
            GroupQuality(
                group=group.name,
                within_us=within if denoised.is_time else None,
                between_us=between if denoised.is_time else None,
                within_gbit_s=None if denoised.is_time else _rate(within),
                between_gbit_s=None if denoised.is_time else _rate(between),
                probability=float(
                    of_hosts[hosts].mean() if level is None else level.of_groups[number]
                ),
            )
        )
    return found


def doubtful_hosts(
    names: Sequence[str], labels: Labels, denoised: Denoised, level: Level | None
) -> list[DoubtfulHost]:
    """Return the hosts that may belong to another group, the least certain first."""
    if (labels == ALONE).all():
        return []
    of_hosts = _weigh_members(labels, denoised, level)
    least_sure = np.argsort(of_hosts, kind="stable")
    return [
        DoubtfulHost(names[host], float(of_hosts[host]))
        for host in least_sure
        if of_hosts[host] < _NAMED_BELOW
    ]


def nearest_groups(
    names: Sequence[str],
    groups: Sequence[Group],
    level: Level | None,
    doubtful: Sequence[DoubtfulHost],
) -> list[NearestGroups]:
    """Return the two most likely groups of each host that is doubtful or in no group.

    Empty where the groups come from another method than `levels`.
    """
    if level is None or not groups:
        return []
    open_hosts = {each.host for each in doubtful}
    return [
        NearestGroups(name, [groups[group].name for group in level.nearest[host] if group != ALONE])
        for host, name in enumerate(names)
        if name in open_hosts or level.labels[host] == ALONE
    ]


def _weigh_members(
    labels: Labels, denoised: Denoised, level: Level | None
) -> npt.NDArray[np.float64]:
    """Return the probability that each of M hosts belongs to its group, (M,)."""
    if level is not None:
        return level.of_hosts
    logs = np.log(np.maximum(denoised.matrix, _LEAST_DISTANCE))
    return weigh_membership(Pairs(logs, denoised.is_measured), separate_alone(labels)).of_units


def _mean_distances(labels: Labels, denoised: Denoised) -> npt.NDArray[np.float64]:
    """Return mean distances between groups, (k, k); infinite on the diagonal and if unmeasured."""
    groups = int(labels.max(initial=ALONE)) + 1
    hot = (labels[:, None] == np.arange(groups)[None, :]).astype(np.float64)
    pairs = hot.T @ denoised.is_measured.astype(np.float64) @ hot
    sums = hot.T @ np.where(denoised.is_measured, denoised.matrix, 0.0) @ hot
    mean = np.full((groups, groups), np.inf)
    np.divide(sums, pairs, out=mean, where=pairs > 0.0)
    np.fill_diagonal(mean, np.inf)
    return mean


def _rate(s_per_gbit: float | None) -> float | None:
    return None if s_per_gbit is None or s_per_gbit <= 0.0 else 1.0 / s_per_gbit
