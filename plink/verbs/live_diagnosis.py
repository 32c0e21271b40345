"""New measurements for `plink doctor --live`: hosts' condition, round trips, links, uplinks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timezone

from plink.base.errors import PlinkError
from plink.base.progress import ProgressListener
from plink.base.replacing import replace
from plink.base.text import format_count
from plink.formats.cluster import Cluster
from plink.formats.measurements import Failure
from plink.measure.listed import apply_recorded_way, list_again
from plink.measure.probing.conditions import ask_conditions
from plink.measure.probing.request import (
    ProbeRequest,
    carry_over,
    connect_hosts,
    find_moved_hosts,
    resume_options,
)
from plink.measure.probing.run import measure_pairs
from plink.measure.probing.tools import TOOLS, UplinkOptions
from plink.measure.probing.uplinks import measure_both_directions, measure_uplinks
from plink.measure.requests import DiagnosisRequest
from plink.optimize.groups.finding import find_groups, with_groups
from plink.optimize.groups.request import GroupRequest
from plink.probes.options import EchoOptions
from plink.probes.reach import Reached, Way

# All pairs of more hosts take longer than a person waits.
_MOST_HOSTS = 64


def examine(
    cluster: Cluster,
    request: DiagnosisRequest,
    way: Way,
    *,
    source: str,
    progress: ProgressListener,
) -> tuple[Cluster, list[str], datetime]:
    """Ask all hosts for settings, counters and load; measure round trips, links and uplinks anew.

    What is not measured anew stays as the cluster has it, with its date: bandwidths of pairs,
    round trips of more than 64 hosts, and what cannot be measured.

    Args:
        cluster: cluster of hosts that can be reached.
        request: time limits of the measurements.
        way: how hosts are reached where the cluster does not say.
        source: what messages call the cluster.
        progress: told how far it is.

    Returns:
        the cluster with the new measurements; what could not be measured, a sentence each; the
        time at which the hosts were asked.

    Raises:
        WrongUseError: the file says that it was measured in a way that cannot be.
        PlinkError: fewer than two hosts can be reached.
    """
    asked_at = datetime.now(timezone.utc).replace(microsecond=0)
    way = apply_recorded_way(way, cluster.way, source)
    probe_request = _build_rtt_request(cluster, way, source, request.timeout_s)
    missed: list[str] = []
    with connect_hosts(probe_request, progress) as reached:
        missed += [f"{error.host}: {error}" for error in reached.failures]
        found = _update_addresses(cluster, reached)
        conditions = ask_conditions(reached, progress, way.concurrency)
        missed += [f"{failure.source}: {failure.reason}" for failure in conditions.failures]
        if found.rtt is None or len(found.hosts) <= _MOST_HOSTS:
            found = _with_round_trips(probe_request, found, reached, progress, missed)
        found = replace(found, conditions=conditions)
        if found.rtt is not None and not found.groups and found.grouping is None:
            found = with_groups(found, find_groups(found, GroupRequest()))
        if len(found.groups) > 1 and request.transfers_s > 0.0:
            until_s = time.monotonic() + request.transfers_s
            timed = replace(probe_request, left_s=lambda: until_s - time.monotonic())
            found = _with_transfers(timed, found, reached, progress, missed)
    return found, missed, asked_at


def _build_rtt_request(cluster: Cluster, way: Way, source: str, timeout_s: float) -> ProbeRequest:
    """Return the request to measure round trips, with the settings of the cluster file."""
    known = cluster
    if cluster.rtt is not None and cluster.rtt.tool not in TOOLS:
        known = replace(cluster, rtt=None)  # imported
    tool = EchoOptions.tool if known.rtt is None else known.rtt.tool
    how = resume_options(known, source, tool, {})
    return ProbeRequest(
        list_again(cluster, source),
        made_from=cluster.made_from,
        timeout_s=timeout_s,
        way=way,
        earlier=cluster,
        **vars(how),
    )


def _update_addresses(cluster: Cluster, reached: Reached) -> Cluster:
    """Return the cluster with hosts' present addresses, without readings of hosts that moved."""
    here = {host.name: host.address for host in reached.hosts}
    hosts = [replace(host, address=here.get(host.name, host.address)) for host in cluster.hosts]
    moved = find_moved_hosts(hosts, cluster)
    if not moved:
        return replace(cluster, hosts=hosts)
    return replace(carry_over(hosts, cluster, moved), made_from=cluster.made_from)


def _with_round_trips(
    request: ProbeRequest,
    cluster: Cluster,
    reached: Reached,
    progress: ProgressListener,
    missed: list[str],
) -> Cluster:
    """Measure round trips; return the cluster with them, or unchanged if that fails."""
    try:
        measured = measure_pairs(
            replace(request, earlier=replace(cluster, rtt=None)), reached, progress
        )
    except PlinkError as error:
        missed.append(str(error))
        return cluster
    _tell_failures(measured.measurement.failures, reached, missed)
    return measured.cluster if measured.measured else cluster


def _with_transfers(
    request: ProbeRequest,
    cluster: Cluster,
    reached: Reached,
    progress: ProgressListener,
    missed: list[str],
) -> Cluster:
    """Measure links and uplinks; return the cluster with the rates, unchanged if that fails."""
    # An uplink or a pair's bandwidth that is known would not be measured again.
    bare = replace(cluster, uplinks=None, bandwidth=None)
    try:
        options = resume_options(
            cluster, "", UplinkOptions.tool, {"groups": cluster.groups}
        ).options
        onward = replace(request, options=options, earlier=bare)
        uplinks = measure_uplinks(onward, reached, progress).measurement
        _tell_failures(uplinks.failures, reached, missed)
        if not uplinks.uplinks and not uplinks.links:
            return cluster
        lacking = len(cluster.groups) - sum(each.is_whole for each in uplinks.uplinks)
        if lacking:
            count = f"{lacking} of {format_count(len(cluster.groups), 'group')}"
            missed.append(f"uplinks of {count} were not measured both ways")
        return measure_both_directions(onward, replace(cluster, uplinks=uplinks), reached, progress)
    except PlinkError as error:
        missed.append(str(error))
        return cluster


def _tell_failures(failures: Sequence[Failure], reached: Reached, missed: list[str]) -> None:
    """Append to `missed` the first failed measurement and how many others failed."""
    unreached = {error.host for error in reached.failures}
    others = [failure for failure in failures if failure.source not in unreached]
    if others:
        more = f" (and {len(others) - 1} more)" if len(others) > 1 else ""
        missed.append(f"{others[0]}{more}")
