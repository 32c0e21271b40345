"""The options of `plink autotune` that say how hosts are probed again, as what does it."""

from __future__ import annotations

from collections.abc import Iterable

from plink.autotune.reprobing.prober import Prober
from plink.base.errors import WrongUseError
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files.cluster import Cluster, Host
from plink.files.plan import Plan
from plink.measure.probing.resume_options import resumed
from plink.measure.probing.tools import TOOLS
from probes.hosts.source import parse_hosts
from probes.ssh.options import SshOptions


def prober_of(
    cluster: str | None,
    hosts: str | None,
    output: str | None,
    ssh: SshOptions,
    plans: Iterable[Plan],
) -> Prober | None:
    """What probes hosts again; None where nobody said how they are reached.

    Args:
        cluster: the cluster file.
        hosts: or else the host list.
        output: where the renewed cluster file goes.
        ssh: how hosts are reached.
        plans: of the jobs, whose hosts have to be there.

    Raises:
        WrongUseError: options, or a file, that cannot be.
        PlinkError: a host of a plan is not there.
    """
    if cluster is not None and hosts is not None:
        raise WrongUseError("--cluster and --hosts are one or the other")
    if cluster is None and hosts is None:
        if output is not None:
            raise WrongUseError("--output is for what is measured again", "give --cluster FILE")
        return None
    output = output or cluster
    if output is not None:
        document.check_writable(output)
    if cluster is not None:
        known, source = _read(cluster), document.label(cluster)
    else:
        known, source = _listed(hosts or ""), document.label(hosts or "")
    prober = Prober(known, source, output, ssh)
    for plan in plans:
        prober.check(plan)
    return prober


def _read(path: str) -> Cluster:
    if path == document.STANDARD_STREAM:
        raise WrongUseError("--cluster is renewed, and standard input cannot be")
    known = cluster_file.read(path)
    if known.rtt is not None and known.rtt.tool in TOOLS:
        resumed(known, path, known.rtt.tool, {})
    return known


def _listed(path: str) -> Cluster:
    listed = parse_hosts(document.read_bytes(path), document.label(path))
    return Cluster(
        [Host(host.name, host.name, None, host.user, host.port, host.slots) for host in listed]
    )
