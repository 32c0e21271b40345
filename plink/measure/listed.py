"""The hosts of a run, as a user lists them or as a cluster file of an earlier run has them."""

from __future__ import annotations

import os
import sys

from plink.base.errors import WrongUseError
from plink.files import document
from plink.files.cluster import Cluster, Host, Unreachable
from plink.probes.hosts.host import ListedHost
from plink.probes.hosts.hostlist import check_host
from plink.probes.hosts.slurm import parse_allocation
from plink.probes.hosts.source import parse_hosts

# In place of a host list: the hosts of the Slurm job that plink runs in.
_ALLOCATION = "@slurm"


def read_hosts(path: str) -> tuple[list[ListedHost], str | None]:
    """The hosts of a host list, and the hash of its file.

    Args:
        path: of the list; `@slurm` stands for the hosts of this Slurm job, which have no hash.

    Raises:
        WrongUseError: the file cannot be read, or is one that plink wrote.
        HostListError: it is no host list, or there is no Slurm job.
    """
    if path == _ALLOCATION:
        return parse_allocation(os.environ), None
    content = document.read_bytes(path, document.MOST_LIST_BYTES)
    source = document.label(path)
    if content.lstrip().startswith(b"{") and b'"plink.' in content:
        raise WrongUseError(
            f"{source}: is JSON, not a host list",
            "plink probe resumes a cluster file, and plink check compares with one",
        )
    return parse_hosts(content, source), document.digest(content)


def as_listed(host: Host, place: str) -> ListedHost:
    """How `place`, the file that has it, lists a host.

    Raises:
        HostListError: no host list could name such a host.
    """
    listed = ListedHost(
        host.name,
        user=host.user,
        port=host.port,
        slots=host.slots,
        ssh_address=host.ssh_address,
        place=place,
    )
    check_host(listed)
    return listed


def hosts_of(cluster: Cluster, source: str) -> list[ListedHost]:
    """The hosts of an earlier run as they were listed, the unreachable ones included.

    Raises:
        WrongUseError: there are fewer than two.
        HostListError: as `as_listed`.
    """
    listed = [as_listed(host, source) for host in cluster.hosts]
    missed = {host.source: host for host in cluster.unreachable if host.source not in cluster.names}
    # Ascending, so that the hosts listed before are there already; those without a place come last.
    for host in sorted(missed.values(), key=_place):
        named = Host(host.source, host.source, None, host.user, host.port, host.slots)
        again = as_listed(named, source)
        listed.insert(_place(host), again)
    if len(listed) < 2:
        hint = "give a list of hosts that has others, too"
        raise WrongUseError(f"{source}: has one host, and probing needs at least two", hint)
    return listed


def _place(host: Unreachable) -> int:
    return sys.maxsize if host.position is None else host.position
