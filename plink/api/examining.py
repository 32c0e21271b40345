"""What `diagnose` measures on hosts: their condition, and what a cluster lacks, within a time."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from plink.base.errors import PlinkError
from plink.base.progress import Progress
from plink.files.cluster import Cluster
from plink.measure.listed import hosts_of
from plink.measure.probing.both_ways import with_both_ways
from plink.measure.probing.conditions import ask_conditions
from plink.measure.probing.request import ProbeRequest, connected
from plink.measure.probing.resume import carried_over, moved_hosts
from plink.measure.probing.run import measure_pairs
from plink.measure.probing.tools.round_trips import EchoOptions
from plink.measure.probing.tools.transfers import UplinkOptions
from plink.measure.probing.uplinks import measure_uplinks
from plink.optimize.groups.finding import GroupRequest, find_groups, with_groups
from plink.probes.reach import Reached, Way


def examine(
    cluster: Cluster,
    way: Way,
    progress: Progress,
    *,
    source: str,
    transfers_s: float,
    timeout_s: float = 2.0,
) -> tuple[Cluster, list[str]]:
    """Ask all hosts for their condition, and measure round trips, groups and uplinks if missing.

    Args:
        cluster: of hosts that can be reached; what it holds is kept, but for earlier conditions.
        way: how they are reached.
        progress: told how far it is.
        source: what errors call the cluster's file.
        transfers_s: seconds after which no transfer is begun; 0 for none.
        timeout_s: seconds of silence after which a host is given up.

    Returns:
        the cluster with what was learnt, and what could not be, a sentence each.

    Raises:
        PlinkError: fewer than two hosts can be reached.
    """
    deadline = _Deadline()
    request = ProbeRequest(
        hosts_of(cluster, source),
        options=EchoOptions(),
        timeout_s=timeout_s,
        way=way,
        earlier=cluster,
        left_s=deadline.left_s,
    )
    missed: list[str] = []
    with connected(request, progress) as reached:
        missed += [f"{error.host}: {error}" for error in reached.failures]
        found = _present(cluster, reached)
        conditions = ask_conditions(reached, progress, way.concurrency)
        missed += [f"{failure.source}: {failure.reason}" for failure in conditions.failures]
        found = replace(found, conditions=conditions)
        if found.rtt is None:
            measured = measure_pairs(replace(request, earlier=found), reached, progress)
            found = replace(measured.cluster, conditions=conditions)
        if not found.groups and found.grouping is None:
            found = with_groups(found, find_groups(found, GroupRequest()))
        deadline.begin(transfers_s)
        if len(found.groups) > 1 and transfers_s > 0.0:
            found = _with_transfers(request, found, reached, progress, missed)
    return found, missed


class _Deadline:
    """How many seconds are left, from `begin` on; before that, any number."""

    def __init__(self) -> None:
        self._until_s = math.inf

    def begin(self, seconds: float) -> None:
        self._until_s = time.monotonic() + seconds

    def left_s(self) -> float:
        return self._until_s - time.monotonic()


def _present(cluster: Cluster, reached: Reached) -> Cluster:
    """The cluster with its hosts' addresses of now; readings at other ones are dropped."""
    here = {host.name: host.address for host in reached.hosts}
    hosts = [replace(host, address=here.get(host.name, host.address)) for host in cluster.hosts]
    moved = moved_hosts(hosts, cluster)
    if not moved:
        return replace(cluster, hosts=hosts)
    return replace(carried_over(hosts, cluster, moved), made_from=cluster.made_from)


def _with_transfers(
    request: ProbeRequest,
    cluster: Cluster,
    reached: Reached,
    progress: Progress,
    missed: list[str],
) -> Cluster:
    onward = replace(request, options=UplinkOptions(groups=cluster.groups), earlier=cluster)
    found = cluster
    try:
        if cluster.uplinks is None:
            measured = measure_uplinks(onward, reached, progress)
            found = replace(measured.cluster, conditions=cluster.conditions)
        return with_both_ways(onward, found, reached, progress)
    except PlinkError as error:
        missed.append(str(error))
        return found
