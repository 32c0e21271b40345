"""The hosts of a cluster file as a host list would name them, to be reached again."""

from __future__ import annotations

import sys

from plink.base.errors import WrongUseError
from plink.files.cluster import Cluster, Host, Unreachable
from probes.hosts.host import ListedHost


def as_listed(host: Host, place: str) -> ListedHost:
    """How `place`, the file that has it, lists a host."""
    return ListedHost(
        host.name,
        user=host.user,
        port=host.port,
        slots=host.slots,
        ssh_address=host.ssh_address,
        place=place,
    )


def hosts_of(cluster: Cluster, source: str) -> list[ListedHost]:
    """The hosts of an earlier run as they were listed, the unreachable ones included.

    Raises:
        WrongUseError: there are fewer than two.
    """
    listed = [as_listed(host, source) for host in cluster.hosts]
    missed = {host.source: host for host in cluster.unreachable if host.source not in cluster.names}
    # Ascending, so that the hosts listed before are there already; those without a place come last.
    for host in sorted(missed.values(), key=_place):
        again = ListedHost(
            host.source, user=host.user, port=host.port, slots=host.slots, place=source
        )
        listed.insert(_place(host), again)
    if len(listed) < 2:
        hint = "give a list of hosts that has others, too"
        raise WrongUseError(f"{source}: has one host, and probing needs at least two", hint)
    return listed


def _place(host: Unreachable) -> int:
    return sys.maxsize if host.position is None else host.position
