"""Prober of `plink autotune serve`, built from its options."""

from __future__ import annotations

from collections.abc import Iterable

from plink.autotune.reprobing.prober import Prober
from plink.base.errors import WrongUseError
from plink.cli.stderr import warn
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files.cluster import Cluster
from plink.files.hosts import Host
from plink.files.plan import Plan
from plink.measure.listed import HostList, apply_recorded_way, read_hosts
from plink.measure.probing.request import resume_options
from plink.measure.probing.tools import TOOLS
from plink.probes.reach import Outgoing


def build_prober(
    cluster: str | None,
    hosts: str | None,
    output: str | None,
    way: Outgoing,
    plans: Iterable[Plan],
    *,
    is_ssh_said: bool = False,
) -> Prober | None:
    """Return the prober; None if no option says how to reach hosts.

    Args:
        cluster: the cluster file.
        hosts: or else the host list.
        output: where the renewed cluster file goes.
        way: how hosts are reached.
        plans: plans of the jobs, whose hosts have to be there.
        is_ssh_said: whether that is SSH, whatever the host list knows.

    Raises:
        WrongUseError: options that do not go together, or a file that is not valid.
        PlinkError: a host of a plan is missing there.
    """
    if cluster is not None and hosts is not None:
        raise WrongUseError("--cluster and --hosts exclude each other")
    if cluster is None and hosts is None:
        if output is not None:
            raise WrongUseError("--output needs --cluster or --hosts", "give --cluster FILE")
        return None
    output = output or cluster
    if output is not None:
        document.check_writable(output, has_matrices=True)
    if cluster is not None:
        known, source = _read(cluster), document.label(cluster)
        way = apply_recorded_way(way, known.way, source)
    else:
        listed = read_hosts(hosts or "")
        known, source = _cluster_of(listed), document.label(hosts or "")
        if any(host.connect_to or host.ssh_options for host in listed.hosts):
            raise WrongUseError(
                f"{source}: contains addresses or SSH options, which --hosts cannot use",
                f"plink probe {source} -o cluster.json, then --cluster cluster.json",
            )
        way = listed.way(way, is_ssh_said=is_ssh_said)
        for text in listed.notes:
            warn(text)
    prober = Prober(known, source, output, way)
    for plan in plans:
        prober.check(plan)
    return prober


def _read(path: str) -> Cluster:
    if path == document.STANDARD_STREAM:
        raise WrongUseError("--cluster cannot be standard input, as the file is updated")
    known = cluster_file.read_cluster(path)
    if known.rtt is not None and known.rtt.tool in TOOLS:
        resume_options(known, path, known.rtt.tool, {})
    return known


def _cluster_of(listed: HostList) -> Cluster:
    return Cluster(
        [
            Host(host.name, host.name, None, host.user, host.port, host.slots)
            for host in listed.hosts
        ]
    )
