"""Measurement of whether groups' uplinks carry full rate in both directions at once."""

from __future__ import annotations

from plink.base.progress import ProgressListener
from plink.base.replacing import replace
from plink.files.cluster import Cluster
from plink.measure.probing.request import ProbeRequest
from plink.probes.options import Iperf3Options
from plink.probes.reach import Reached
from plink.probes.uplinks.simultaneous import SimultaneousTransfers
from plink.probes.uplinks.tool import measure_both_ways

_DURATION_S = 1
# Of what a group sends and receives, each alone: less may be other work's doing.
_ENOUGH = 0.9


def with_both_ways(
    request: ProbeRequest, cluster: Cluster, reached: Reached, progress: ProgressListener
) -> Cluster:
    """Return the cluster with the rates of uplinks loaded in both directions at once.

    A group whose transfers fail stays as it is.
    """
    if cluster.uplinks is None:
        return cluster
    places = {host.name: place for place, host in enumerate(reached.hosts)}
    members = {
        group.name: [places[name] for name in group.hosts if name in places]
        for group in cluster.groups
    }
    present = {name: hosts for name, hosts in members.items() if hosts}
    wanted = {
        each.group: _ENOUGH * ((each.send_gbit_s or 0.0) + (each.receive_gbit_s or 0.0))
        for each in cluster.uplinks.uplinks
        if each.is_whole and each.both_gbit_s is None and each.group in present
    }
    if len(present) < 2 or not wanted:
        return cluster
    found: dict[str, float] = {}
    names = list(present)
    progress.stage("measuring both ways at once", len(wanted))
    with SimultaneousTransfers(
        reached.hosts,
        Iperf3Options(),
        lambda _: None,
        silence_s=request.timeout_s,
        left_s=request.left_s,
        ssh_concurrency=request.way.concurrency,
    ) as transfers:
        for name, enough_gbit_s in wanted.items():
            if request.left_s() <= _DURATION_S:
                break
            groups = [list(filter(transfers.can_take_part, hosts)) for hosts in present.values()]
            if all(groups):
                both = measure_both_ways(
                    transfers, groups, names.index(name), _DURATION_S, enough_gbit_s
                )
                if both is not None:
                    found[name] = both
            progress.step()
    uplinks = [
        replace(each, both_gbit_s=found.get(each.group, each.both_gbit_s))
        for each in cluster.uplinks.uplinks
    ]
    return replace(cluster, uplinks=replace(cluster.uplinks, uplinks=uplinks))
