"""Best estimates of a cluster's round-trip times, given the groups of its hosts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from plink.base.lazy import lazy_imports
from plink.formats.cluster import Cluster
from plink.formats.matrices import Matrix
from plink.solvers.groups.grouping import Labels, separate_alone
from plink.solvers.shrinkage import EstimatedDistances, estimate_distances, lowest_readings

with lazy_imports():
    # SciPy takes longer to import than an order of few hosts takes.
    from plink.solvers.groups import levels

# Readings of more hosts are taken as they are: all of this is done in a few copies of the matrix.
_MOST_HOSTS = 2048
# Groups that no file names are looked for among so many hosts, which takes some tenths of a second.
MOST_UNGROUPED = 128


def estimate_round_trips(
    cluster: Cluster, *, uses_known_groups: bool = True
) -> EstimatedDistances | None:
    """Estimate all round trips in µs from readings and groups; None to take readings as they are.

    Groups are those in the file, at all levels that `plink group` found there; where the file says
    nothing of groups, those that the readings show.

    Args:
        cluster: with round-trip times.
        uses_known_groups: take the file's groups; else those that the readings show in any case,
            as hosts may have moved since groups were found.

    Returns:
        the estimate (`plink.solvers.shrinkage`); None where readings are to be taken as they are:
        there are no groups, no pair was read twice, or the cluster says so.
    """
    rtt = cluster.rtt
    if rtt is None or cluster.uses_readings or len(cluster.hosts) > _MOST_HOSTS:
        return None
    halves = rtt.halves_us
    lowest, second = lowest_readings([rtt.readings_us] if halves is None else list(halves))
    if (rtt.readings_us == 0.0).any() or not (lowest < second)[np.isfinite(second)].any():
        return None
    levels = _levels(cluster, lowest) if uses_known_groups else _shown_levels(lowest)
    return estimate_distances(lowest, second, levels) if levels else None


def _levels(cluster: Cluster, lowest: Matrix) -> Sequence[Labels]:
    """Return the group of each host at each level, (N,) each: the file's, or those discovered."""
    if cluster.grouping is not None:
        return [_labels(cluster.names, level) for level in cluster.grouping.levels]
    if cluster.groups:
        return [_labels(cluster.names, [group.hosts for group in cluster.groups])]
    return _shown_levels(lowest)


def _shown_levels(lowest: Matrix) -> Sequence[Labels]:
    size = len(lowest)
    return _discover_levels(lowest.tobytes(), size) if size <= MOST_UNGROUPED else []


def _labels(names: Sequence[str], groups: Iterable[Sequence[str]]) -> Labels:
    group_of = {host: number for number, hosts in enumerate(groups) for host in hosts}
    return separate_alone(np.array([group_of.get(name, -1) for name in names], dtype=np.int64))


@lru_cache(maxsize=16)
def _discover_levels(readings: bytes, size: int) -> Sequence[Labels]:
    """Discover the levels of groups in readings (bytes of a matrix), cached for repeated calls."""
    lowest = np.frombuffer(readings).reshape(size, size).copy()
    np.fill_diagonal(lowest, 0.0)
    is_measured = np.isfinite(lowest)
    found = levels.discover(np.where(is_measured, lowest, 0.0), is_measured)
    return [separate_alone(level.labels) for level in found.levels]
