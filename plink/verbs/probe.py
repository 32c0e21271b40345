"""`plink.probe` and `plink probe`: measurement of hosts into a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.arguments import check_instance
from plink.base.errors import PlinkError, WrongUseError
from plink.base.interrupts import defer_interrupts
from plink.base.progress import ProgressListener
from plink.base.replacing import replace
from plink.base.request import keyword_function
from plink.base.text import MOST_NAMED, brief, format_count
from plink.formats import cluster as cluster_file
from plink.formats.hosts import Group
from plink.formats.measurements import Failure
from plink.measure.listed import HostList, apply_recorded_way, list_again, read_hosts
from plink.measure.probing import run
from plink.measure.probing.group_list import read_groups
from plink.measure.probing.request import ProbeRequest, connect_hosts, resume_options
from plink.measure.probing.tools import UplinkOptions
from plink.measure.probing.uplinks import UplinkResult, measure_uplinks
from plink.measure.requests import CheckRequest, DiagnosisRequest, MeasurementRequest
from plink.optimize.groups.certainty import stop_when_groups_are_certain
from plink.optimize.groups.finding import FoundGroups, find_groups, with_groups
from plink.optimize.groups.request import GroupRequest
from plink.probes.inventories.kinds import parse_hosts
from plink.probes.options import SSH, SshOptions, ViaOptions
from plink.probes.reach import Outgoing, Way
from plink.verbs.cluster import MeasuredCluster
from plink.verbs.common import CallbackProgress, PathName, copy_as, translate_errors, warn

_SOURCE = "the cluster"


class ProbeInterrupted(KeyboardInterrupt):
    """Error that the user stopped a probe; its `cluster` holds the measurements so far."""

    def __init__(self, cluster: MeasuredCluster) -> None:
        super().__init__("interrupted; the exception's cluster has what was measured")
        self.cluster = cluster


def build_probe_request(
    request: MeasurementRequest,
    hosts: HostList,
    way: Way,
    *,
    earlier: cluster_file.Cluster | None,
    source: str,
    listed_in: str,
    tool: str | None = None,
) -> ProbeRequest:
    """Build the request to measure a list's hosts, or only what an earlier cluster lacks.

    Args:
        request: what is asked for.
        hosts: hosts to measure.
        way: how they are reached.
        earlier: cluster to continue; None to begin.
        source: what messages call the earlier cluster.
        listed_in: what messages call the list of hosts.
        tool: tool that measures; None for the one that is asked for.

    Raises:
        WrongUseError: the cluster was measured otherwise, or groups are missing.
    """
    tool = tool or request.tool
    given = request.tool_options(tool)
    if tool == UplinkOptions.tool:
        names = {host.name for host in hosts.hosts}
        given["groups"] = _choose_groups(request.groups, earlier, names, listed_in)
    settings = resume_options(
        earlier,
        source,
        tool,
        given,
        network=request.ip_network,
        interface=request.interface,
        rounds=request.round_count,
        seed=request.seed,
    )
    return ProbeRequest(
        hosts.hosts,
        hosts.made_from,
        timeout_s=request.timeout_s,
        concurrency=request.concurrency,
        strict=request.strict,
        way=way,
        earlier=earlier,
        **vars(settings),
    )


def measure_hosts(
    hosts: Sequence[str] | PathName | MeasuredCluster, request: MeasurementRequest
) -> MeasuredCluster:
    """Measure every pair of some hosts in both directions, and return the cluster.

    Hosts and pairs that could not be measured are warned of (`plink.PlinkWarning`); the result
    names them.

    Args:
        hosts: as lines of a host list, such as `["user@n1", "gpu[01-16] slots=8"]`; the path of a
            host list; `@slurm` for the hosts of this Slurm job, `slurm:JOB`,
            `k8s:NAMESPACE/SELECTOR` and others for those that another program knows
            (`docs/probe.md`, Host lists); or a cluster, of which then only what it lacks is
            measured, and what it holds is kept.
        request: what is asked for.

    Raises:
        WrongUseError: an argument is not allowed, or the cluster was measured otherwise.
        PlinkError: fewer than two hosts can be reached, or nothing could be measured.
        ProbeInterrupted: the user stopped it; it has what was measured.
    """
    request.refuse_unused(request.tool, f"not {request.tool}")
    listed = _resolve_hosts(hosts)
    earlier = hosts if isinstance(hosts, cluster_file.Cluster) else None
    way = build_way(request)
    if earlier is not None:
        way = apply_recorded_way(way, earlier.way, _SOURCE)
    for text in listed.notes:
        warn(text, stacklevel=4)
    probe_request = build_probe_request(
        request,
        listed,
        listed.way(way, is_ssh_said=request.via == SSH),
        earlier=earlier,
        source=_SOURCE,
        listed_in="hosts",
    )
    results: list[run.ProbeResult | UplinkResult] = []
    try:
        run.probe(
            probe_request,
            CallbackProgress(request.progress),
            results.append,
            stop_when_groups_are_certain(),
        )
    except KeyboardInterrupt:
        if not results:
            raise
        raise ProbeInterrupted(copy_as(MeasuredCluster, results[0].cluster)) from None
    (found,) = results
    cluster = copy_as(MeasuredCluster, found.cluster)
    if found.interrupted:
        raise ProbeInterrupted(cluster)
    failures = found.measurement.failures
    if found.measured == 0:
        group_or_pair = "group" if isinstance(found, UplinkResult) else "pair of hosts"
        reason = str(failures[0]) if failures else None
        raise PlinkError(f"no {group_or_pair} could be measured", reason)
    for text in gaps(cluster.unreachable, failures):
        warn(text, stacklevel=4)
    for doubt in found.warnings:
        warn(doubt, stacklevel=4)
    return cluster


probe = keyword_function("probe", measure_hosts, MeasurementRequest, within=translate_errors)


def _resolve_hosts(hosts: Sequence[str] | PathName | MeasuredCluster) -> HostList:
    """Return the hosts to measure: from a list, a file, an inventory or an earlier cluster."""
    if isinstance(hosts, cluster_file.Cluster):
        return HostList(list_again(hosts, _SOURCE), made_from=hosts.made_from)
    if isinstance(hosts, str | os.PathLike):
        return read_hosts(os.fspath(hosts))
    lines = list(hosts) if isinstance(hosts, Iterable) else [hosts]
    if not all(isinstance(line, str) for line in lines):
        raise WrongUseError(
            "hosts must be a list of host names", "give names, a host list's path, or a cluster"
        )
    return HostList(parse_hosts("\n".join(lines).encode(), "hosts"))


def _choose_groups(
    groups: str | Mapping[str, Sequence[str]] | Sequence[Group] | None,
    earlier: cluster_file.Cluster | None,
    names: set[str],
    listed_in: str,
) -> list[Group]:
    """Return the groups whose uplinks to measure: the argument's, or an earlier cluster's."""
    if groups is None:
        found = [] if earlier is None else list(earlier.groups)
    elif isinstance(groups, str):
        found = read_groups(groups, names, listed_in)
    elif isinstance(groups, Mapping):
        for name, hosts in groups.items():
            if isinstance(hosts, str) or not isinstance(hosts, Sequence):
                raise WrongUseError(
                    f"groups: {brief(name)} is {brief(hosts)}, expected a list of host names"
                )
        found = [Group(name, list(hosts)) for name, hosts in groups.items()]
    elif isinstance(groups, Sequence) and all(isinstance(each, Group) for each in groups):
        found = [each for each in groups if isinstance(each, Group)]
    else:
        raise WrongUseError(
            f"{{groups}} is {brief(groups)}, expected a file, groups, or a mapping of names to "
            "hosts",
            arguments={"groups": None},
        )
    if not found:
        raise WrongUseError(
            "measuring uplinks needs groups of hosts, which uplinks join",
            "give {groups}, a file with a line NAME: HOSTS each, or find them with plink group "
            "CLUSTER",
            arguments={"groups": groups},
        )
    return found


def gaps(unreachable: Sequence[Failure], failures: Sequence[Failure]) -> list[str]:
    """Return a sentence on each unmeasured host, the first unmeasured pairs, and the rest."""
    hosts = [each for each in [*unreachable, *failures] if each.destination is None]
    pairs = [each for each in failures if each.destination is not None]
    texts = [str(each) for each in [*hosts, *pairs[:MOST_NAMED]]]
    if len(pairs) > MOST_NAMED:
        more = format_count(len(pairs) - MOST_NAMED, "more directed pair")
        texts.append(f"{more} could not be measured")
    return texts


def build_way(request: MeasurementRequest | CheckRequest | DiagnosisRequest) -> Outgoing:
    """Return the settings for reaching hosts: over SSH, or by the command template `via`.

    Raises:
        WrongUseError: both are given, or one is of another type.
    """
    ssh, via = request.ssh, request.via
    check_instance("ssh", ssh, (SshOptions, type(None)), "SshOptions")
    check_instance("via", via, (str, type(None)), "a text")
    if via is None or (via == SSH and ssh is None):
        return ssh or SshOptions()
    if ssh is not None:
        raise WrongUseError("ssh and via exclude each other", "give one of them")
    return ViaOptions(via)


@dataclass(frozen=True)
class GroupsResult:
    """Cluster with its groups, found after round-trip times were measured or kept from before.

    Args:
        cluster: what to write.
        found: the groups in it, or None where those of an earlier run were kept.
    """

    cluster: cluster_file.Cluster
    found: FoundGroups | None

    @property
    def has_uplinks(self) -> bool:
        """Whether there are at least two groups, between which uplinks exist."""
        return len(self.cluster.groups) > 1


StageResult = run.ProbeResult | GroupsResult | UplinkResult


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
        policy = stop_when_groups_are_certain()
        pairs = run.measure_pairs(request, reached, progress, on_result, policy)
        if pairs.interrupted:
            return
        progress.stage("finding groups", 1)
        if request.earlier is not None and _groups_hold(pairs.cluster, request.earlier):
            grouped = GroupsResult(pairs.cluster, None)
        else:
            found = find_groups(pairs.cluster, GroupRequest())
            grouped = GroupsResult(with_groups(pairs.cluster, found), found)
        with defer_interrupts():
            on_result(grouped)
        if grouped.has_uplinks:
            onward = replace(
                request,
                options=replace(uplinks, groups=grouped.cluster.groups),
                earlier=grouped.cluster,
            )
            measure_uplinks(onward, reached, progress, on_result)


def _groups_hold(cluster: cluster_file.Cluster, earlier: cluster_file.Cluster) -> bool:
    """Return whether an earlier cluster's groups (or none) still hold, as readings are the same."""
    if earlier.grouping is None:
        return bool(earlier.groups) and list(cluster.groups) == list(earlier.groups)
    if cluster.rtt is None or earlier.rtt is None or cluster.names != earlier.names:
        return False
    return np.array_equal(cluster.rtt.readings_us, earlier.rtt.readings_us, equal_nan=True)
