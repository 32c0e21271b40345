"""What would make a doubtful answer about groups a sure one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plink.files.cluster import Cluster
from solvers.groups.levels import SURE

_FURTHER = 3
# Below, the readings speak against groups and more of them would hardly change that.
_LEAST_CHANCE = 0.05
# Above, passes agree so well that more of them say the same.
_LEAST_NOISE = 0.01


@dataclass(frozen=True)
class MorePasses:
    """More passes of the same probing.

    Args:
        further: how many.
        passes: how many that makes in all, as `plink probe --passes` wants it.
        seconds: of probing, about.
    """

    further: int
    passes: int
    seconds: float


def more_passes(cluster: Cluster) -> MorePasses | None:
    """The passes that may make the groups sure; None where they are, or passes cannot help."""
    grouping, rtt = cluster.grouping, cluster.rtt
    if grouping is None or rtt is None or rtt.passes is None:
        return None
    chance = 0.0 if grouping.probability is None else grouping.probability
    is_open = _LEAST_CHANCE <= chance < SURE or bool(grouping.doubtful)
    apart = rtt.disagreement
    if not is_open or not np.isfinite(apart).any() or np.nanmedian(apart) < _LEAST_NOISE:
        return None
    met = rtt.passes[rtt.passes > 0]
    seconds = rtt.seconds / float(met.mean()) * _FURTHER
    return MorePasses(_FURTHER, int(met.max()) + _FURTHER, seconds)
