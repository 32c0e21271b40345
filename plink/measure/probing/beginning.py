"""What a run begins with: its cluster as an earlier run left it, with the hosts as they are now."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from plink.files.cluster import Cluster, Host, Unreachable
from plink.files.measurement import Failure
from plink.measure.probing.keeping import kept_cluster
from plink.measure.probing.request import ProbeRequest
from plink.measure.probing.resume import kept_hosts, moved_hosts
from probes.reach import Reached, ReachedHost


@dataclass(frozen=True)
class Beginning:
    """What is known before anything is measured.

    Args:
        cluster: the hosts that were reached now or measured earlier, and what is kept of that.
        absent: those of them that could not be reached now.
        moves: what a reader should know of hosts at other addresses than before.
    """

    cluster: Cluster
    absent: Sequence[Failure]
    moves: Sequence[str]


def begin(request: ProbeRequest, reached: Reached) -> Beginning:
    """What a run of these hosts begins with."""
    present = {host.name: _to_host(host) for host in reached.hosts}
    hosts = kept_hosts(request.hosts, present, request.earlier)
    moved = moved_hosts(hosts, request.earlier)
    names = {host.name for host in hosts}
    cluster = replace(
        kept_cluster(hosts, request.earlier, moved),
        unreachable=_unreachable(request, reached, names),
        made_from=request.made_from,
    )
    return Beginning(cluster, _absent(reached, names), _moves(hosts, moved))


def _to_host(reached: ReachedHost) -> Host:
    """A host as a cluster file has it."""
    return Host(
        name=reached.name,
        address=reached.address,
        ssh_address=reached.target.hostname,
        user=reached.listed.user,
        port=reached.listed.port,
        slots=reached.listed.slots,
    )


def _absent(reached: Reached, kept: Container[str]) -> list[Failure]:
    """Hosts that an earlier run knows and this one could not reach."""
    return [
        Failure(error.host, f"{error} (what was measured earlier is kept)")
        for error in reached.failures
        if error.host in kept
    ]


def _unreachable(
    request: ProbeRequest, reached: Reached, kept: Container[str]
) -> list[Unreachable]:
    """The listed hosts that were not reached and have no entry."""
    reasons = {error.host: str(error) for error in reached.failures if error.host not in kept}
    return [
        Unreachable(
            host.name,
            reasons[host.name],
            user=host.user,
            port=host.port,
            slots=host.slots,
            position=position,
        )
        for position, host in enumerate(request.hosts)
        if host.name in reasons
    ]


def _moves(hosts: Sequence[Host], moved: Mapping[str, str]) -> list[str]:
    """What a reader should know of hosts at other addresses than before."""
    return [
        f"{host.name} had the address {moved[host.name]} and now has {host.address}: "
        "its earlier readings are dropped"
        for host in hosts
        if host.name in moved
    ]
