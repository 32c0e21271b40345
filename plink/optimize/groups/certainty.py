"""Decision to stop probing once the groups are certain, and advice to measure further passes."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass

import numpy as np

from plink.base.errors import NotMeasuredError
from plink.formats.cluster import Cluster
from plink.measure.probing.passes import Pair, StoppingPolicy
from plink.optimize.groups.finding import FoundGroups, UngroupableError, find_groups
from plink.optimize.groups.request import GroupRequest
from plink.solvers.groups.levels import LIKELY, SURE

# So many readings of a doubtful host with each of two groups say which of them it belongs to.
_MATES = 4
# Groups that were the same after so many passes are not looked for again.
_LOOKS = 3
# Finding groups takes longer than meeting again where there are more hosts.
_MOST_HOSTS = 256

_FURTHER = 3
# Hosts that met so often are not advised to meet again: more passes would change nothing.
_ENOUGH_PASSES = 12
# Below, the readings speak against groups and more of them would hardly change that.
_LEAST_CHANCE = 0.05
# Above, passes agree so well that more of them say the same.
_LEAST_NOISE = 0.01


def stop_when_groups_are_certain() -> StoppingPolicy:
    """Return the policy by which `plink probe` stops once the groups are certain."""
    watch = _GroupWatch()
    return StoppingPolicy(hinges=watch.hinges, answer=watch.answer)


class _GroupWatch:
    """Groups found after each pass over all pairs, to tell when they are certain and stay equal."""

    def __init__(self) -> None:
        self._found: FoundGroups | None = None
        self._seen: list[Hashable] = []

    def hinges(self, cluster: Cluster) -> Collection[Pair]:
        """Return pairs to measure again: doubtful hosts with hosts of their two nearest groups."""
        self._found = _look(cluster)
        if self._found is None:
            return []
        return [
            pair
            for doubtful in self._found.grouping.doubtful
            for pair in _choose_pairs(cluster, self._found, doubtful.host)
        ]

    def answer(self, _: Cluster) -> Hashable:
        """Return the groups if certain and unchanged over the last passes, else a unique object."""
        found = self._found
        chance = None if found is None else found.grouping.probability
        is_sure = chance is not None and (chance >= SURE or chance < 1.0 - LIKELY)
        groups = frozenset(frozenset(group.hosts) for group in found.groups) if found else None
        self._seen.append(groups if is_sure else object())
        latest = self._seen[-_LOOKS:]
        is_same = len(latest) == _LOOKS and len(set(latest)) == 1
        return groups if is_same else object()


def _look(cluster: Cluster) -> FoundGroups | None:
    if len(cluster.hosts) > _MOST_HOSTS:
        return None
    try:
        return find_groups(cluster, GroupRequest())
    except (NotMeasuredError, UngroupableError):  # too little is measured yet
        return None


def _choose_pairs(cluster: Cluster, found: FoundGroups, host: str) -> list[Pair]:
    """Return pairs of a host with some members of its two nearest groups."""
    place_of = {name: place for place, name in enumerate(cluster.names)}
    within = {place: index for index, place in enumerate(found.denoised.hosts)}
    row = found.denoised.matrix[within[place_of[host]]]
    groups = sorted(
        ([place_of[name] for name in group.hosts if name != host] for group in found.groups),
        key=lambda group: (
            float(np.median(row[[within[place] for place in group]])) if group else np.inf
        ),
    )
    return [(place_of[host], place) for group in groups[:2] for place in group[:_MATES]]


@dataclass(frozen=True)
class MorePasses:
    """Advice to measure more passes with the same probe: how many, and about how many seconds.

    Args:
        further: how many.
        passes: how many that makes in all, as `plink probe --passes` wants it.
        seconds: of probing, about.
    """

    further: int
    passes: int
    seconds: float


def more_passes(cluster: Cluster) -> MorePasses | None:
    """Advise on further passes to make groups certain; None if not needed, or of no use."""
    grouping, rtt = cluster.grouping, cluster.rtt
    if grouping is None or rtt is None or rtt.passes is None:
        return None
    chance = 0.0 if grouping.probability is None else grouping.probability
    is_open = _LEAST_CHANCE <= chance < SURE or bool(grouping.doubtful)
    apart = rtt.disagreement
    if not is_open or not np.isfinite(apart).any() or np.nanmedian(apart) < _LEAST_NOISE:
        return None
    met = rtt.passes[rtt.passes > 0]
    if int(met.max()) >= _ENOUGH_PASSES:
        return None
    seconds = rtt.seconds / float(met.mean()) * _FURTHER
    return MorePasses(_FURTHER, int(met.max()) + _FURTHER, seconds)
