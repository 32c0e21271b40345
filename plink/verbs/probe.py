"""`plink.probe`: measurement of hosts into a cluster."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal

from plink.base.arguments import MAX_SEED, check_choice, nearest, number, whole
from plink.base.errors import PlinkError, WrongUseError
from plink.base.progress import OnProgress
from plink.base.text import brief, format_count
from plink.files import cluster as cluster_file
from plink.files.hosts import Group
from plink.files.measurements import Failure
from plink.measure.listed import HostList, apply_recorded_way, list_again, read_hosts
from plink.measure.probing import run
from plink.measure.probing.limits import (
    ALL_ROUNDS,
    DIRECTIONS,
    FOLLOWED_ROUNDS,
    MAX_COUNT,
    MAX_DURATION_S,
    MAX_PASSES,
    MAX_STREAMS,
)
from plink.measure.probing.request import ProbeRequest, resume_options
from plink.measure.probing.tools import TOOLS, UPLINKS
from plink.measure.probing.uplinks import UplinkResult
from plink.optimize.groups.certainty import stop_when_groups_are_certain
from plink.probes.inventories.kinds import parse_hosts
from plink.probes.options import SSH, SshOptions, ViaOptions
from plink.probes.reach import Outgoing
from plink.verbs.cluster import MeasuredCluster
from plink.verbs.errors import ProbeInterrupted, plinks_errors
from plink.verbs.objects import PathName, copy_as
from plink.verbs.progress import CallbackProgress
from plink.verbs.warning import warn

_SOURCE = "the cluster"

_MOST_NAMED = 3

_WHOLE = {
    "count": (1, MAX_COUNT),
    "passes": (1, MAX_PASSES),
    "duration_s": (1, MAX_DURATION_S),
    "streams": (1, MAX_STREAMS),
    "port": (0, 65_535),
    "max_hops": (1, 255),
}
_PERCENT = ("precision_percent", "percentile")


def probe(
    hosts: Sequence[str] | PathName | MeasuredCluster,
    *,
    tool: str = "echo",
    rounds: int | Literal["auto"] | None = None,
    seed: int | None = None,
    timeout_s: float = 2.0,
    concurrency: int | None = None,
    strict: bool = False,
    network: str | None = None,
    interface: str | None = None,
    ssh: SshOptions | None = None,
    via: str | None = None,
    progress: OnProgress | None = None,
    **options: Any,
) -> MeasuredCluster:
    """Measure the pairs of some hosts in both directions.

    Hosts and pairs that could not be measured are warned of (`plink.PlinkWarning`); the result
    names them.

    Args:
        hosts: as lines of a host list, such as `["user@n1", "gpu[01-16] slots=8"]`; the path of a
            host list; `@slurm` for the hosts of this Slurm job, `slurm:JOB`,
            `k8s:NAMESPACE/SELECTOR` and others for those that another program knows
            (`docs/probe.md`, Host lists); or a cluster, of which then only what it lacks is
            measured, and what it holds is kept.
        tool: round-trip times: `echo`, `dpdk` or `fping`; bandwidth: `iperf3`, and `uplinks` of
            groups; routes: `trace`.
        rounds: of the tournament to go through, so many partners for every host; `auto` for the
            pairs of a large cluster that show its groups; None for all.
        seed: decides which rounds, where not all are asked for; None for 0, or as before.
        timeout_s: seconds of silence after which a host is given up.
        concurrency: pairs in flight; None to choose by what the hosts share.
        strict: fail if a host cannot be reached, instead of going on without it.
        network, interface: which of a host's addresses to use: those in a network such as
            `10.0.0.0/16`, or those of the interface of that name.
        ssh: how hosts are reached; None for the user's own SSH configuration.
        via: a command that leads into a host, in place of SSH, as in
            `kubectl exec -i {host} --`; None for SSH, or for what the host list says; `ssh` for
            SSH whatever it says.
        progress: called at every step, by any thread.
        options: options of the tool (`docs/probe.md`): of round-trip times `count`, `passes`,
            `precision_percent` and `percentile`; of transfers `duration_s`, `streams`,
            `congestion`, and of uplinks `groups`, by default the cluster's.

    Raises:
        WrongUseError: an argument that cannot be, or a cluster that was measured otherwise.
        PlinkError: fewer than two hosts can be reached, or nothing could be measured.
        ProbeInterrupted: the user stopped it; it has what was measured.
    """
    check_choice("tool", tool, TOOLS)
    number("timeout_s", timeout_s, 0.05, 600.0)
    whole("concurrency", concurrency, 1, 1 << 16)
    whole("seed", seed, 0, MAX_SEED)
    if rounds != "auto":
        whole("rounds", rounds, 2, ALL_ROUNDS)
    rounds = FOLLOWED_ROUNDS if rounds == "auto" else rounds
    within = None if network is None else _network(network)
    results: list[run.ProbeResult | UplinkResult] = []
    with plinks_errors():
        listed = _resolve_hosts(hosts)
        earlier = hosts if isinstance(hosts, cluster_file.Cluster) else None
        if tool == UPLINKS.name and earlier is not None:
            options = {"groups": earlier.groups, **options}
        given = tool_options(tool, options)
        how = resume_options(
            earlier,
            _SOURCE,
            tool,
            given,
            network=within,
            interface=interface,
            rounds=rounds,
            seed=seed,
        )
        request = ProbeRequest(
            listed.hosts,
            listed.made_from,
            timeout_s=timeout_s,
            concurrency=concurrency,
            strict=strict,
            way=_way(listed, earlier, build_way(ssh, via), is_ssh_said=via == SSH),
            earlier=earlier,
            **vars(how),
        )
        try:
            run.probe(
                request, CallbackProgress(progress), results.append, stop_when_groups_are_certain()
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
        what = "group" if isinstance(found, UplinkResult) else "pair of hosts"
        reason = str(failures[0]) if failures else None
        raise PlinkError(f"no {what} could be measured", reason)
    for text in gaps(cluster.unreachable, failures):
        warn(text)
    for doubt in () if isinstance(found, UplinkResult) else found.warnings:
        warn(doubt)
    return cluster


def _way(
    listed: HostList, earlier: cluster_file.Cluster | None, given: Outgoing, *, is_ssh_said: bool
) -> Outgoing:
    if earlier is not None:
        given = apply_recorded_way(given, earlier.way, _SOURCE)
    for text in listed.notes:
        warn(text)
    return listed.way(given, is_ssh_said=is_ssh_said)


def _resolve_hosts(hosts: Sequence[str] | PathName | MeasuredCluster) -> HostList:
    """Return the hosts to measure: from a list, a file, an inventory or an earlier cluster."""
    if isinstance(hosts, cluster_file.Cluster):
        return HostList(list_again(hosts, _SOURCE), hosts.made_from)
    if isinstance(hosts, str | os.PathLike):
        return read_hosts(os.fspath(hosts))
    lines = list(hosts)
    if not all(isinstance(line, str) for line in lines):
        raise WrongUseError(
            "hosts is not a list of host names", "give names, a host list's path, or a cluster"
        )
    return HostList(parse_hosts("\n".join(lines).encode(), "hosts"))


def _network(network: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(str(network), strict=False)
    except ValueError:
        raise WrongUseError(
            f"network is {brief(network)}, expected a network such as 10.0.0.0/16"
        ) from None


def tool_options(tool: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's options, checked, from keyword arguments that are not None.

    Raises:
        WrongUseError: the tool does not take one of them, or not with that value.
    """
    known = {item.name for item in fields(TOOLS[tool].options)}
    for name, value in options.items():
        if name not in known:
            raise WrongUseError(f"the tool {tool} takes no option {name!r}", nearest(name, known))
        if name in _WHOLE:
            whole(name, value, *_WHOLE[name])
        if name in _PERCENT:
            number(name, value, 0.0, 100.0)
    if "direction" in options:
        check_choice("direction", options["direction"], DIRECTIONS)
    given = {name: value for name, value in options.items() if value is not None}
    return {**given, "groups": _groups(given["groups"])} if "groups" in given else given


def _groups(groups: Mapping[str, Sequence[str]] | Sequence[Group]) -> list[Group]:
    if isinstance(groups, str):
        raise WrongUseError(
            f"groups is {brief(groups)}, expected groups or a mapping of names to hosts"
        )
    if isinstance(groups, Mapping):
        for name, hosts in groups.items():
            if isinstance(hosts, str):
                raise WrongUseError(
                    f"groups: {brief(name)} is {brief(hosts)}, expected a list of host names"
                )
        return [Group(name, list(hosts)) for name, hosts in groups.items()]
    return list(groups)


def gaps(unreachable: Sequence[Failure], failures: Sequence[Failure]) -> list[str]:
    """Return a sentence for each unmeasured host and for the first unmeasured pairs."""
    hosts = [each for each in [*unreachable, *failures] if each.destination is None]
    pairs = [each for each in failures if each.destination is not None]
    texts = [str(each) for each in [*hosts, *pairs[:_MOST_NAMED]]]
    if len(pairs) > _MOST_NAMED:
        more = format_count(len(pairs) - _MOST_NAMED, "more directed pair")
        texts.append(f"{more} could not be measured")
    return texts


def build_way(ssh: SshOptions | None, via: str | None) -> Outgoing:
    """Return how to reach hosts: over SSH, or by a command.

    Raises:
        WrongUseError: both are given.
    """
    if via is None or (via == SSH and ssh is None):
        return ssh or SshOptions()
    if ssh is not None:
        raise WrongUseError("ssh and via exclude each other", "give one of them")
    return ViaOptions(via)
