"""Probe of round-trip times, groups and their uplinks over one set of connections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plink.base.interrupts import defer_interrupts
from plink.base.progress import ProgressListener
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.measure.probing.request import ProbeRequest, connect_hosts
from plink.measure.probing.run import ProbeResult, measure_pairs
from plink.measure.probing.tools import UplinkOptions
from plink.measure.probing.uplinks import UplinkResult, measure_uplinks
from plink.optimize.groups.certainty import stop_when_groups_are_certain
from plink.optimize.groups.finding import FoundGroups, find_groups, with_groups
from plink.optimize.groups.request import GroupRequest


@dataclass(frozen=True)
class GroupsResult:
    """Result of grouping the hosts after the first stage of a probe.

    Args:
        cluster: what to write.
        found: the groups in it, or None where those of an earlier run were kept.
    """

    cluster: Cluster
    found: FoundGroups | None

    @property
    def has_uplinks(self) -> bool:
        """Whether there are at least two groups, between which uplinks exist."""
        return len(self.cluster.groups) > 1


StageResult = ProbeResult | GroupsResult | UplinkResult


def probe_all(
    request: ProbeRequest,
    uplinks: UplinkOptions,
    progress: ProgressListener,
    on_result: Callable[[StageResult], None],
) -> None:
    """Measure round-trip times, group the hosts as `plink group` does, and measure their uplinks.

    Each stage begins with what the one before it left. What an earlier run did is not done again;
    groups are found again where there are other readings than it had, unless they were given.

    Args:
        request: with the tool that measures round-trip times.
        uplinks: how uplinks are measured; the groups are found.
        progress: told how far it is.
        on_result: given what each stage yielded, in turn, as `plink.measure.probing.run.probe`
            does. Without two groups there is no stage for uplinks, nor after an interrupt.

    Raises:
        as `plink.measure.probing.run.probe`; KeyboardInterrupt also where a later stage has
            nothing yet.
    """
    with connect_hosts(request, progress) as reached:
        pairs = measure_pairs(request, reached, progress, on_result, stop_when_groups_are_certain())
        if pairs.interrupted:
            return
        progress.stage("finding groups", 1)
        grouped = _group_cluster(pairs.cluster, request.earlier)
        with defer_interrupts():
            on_result(grouped)
        if grouped.has_uplinks:
            onward = replace(
                request,
                options=replace(uplinks, groups=grouped.cluster.groups),
                earlier=grouped.cluster,
            )
            measure_uplinks(onward, reached, progress, on_result)


def _group_cluster(cluster: Cluster, earlier: Cluster | None) -> GroupsResult:
    if earlier is not None and _groups_hold(cluster, earlier):
        return GroupsResult(cluster, None)
    found = find_groups(cluster, GroupRequest())
    return GroupsResult(with_groups(cluster, found), found)


def _groups_hold(cluster: Cluster, earlier: Cluster) -> bool:
    """Return whether an earlier run's groups, or their absence, still hold."""
    if earlier.grouping is None:
        return bool(earlier.groups) and list(cluster.groups) == list(earlier.groups)
    if cluster.rtt is None or earlier.rtt is None or cluster.names != earlier.names:
        return False
    return np.array_equal(cluster.rtt.readings_us, earlier.rtt.readings_us, equal_nan=True)
