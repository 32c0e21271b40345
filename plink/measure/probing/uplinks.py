"""Run that measures the uplinks of groups, from reached hosts to a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from plink.base.errors import PlinkError
from plink.base.interrupts import defer_interrupts
from plink.base.progress import ProgressListener
from plink.base.replacing import replace
from plink.files.cluster import Cluster
from plink.files.groups import HostLink, Uplink, UplinkMeasurement
from plink.files.hosts import Group
from plink.measure.probing.collectors import RunRecord
from plink.measure.probing.request import ProbeRequest
from plink.measure.probing.resume import repeat_record, resume_state
from plink.measure.probing.tools import UplinkOptions
from plink.measure.probing.uplink_collector import LinkCollector, UplinkCollector
from plink.probes.errors import OptionError
from plink.probes.facts import most_pairs, shared_machines
from plink.probes.reach import Reached, ReachedHost
from plink.probes.samples import Rounds
from plink.probes.uplinks.plan import ExchangeTurn, plan_links, plan_turns
from plink.probes.uplinks.simultaneous import SimultaneousTransfers
from plink.probes.uplinks.tool import measure_groups, measure_links


@dataclass(frozen=True)
class UplinkResult:
    """Result of a run that measures uplinks.

    Args:
        cluster: what to write.
        measurement: the measurement in it that was made.
        interrupted: the user stopped it before it was complete.
    """

    cluster: Cluster
    measurement: UplinkMeasurement
    interrupted: bool

    @property
    def measured(self) -> int:
        """Number of groups with a rate in at least one direction."""
        return len(self.measurement.uplinks)


def measure_uplinks(
    request: ProbeRequest,
    reached: Reached,
    progress: ProgressListener,
    on_result: Callable[[UplinkResult], None] = lambda _: None,
) -> UplinkResult:
    """Measure the uplinks of groups whose hosts were reached.

    Raises:
        OptionError: the request is for another tool.
        PlinkError: hosts of fewer than two groups were reached.
        KeyboardInterrupt: the user stopped it before anything was measured.
    """
    options = request.options
    if not isinstance(options, UplinkOptions):
        raise OptionError(f"{request.tool} does not measure uplinks")
    state = resume_state(request, reached)
    kept = state.cluster
    groups = _groups_of(options.groups, set(kept.names))
    cluster = replace(
        kept, groups=groups, grouping=kept.grouping if groups == kept.groups else None
    )
    members = _members(cluster.groups, reached.hosts)
    notes = [*state.moves, *_notes_on(reached.hosts, members)]
    for note in notes:
        progress.say(note)
    links = _link_collector(cluster, reached.hosts, list(members.values()), progress)
    collector = UplinkCollector(
        [host.name for host in reached.hosts],
        members,
        _reusable_uplinks(cluster, request.earlier),
        on_settled=progress.step,
    )
    wanted = collector.missing()
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    began = time.monotonic()
    interrupted = False
    try:
        if wanted:
            with SimultaneousTransfers(
                reached.hosts,
                options,
                collector.host_lost,
                silence_s=request.timeout_s,
                left_s=request.left_s,
                ssh_concurrency=request.way.concurrency,
            ) as transfers:
                rounds = _unknown_links(list(members.values()), links, request.concurrency)
                _measure_links(transfers, rounds, options.link_duration_s, links, progress)
                progress.stage("measuring uplinks", len(wanted))
                _measure_groups(
                    transfers,
                    list(members.values()),
                    options.group_duration_s,
                    links=links,
                    collector=collector,
                    progress=progress,
                )
    except KeyboardInterrupt:
        if not collector.uplinks(links.links()):
            raise
        interrupted = True
    with defer_interrupts():
        before = cluster.uplinks
        if wanted or before is None:
            run = RunRecord(
                tool=request.tool,
                options={
                    **options.to_record(),
                    "timeout_s": request.timeout_s,
                    **request.recorded_addresses(),
                },
                started=started,
                seconds=(before.seconds if before else 0.0) + time.monotonic() - began,
                notes=notes,
            )
        else:
            run = repeat_record(before, None, state.moves)
        measurement = UplinkMeasurement(
            uplinks=collector.uplinks(links.links()),
            links=_with_earlier(collector.host_links(links.links()), before),
            failures=[*state.absent, *links.failures, *collector.failures],
            **vars(run),
        )
        result = UplinkResult(replace(cluster, uplinks=measurement), measurement, interrupted)
        on_result(result)
    return result


def _measure_links(
    transfers: SimultaneousTransfers,
    rounds: Rounds,
    duration_s: int,
    links: LinkCollector,
    progress: ProgressListener,
) -> None:
    """Measure each host's link alone, and once more where the partner may have been slower."""
    concurrency = most_pairs([host.facts for host in transfers.hosts])
    progress.stage("measuring hosts' links", sum(map(len, rounds)))
    measure_links(transfers, rounds, duration_s, links, concurrency=concurrency)
    if again := links.doubtful(rounds):
        progress.stage("measuring slow links again", sum(map(len, again)))
        measure_links(transfers, again, duration_s, links, concurrency=concurrency)


def _with_earlier(
    links: Sequence[HostLink], before: UplinkMeasurement | None
) -> Sequence[HostLink]:
    """Return the links of this run, plus an earlier run's of hosts that took no part."""
    names = {link.host for link in links}
    earlier = () if before is None else before.links
    return [*links, *(link for link in earlier if link.host not in names)]


def _measure_groups(
    transfers: SimultaneousTransfers,
    groups: Sequence[Sequence[int]],
    duration_s: int,
    *,
    links: LinkCollector,
    collector: UplinkCollector,
    progress: ProgressListener,
) -> None:
    """Measure several groups at a time, and those with doubtful results alone."""
    turns = plan_turns([len(hosts) for hosts in groups], collector.missing())
    measure_groups(transfers, groups, turns, duration_s, collector)
    tried: set[tuple[int, bool]] = set()
    while doubtful := [way for way in collector.doubtful(links.links()) if way not in tried]:
        tried.update(doubtful)
        progress.stage("measuring uplinks one by one", len(doubtful))
        alone = [ExchangeTurn((group,), sends) for group, sends in doubtful]
        measure_groups(transfers, groups, alone, duration_s, collector)


def _groups_of(groups: Sequence[Group], names: set[str]) -> list[Group]:
    """Return the groups restricted to hosts of the cluster, without empty groups."""
    known = [Group(group.name, [name for name in group.hosts if name in names]) for group in groups]
    return [group for group in known if group.hosts]


def _members(groups: Sequence[Group], hosts: Sequence[ReachedHost]) -> dict[str, list[int]]:
    """Return the indices of the reached hosts of each group."""
    places = {host.name: place for place, host in enumerate(hosts)}
    members = {
        group.name: [places[name] for name in group.hosts if name in places] for group in groups
    }
    found = {name: indices for name, indices in members.items() if indices}
    if len(found) < 2:
        raise PlinkError(
            "the reached hosts are of fewer than two groups",
            "the uplink of a group is its connection to the hosts of other groups",
        )
    return found


def _reusable_uplinks(cluster: Cluster, earlier: Cluster | None) -> dict[str, Uplink]:
    """Return an earlier run's uplinks of groups whose hosts are the same."""
    before = {} if earlier is None else {group.name: group.hosts for group in earlier.groups}
    same = {group.name for group in cluster.groups if before.get(group.name) == group.hosts}
    known = () if cluster.uplinks is None else cluster.uplinks.uplinks
    return {uplink.group: uplink for uplink in known if uplink.group in same}


def _link_collector(
    cluster: Cluster,
    hosts: Sequence[ReachedHost],
    groups: Sequence[Sequence[int]],
    progress: ProgressListener,
) -> LinkCollector:
    """Build the collector of link rates, filled with bandwidths that are known already."""
    names = [host.name for host in hosts]
    places = {name: place for place, name in enumerate(cluster.names)}
    known = cluster.bandwidth
    if known is not None:
        known = known.for_hosts([places[name] for name in names])
    return LinkCollector(names, groups, known, on_settled=progress.step)


def _unknown_links(
    groups: Sequence[Sequence[int]], collector: LinkCollector, most: int | None
) -> Rounds:
    """Return rounds of transfers that include every host whose link rate is unknown.

    Args:
        most: transfers in a round at most.
    """
    links = collector.links()
    known = links.send.keys() & links.receive.keys()
    rounds = [
        [pair for pair in pairs if not known.issuperset(pair)] for pairs in plan_links(groups)
    ]
    return [
        pairs[first : first + (most or len(pairs))]
        for pairs in rounds
        if pairs
        for first in range(0, len(pairs), most or len(pairs))
    ]


def _notes_on(hosts: Sequence[ReachedHost], members: Mapping[str, Sequence[int]]) -> list[str]:
    notes = []
    outside = len(hosts) - sum(map(len, members.values()))
    if outside:
        notes.append(f"{outside} of {len(hosts)} hosts are in no group and take no part")
    sharing = shared_machines([host.facts for host in hosts])
    if sharing:
        notes.append(
            f"{sharing} of {len(hosts)} hosts share a machine: its processors may be the limit "
            "where uplinks are fast"
        )
    return notes
