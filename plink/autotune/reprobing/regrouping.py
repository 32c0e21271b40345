"""Whether a network that was measured again is another one, and its groups then. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plink.capacity import capacity
from plink.drift.judge import judge, noise_ceilings
from plink.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.files.measurement import Matrix
from plink.grouping import DEFAULT_ELASTICITY, METHODS, GroupRequest, find_groups, with_groups

# A link that carries so many times as much as before, or as little, is another one.
_OTHER_RATE = 1.25


@dataclass(frozen=True)
class Regrouped:
    """What measuring again has shown.

    Args:
        cluster: as it is now.
        moved: names of hosts whose distances are others than before, beyond noise.
    """

    cluster: Cluster
    moved: Sequence[str]


def regrouped(before: Cluster, after: Cluster, measured_us: Matrix | None) -> Regrouped:
    """The cluster with the groups of now; those of before where no distance has changed.

    Args:
        before: the cluster that there was.
        after: the same hosts, measured again.
        measured_us: (N, N) of the pairs that were measured again the reading, else NaN; None where
            there is nothing to compare with.
    """
    names = after.names
    moved: Sequence[str] = names
    if measured_us is not None and before.rtt is not None:
        found = judge(before.rtt.readings_us, measured_us, noise_ceilings(before.rtt))
        moved = sorted({names[host] for change in found.changes for host in change.hosts})
    if not moved and after.groups:
        return Regrouped(after, moved)
    request = _request(before)
    try:
        groups = find_groups(after, request)
        if not groups.groups and len(before.groups) > 1:
            # Readings on a busy network hide what groups there are: as many as there were.
            groups = find_groups(after, replace(request, groups=len(before.groups), method="auto"))
    except WrongUseError:  # Too few hosts are measured, or not so many groups can be made.
        return Regrouped(after, moved)
    return Regrouped(with_groups(after, groups), moved)


def other_rates(before: Cluster, after: Cluster) -> Sequence[str]:
    """Names of the hosts and groups whose links carry materially more or less than before."""
    then, now = capacity(before, after.groups), capacity(after, after.groups)
    is_other = [
        any(_is_other(a, b) for a, b in zip(then_rates, now_rates, strict=True))
        for then_rates, now_rates in zip(
            zip(then.send_gbit_s, then.receive_gbit_s, strict=True),
            zip(now.send_gbit_s, now.receive_gbit_s, strict=True),
            strict=True,
        )
    ]
    hosts = [name for name, changed in zip(after.names, is_other, strict=True) if changed]
    groups = [
        new.group
        for old, new in zip(then.uplinks, now.uplinks, strict=True)
        if _is_other(old.send_gbit_s, new.send_gbit_s)
        or _is_other(old.receive_gbit_s, new.receive_gbit_s)
    ]
    return [*hosts, *groups]


def _is_other(before: float | None, after: float | None) -> bool:
    if before is None or after is None or np.isnan(before) or np.isnan(after):
        return False
    low, high = sorted((before, after))
    return high > _OTHER_RATE * low


def _request(cluster: Cluster) -> GroupRequest:
    """As the groups of before were found."""
    known = cluster.grouping
    if known is None or known.method not in METHODS:
        return GroupRequest()
    groups, elasticity = known.options.get("k"), known.options.get("elasticity")
    return GroupRequest(
        known.method,
        groups if isinstance(groups, int) else None,
        float(elasticity) if isinstance(elasticity, (int, float)) else DEFAULT_ELASTICITY,
        known.seed,
    )
