"""Resuming of an earlier run: what to keep of its cluster file."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.given_way import GivenWay
from plink.base.replacing import replace
from plink.formats.cluster import Cluster, Unreachable
from plink.formats.hosts import Host, is_recordable
from plink.formats.measurements import SAMPLE_OPTIONS, Failure, Measurement, Sample
from plink.measure.probing.collectors import RunRecord
from plink.measure.probing.request import ProbeRequest
from plink.probes.hosts.address import is_address
from plink.probes.hosts.hostlist import ListedHost, is_host_name
from plink.probes.options import SshOptions, ViaOptions
from plink.probes.reach import Reached, ReachedHost, Way


@dataclass(frozen=True)
class ResumeState:
    """Starting state of a run: hosts, earlier readings, and notes on what changed.

    Args:
        cluster: the hosts that were reached now or measured earlier, and what is kept of that.
        absent: hosts of the cluster that could not be reached now.
        moves: what a reader should know of hosts at other addresses than before.
    """

    cluster: Cluster
    absent: Sequence[Failure]
    moves: Sequence[str]


def build_resume_state(request: ProbeRequest, reached: Reached) -> ResumeState:
    """Build a run's starting state: the earlier cluster, if any, with this run's hosts."""
    present = {host.name: _to_host(host) for host in reached.hosts}
    hosts = select_hosts(request.hosts, present, request.earlier)
    moved = find_moved_hosts(hosts, request.earlier)
    names = {host.name for host in hosts}
    cluster = replace(
        carry_over(hosts, request.earlier, moved),
        unreachable=_list_unreachable(request.hosts, reached, names),
        made_from=request.made_from,
        way=_way_as_given(request.way),
    )
    absent = [
        Failure(error.host, f"{error} (what was measured earlier is kept)")
        for error in reached.failures
        if error.host in names
    ]
    moves = [
        f"{host.name} had the address {moved[host.name]} and now has {host.address}: "
        "its earlier readings are dropped"
        for host in hosts
        if host.name in moved
    ]
    return ResumeState(cluster, absent, moves)


def _way_as_given(way: Way) -> GivenWay | None:
    """Return how the hosts were reached, as the file records it."""
    match way:
        case SshOptions():
            # Absolute, so that later commands find the files from any folder.
            config, identity = (
                None if path is None else os.path.abspath(path)  # noqa: PTH100  keeps links and `..`
                for path in (way.config_file, way.identity_file)
            )
            typed = {"config": config, "identity": identity, "user": way.user}
        case ViaOptions():
            typed = {"via": way.template}
        case _:
            return None
    given = GivenWay(**{name: text for name, text in typed.items() if is_recordable(text)})
    return given if given.words() else None


def _to_host(reached: ReachedHost) -> Host:
    """Return a reached host as a cluster file records it."""
    hostname = reached.session.hostname
    return Host(
        name=reached.name,
        address=reached.address,
        # The SSH configuration may call it what is no address but to its proxy command.
        ssh_address=hostname if hostname is not None and is_host_name(hostname) else None,
        user=reached.listed.user,
        port=reached.listed.port,
        slots=reached.listed.slots,
    )


def _list_unreachable(
    listed: Sequence[ListedHost], reached: Reached, kept: Container[str]
) -> list[Unreachable]:
    """Return the listed hosts that were never reached."""
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
        for position, host in enumerate(listed)
        if host.name in reasons
    ]


def select_hosts(
    listed: Sequence[ListedHost], reached: Mapping[str, Host], earlier: Cluster | None
) -> list[Host]:
    """Return the hosts of the cluster to write, in list order: reached now, or measured earlier.

    A host that was not reached and whose address is another's now is not kept.
    """
    taken = {host.address for host in reached.values()}
    known = {} if earlier is None else {host.name: host for host in earlier.hosts}
    hosts = []
    for host in listed:
        if host.name in reached:
            hosts.append(reached[host.name])
        elif host.name in known and known[host.name].address not in taken:
            before = known[host.name]
            hosts.append(replace(before, user=host.user, port=host.port, slots=host.slots))
    return hosts


def find_moved_hosts(hosts: Sequence[Host], earlier: Cluster | None) -> dict[str, str]:
    """Return the hosts whose address changed since an earlier run, by name with the old address.

    A host that has a name for an address, as those of an imported matrix, was never reached, so
    that nothing says that it moved.
    """
    known = () if earlier is None else earlier.hosts
    before = {host.name: host.address for host in known if is_address(host.address)}
    return {
        host.name: before[host.name]
        for host in hosts
        if before.get(host.name, host.address) != host.address
    }


def carry_over(hosts: Sequence[Host], earlier: Cluster | None, moved: Container[str]) -> Cluster:
    """Return a cluster of these hosts with the readings that an earlier cluster has of them.

    Args:
        moved: names of hosts of which nothing is kept: they are at other addresses now. Their
            groups stay, without what is known of their uplinks.
    """
    if earlier is None:
        return Cluster(hosts)
    domains = {host.name: host.domain for host in earlier.hosts}
    hosts = [replace(host, domain=host.domain or domains.get(host.name)) for host in hosts]
    before = {name: index for index, name in enumerate(earlier.names) if name not in moved}
    places = [before.get(host.name) for host in hosts]
    names = {host.name for host in hosts}
    groups = [group for group in earlier.groups if names.issuperset(group.hosts)]
    are_same = not any(name in moved for name in names) and names.issuperset(earlier.names)
    uplinks = earlier.uplinks
    if uplinks is not None:
        still = {group.name for group in groups if not any(name in moved for name in group.hosts)}
        uplinks = replace(
            uplinks,
            uplinks=[known for known in uplinks.uplinks if known.group in still],
            links=[link for link in uplinks.links if link.host in before.keys() & names],
        )
    return Cluster(
        hosts,
        rtt=None if earlier.rtt is None else earlier.rtt.for_hosts(places),
        bandwidth=None if earlier.bandwidth is None else earlier.bandwidth.for_hosts(places),
        routes=None if earlier.routes is None else earlier.routes.for_hosts(places),
        groups=groups,
        uplinks=uplinks,
        grouping=earlier.grouping if are_same else None,
    )


def repeat_run_record(
    before: Measurement, sample: Sample | None, notes: Sequence[str]
) -> RunRecord:
    """Return the record of a run that had nothing left to measure: that of the earlier run.

    Args:
        sample: the part of the tournament that the run asked for, which may be another.
    """
    return RunRecord(
        tool=before.tool,
        options={
            **{name: value for name, value in before.options.items() if name not in SAMPLE_OPTIONS},
            **({} if sample is None else sample.to_options()),
        },
        started=before.started,
        seconds=before.seconds,
        notes=list(dict.fromkeys([*before.notes, *notes])),
    )


def refuse_to_drop(earlier: Cluster, listed: Sequence[ListedHost], hosts: str, resume: str) -> None:
    """Raise if a host list lacks hosts that the earlier file has readings of.

    Raises:
        WrongUseError: the list `hosts` lacks hosts that the file `resume` has readings of.
    """
    rtt, bandwidth, routes = earlier.rtt, earlier.bandwidth, earlier.routes
    matrices = [
        *([] if rtt is None else [rtt.readings_us]),
        *([] if bandwidth is None else [bandwidth.gbit_s]),
        *([] if routes is None else [routes.hops]),
    ]
    read = [~np.isnan(matrix).all(axis=axis) for matrix in matrices for axis in (0, 1)]
    uplinks = () if earlier.uplinks is None else earlier.uplinks.uplinks
    measured = {
        name for index, name in enumerate(earlier.names) if any(has_any[index] for has_any in read)
    }
    has_uplink = {known.group for known in uplinks}
    measured.update(*(group.hosts for group in earlier.groups if group.name in has_uplink))
    known = {host.name for host in listed}
    lacking = [name for name in earlier.names if name in measured - known]
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise WrongUseError(
            f"{hosts}: does not list {lacking[0]}{more}, whose readings {resume} would lose",
            "list all hosts of that file, or write to another file",
        )
