"""Run that measures the uplinks of groups and the links of their hosts into a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, ClassVar

import numpy as np
from msgspec.structs import asdict

from plink.base.errors import PlinkError
from plink.base.interrupts import defer_interrupts
from plink.base.progress import ProgressListener
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.groups import HostLink, Uplink, UplinkMeasurement
from plink.formats.hosts import Group
from plink.formats.matrices import Matrix
from plink.formats.measurements import Failure, Measurement
from plink.measure.probing.collectors import build_failure
from plink.measure.probing.request import ProbeRequest, build_resume_state, repeat_run_record
from plink.measure.probing.tools import UplinkOptions
from plink.probes.errors import OptionError
from plink.probes.facts import count_sharing_hosts, limit_pairs
from plink.probes.options import Iperf3Options
from plink.probes.reach import Reached, ReachedHost
from plink.probes.samples import BandwidthReading, HostLoss, PairLoss, Rounds
from plink.probes.uplinks import plan
from plink.probes.uplinks.tool import (
    ExchangeLoss,
    GroupResult,
    SimultaneousTransfers,
    measure_both_ways,
    measure_groups,
    measure_links,
)

# Figures no further apart than this factor count as the same.
_SAME = 1.05


class UplinkCollector:
    """Collector of rates between hosts and between groups: the hosts' links and groups' uplinks.

    Args:
        names: names of the run's hosts.
        groups: hosts of the run in each group, by its name.
        kept: uplinks that an earlier run measured, by the name of the group.
        gbit_s: (N, N) rates of transfers in Gbit/s that are known between the hosts; NaN elsewhere.
    """

    def __init__(
        self,
        names: Sequence[str],
        groups: Mapping[str, Sequence[int]],
        kept: Mapping[str, Uplink],
        gbit_s: Matrix,
    ) -> None:
        self._names = names
        self.groups = groups
        self._kept = kept
        self._gbit_s = gbit_s.copy()
        self._exchanges: dict[tuple[int, bool], plan.GroupExchange] = {}
        # What groups exchanged while others did, too, of those that were measured again alone.
        self._beside_others: dict[tuple[int, bool], plan.GroupExchange] = {}
        self.failures: list[Failure] = []

    @property
    def _links(self) -> plan.HostRates:
        """Each measured host's best rate to and from any other host by itself, in Gbit/s."""
        return plan.HostRates(
            send=_find_largest(self._gbit_s), receive=_find_largest(self._gbit_s.T)
        )

    @property
    def _seen_links(self) -> plan.HostRates:
        """Each measured host's best rates in Gbit/s, by itself or when its group exchanged."""
        return plan.raise_to_seen_rates(self._links, self._exchanges.values())

    def missing_links(self, most: int | None) -> Rounds:
        """Return rounds of up to `most` transfers, each with a host whose link rate is unknown."""
        links = self._links
        known = links.send.keys() & links.receive.keys()
        rounds = []
        for planned in plan.plan_links(list(self.groups.values())):
            pairs = [pair for pair in planned if not known.issuperset(pair)]
            size = most or len(pairs) or 1
            rounds += [pairs[first : first + size] for first in range(0, len(pairs), size)]
        return rounds

    def doubtful_links(self, rounds: Rounds) -> Rounds:
        """Return rounds that repeat slow transfers with other partners, to find the slow end."""
        rates = {pair: float(self._gbit_s[pair]) for pairs in rounds for pair in pairs}
        known = {pair: rate for pair, rate in rates.items() if not np.isnan(rate)}
        return plan.plan_second_looks(list(self.groups.values()), known)

    def missing(self) -> list[tuple[int, bool]]:
        """Return (group index, whether it sends) for each rate that no run has measured yet."""
        return [
            (index, sends)
            for index, name in enumerate(self.groups)
            for sends, known in self._list_kept(name)
            if known is None
        ]

    def _list_kept(self, name: str) -> Sequence[tuple[bool, float | None]]:
        """Return an earlier run's send and receive rate of a group in Gbit/s; None if unknown."""
        kept = self._kept.get(name, Uplink(name, None, None))
        return (True, kept.send_gbit_s), (False, kept.receive_gbit_s)

    def doubtful(self) -> list[tuple[int, bool]]:
        """Return the groups and directions that may be faster when measured alone.

        That is so where the group's own uplink need not have been the limit, or hosts share a
        machine that may have been, or a group's two directions differ: it had other company, or
        none, in the other one. All are in doubt once one of them did better alone.
        """
        groups = list(self.groups.values())
        carried, seen = self._collect_rates(), self._seen_links
        company_cost = any(
            self._exchanges[way].gbit_s > _SAME * before.gbit_s
            for way, before in self._beside_others.items()
        )
        return [
            way
            for way, exchange in self._exchanges.items()
            if exchange.beside
            and (
                company_cost
                or exchange.is_busy
                or plan.may_exceed(exchange, groups, seen, carried)
                or carried.get((way[0], not way[1]), 0.0) > _SAME * exchange.gbit_s
            )
        ]

    def uplinks(self) -> list[Uplink]:
        """Return the uplinks measured so far, by this run or an earlier one."""
        groups = list(self.groups.values())
        carried, links = self._collect_rates(), self._seen_links
        uplinks = []
        for index, name in enumerate(self.groups):
            uplink = self._kept.get(name, Uplink(name, None, None))
            for sends, way in ((True, "send"), (False, "receive")):
                exchange = self._exchanges.get((index, sends))
                if exchange is not None:
                    is_bound = plan.may_exceed(exchange, groups, links, carried)
                    rate: dict[str, Any] = {
                        f"{way}_gbit_s": exchange.gbit_s,
                        f"{way}_is_lower_bound": is_bound,
                    }
                    uplink = replace(uplink, **rate)
            if uplink.send_gbit_s is not None or uplink.receive_gbit_s is not None:
                best = [
                    max(links.send.get(host, 0.0), links.receive.get(host, 0.0))
                    for host in groups[index]
                ]
                # Only if all are known.
                total = sum(best) if all(best) else uplink.hosts_gbit_s
                uplinks.append(replace(uplink, hosts_gbit_s=total))
        return uplinks

    def host_links(self, earlier: Sequence[HostLink]) -> list[HostLink]:
        """Return each measured host's best rates in Gbit/s, and an earlier run's of the others."""
        seen = self._seen_links
        links = [
            HostLink(name, seen.send.get(host), seen.receive.get(host))
            for host, name in enumerate(self._names)
            if host in seen.send or host in seen.receive
        ]
        names = {link.host for link in links}
        return [*links, *(link for link in earlier if link.host not in names)]

    def _collect_rates(self) -> dict[tuple[int, bool], float]:
        """Return the Gbit/s of each group and direction, from this run or else an earlier one."""
        carried: dict[tuple[int, bool], float] = {}
        for index, name in enumerate(self.groups):
            for sends, known in self._list_kept(name):
                exchange = self._exchanges.get((index, sends))
                gbit_s = known if exchange is None else exchange.gbit_s
                if gbit_s is not None:
                    carried[index, sends] = gbit_s
        return carried

    def take(self, result: BandwidthReading | GroupResult) -> None:
        """Record the rate of a transfer or of a group in one direction, or the failure of one."""
        if isinstance(result, PairLoss):
            self.failures.append(build_failure(self._names, result))
        elif isinstance(result, BandwidthReading):
            self._gbit_s[result.source, result.destination] = result.gbit_s
        elif isinstance(result, ExchangeLoss):
            what = "send" if result.sends else "receive"
            reason = f"what the group can {what} is not known: {result.reason}"
            self.failures.append(Failure(list(self.groups)[result.group], reason))
        else:
            way = (result.group, result.sends)
            if way in self._exchanges:
                self._beside_others[way] = self._exchanges[way]
            self._exchanges[way] = result

    def host_lost(self, loss: HostLoss) -> None:
        """Record as a failure that a host dropped out during the run."""
        self.failures.append(Failure(self._names[loss.host], loss.reason))


def _find_largest(gbit_s: Matrix) -> dict[int, float]:
    return {
        host: float(np.nanmax(row)) for host, row in enumerate(gbit_s) if not np.isnan(row).all()
    }


@dataclass(frozen=True)
class UplinkResult:
    """Result of a run that measures uplinks: the cluster, and whether it was interrupted."""

    cluster: Cluster
    measurement: UplinkMeasurement
    interrupted: bool
    warnings: ClassVar[Sequence[str]] = ()

    @property
    def asked(self) -> int:
        """Number of groups whose uplinks were to be measured."""
        return len(self.cluster.groups)

    @property
    def measured(self) -> int:
        """Number of groups with a rate in at least one direction."""
        return len(self.measurement.uplinks)

    @property
    def whole(self) -> int:
        """Number of groups with a rate in both directions."""
        return sum(uplink.is_whole for uplink in self.measurement.uplinks)


def measure_uplinks(
    request: ProbeRequest,
    reached: Reached,
    progress: ProgressListener,
    on_result: Callable[[UplinkResult], None] = lambda _: None,
) -> UplinkResult:
    """Measure the uplinks of a request's groups between reached hosts, and the hosts' links first.

    Raises:
        PlinkError: hosts of fewer than two groups were reached.
        KeyboardInterrupt: the user stopped it before anything was measured.
    """
    options = request.options
    if not isinstance(options, UplinkOptions):
        raise OptionError(f"{request.tool} does not measure uplinks")
    state = build_resume_state(request, reached)
    kept = state.cluster
    present = set(kept.names)
    known = [
        Group(group.name, [n for n in group.hosts if n in present]) for group in options.groups
    ]
    groups = [group for group in known if group.hosts]
    cluster = replace(
        kept, groups=groups, grouping=kept.grouping if groups == kept.groups else None
    )
    members = _index_members(cluster.groups, reached.hosts)
    if len(members) < 2:
        raise PlinkError(
            "fewer than two groups have a reached host",
            "the uplink of a group is its connection to the hosts of other groups",
        )
    notes = [*state.moves, *_describe_hosts(reached.hosts, members)]
    for note in notes:
        progress.say(note)
    names = [host.name for host in reached.hosts]
    gbit_s = np.full((len(names), len(names)), np.nan)
    if cluster.bandwidth is not None:
        place_of = {name: place for place, name in enumerate(cluster.names)}
        places = [place_of[name] for name in names]
        gbit_s = cluster.bandwidth.gbit_s[np.ix_(places, places)]
    reusable = _select_reusable_uplinks(cluster, request.earlier)
    collector = UplinkCollector(names, members, reusable, gbit_s)
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
                rounds = collector.missing_links(request.concurrency)
                _find_link_rates(transfers, rounds, options.duration_s or 1, collector, progress)
                _find_group_rates(transfers, options.group_duration_s, collector, progress)
    except KeyboardInterrupt:
        if not collector.uplinks():
            raise
        interrupted = True
    with defer_interrupts():
        before = cluster.uplinks
        if wanted or before is None:
            run = Measurement(
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
            run = repeat_run_record(before, None, state.moves)
        measurement = UplinkMeasurement(
            uplinks=collector.uplinks(),
            links=collector.host_links(() if before is None else before.links),
            **{**asdict(run), "failures": [*state.absent, *collector.failures]},
        )
        result = UplinkResult(replace(cluster, uplinks=measurement), measurement, interrupted)
        on_result(result)
    return result


def _find_link_rates(
    transfers: SimultaneousTransfers,
    rounds: Rounds,
    duration_s: int,
    collector: UplinkCollector,
    progress: ProgressListener,
) -> None:
    """Measure hosts' links one transfer per host at a time, and slow ones with other partners."""
    concurrency = limit_pairs([host.facts for host in transfers.hosts])

    def measure(stage: str, pairs: Rounds) -> None:
        progress.stage(stage, sum(map(len, pairs)))
        for result in measure_links(transfers, pairs, duration_s, concurrency=concurrency):
            collector.take(result)
            progress.step()

    measure("measuring hosts' links", rounds)
    if again := collector.doubtful_links(rounds):
        measure("measuring slow links again", again)


def _find_group_rates(
    transfers: SimultaneousTransfers,
    duration_s: int,
    collector: UplinkCollector,
    progress: ProgressListener,
) -> None:
    """Measure the groups' rates, several groups at a time, and doubtful ones again alone."""
    groups, wanted = list(collector.groups.values()), collector.missing()

    def measure(stage: str, directions: int, turns: Sequence[plan.ExchangeTurn]) -> None:
        progress.stage(stage, directions)
        for result in measure_groups(transfers, groups, turns, duration_s):
            collector.take(result)
            if not isinstance(result, PairLoss):
                progress.step()

    turns = plan.plan_turns([len(hosts) for hosts in groups], wanted)
    measure("measuring uplinks", len(wanted), turns)
    tried: set[tuple[int, bool]] = set()
    while doubtful := [way for way in collector.doubtful() if way not in tried]:
        tried.update(doubtful)
        turns = [plan.ExchangeTurn((group,), sends) for group, sends in doubtful]
        measure("measuring uplinks one by one", len(doubtful), turns)


def _index_members(groups: Sequence[Group], hosts: Sequence[ReachedHost]) -> dict[str, list[int]]:
    """Return the indices of each group's reached hosts, by group name, without empty groups."""
    places = {host.name: place for place, host in enumerate(hosts)}
    members = {
        group.name: [places[name] for name in group.hosts if name in places] for group in groups
    }
    return {name: indices for name, indices in members.items() if indices}


def _select_reusable_uplinks(cluster: Cluster, earlier: Cluster | None) -> dict[str, Uplink]:
    """Return an earlier run's uplinks, by group, of groups with the same hosts as now."""
    before = {} if earlier is None else {group.name: group.hosts for group in earlier.groups}
    same = {group.name for group in cluster.groups if before.get(group.name) == group.hosts}
    known = () if cluster.uplinks is None else cluster.uplinks.uplinks
    return {uplink.group: uplink for uplink in known if uplink.group in same}


def _describe_hosts(
    hosts: Sequence[ReachedHost], members: Mapping[str, Sequence[int]]
) -> list[str]:
    outside = len(hosts) - sum(map(len, members.values()))
    sharing = count_sharing_hosts([host.facts for host in hosts])
    notes = []
    if outside:
        notes.append(f"{outside} of {len(hosts)} hosts are in no group and take no part")
    if sharing:
        limit = "its processors may be the limit where uplinks are fast"
        notes.append(f"{sharing} of {len(hosts)} hosts share a machine: {limit}")
    return notes


_BOTH_WAYS_S = 1
# Of what a group sends and receives, each alone: less may be other work's doing.
_ENOUGH = 0.9


def measure_both_directions(
    request: ProbeRequest, cluster: Cluster, reached: Reached, progress: ProgressListener
) -> Cluster:
    """Measure each uplink with both directions loaded at once; return the cluster with the rates.

    A group whose transfers fail stays as it is.
    """
    if cluster.uplinks is None:
        return cluster
    present = _index_members(cluster.groups, reached.hosts)
    wanted = {
        each.group: _ENOUGH * ((each.send_gbit_s or 0.0) + (each.receive_gbit_s or 0.0))
        for each in cluster.uplinks.uplinks
        if each.is_whole and each.both_gbit_s is None and each.group in present
    }
    if len(present) < 2 or not wanted:
        return cluster
    rates_gbit_s: dict[str, float] = {}
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
            if request.left_s() <= _BOTH_WAYS_S:
                break
            groups = [list(filter(transfers.can_take_part, hosts)) for hosts in present.values()]
            if all(groups):
                both = measure_both_ways(
                    transfers, groups, names.index(name), _BOTH_WAYS_S, enough_gbit_s
                )
                if both is not None:
                    rates_gbit_s[name] = both
            progress.step()
    uplinks = [
        replace(each, both_gbit_s=rates_gbit_s.get(each.group, each.both_gbit_s))
        for each in cluster.uplinks.uplinks
    ]
    return replace(cluster, uplinks=replace(cluster.uplinks, uplinks=uplinks))
