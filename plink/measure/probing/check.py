"""Drift check over the network: measure parts of a cluster file again and judge what changed."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plink.base.errors import PlinkError, WrongUseError
from plink.base.progress import ProgressListener
from plink.base.replacing import replace
from plink.base.text import format_count, format_names
from plink.formats.cluster import Cluster, require_rtt
from plink.formats.groups import UplinkMeasurement
from plink.formats.hosts import Host
from plink.formats.matrices import Matrix
from plink.formats.measurements import BandwidthMeasurement, Failure, RttMeasurement
from plink.measure.drift import judge
from plink.measure.drift import rates as drift_rates
from plink.measure.listed import list_again
from plink.measure.probing import tools
from plink.measure.probing.collectors import RttCollector, build_failure
from plink.measure.probing.passes import FurtherRounds
from plink.measure.probing.request import (
    ProbeRequest,
    connect_hosts,
    find_moved_hosts,
    resume_options,
    resume_tool,
)
from plink.measure.probing.run import build_job
from plink.probes.errors import OptionError
from plink.probes.facts import limit_pairs
from plink.probes.hosts.address import IPNetwork
from plink.probes.iperf3.tool import OUT_OF_TIME
from plink.probes.options import Iperf3Options, RttOptions, TransferOptions
from plink.probes.reach import Reached, ReachedHost, Way
from plink.probes.rounds import build_disjoint_rounds
from plink.probes.samples import BandwidthReading, HostLoss, PairLoss
from plink.probes.uplinks.plan import ExchangeTurn, plan_turns
from plink.probes.uplinks.tool import (
    ExchangeLoss,
    SimultaneousTransfers,
    measure_groups,
    measure_links,
)

# As when uplinks are measured.
_LINK_DURATION_S = 1
# Links that seem to have changed are measured again so often, and count only if they stay so.
_LINK_CONFIRMATIONS = 2
_UNCONFIRMED = "seems changed, but that could not be confirmed"


class RepeatedTransfers:
    """Transfers that measure links and uplinks again; `failures` has what could not be measured."""

    def __init__(
        self,
        cluster: Cluster,
        hosts: Sequence[ReachedHost],
        *,
        silence_s: float,
        seed: int,
        progress: ProgressListener,
    ) -> None:
        self._cluster = cluster
        self._hosts = hosts
        self._silence_s = silence_s
        self._seed = seed
        self._progress = progress
        place_of = {name: place for place, name in enumerate(cluster.names)}
        # The index in the file of each reached host, and back.
        self._places = [place_of[host.name] for host in hosts]
        self._index_of = {host.name: index for index, host in enumerate(hosts)}
        # When no transfer is begun any more, by the monotonic clock.
        self._until_s = 0.0
        self.failures: list[Failure] = []

    def links(self, gbit_s: Matrix | None, limit_s: float) -> drift_rates.LinkJudgement:
        """Measure the hosts' links again, changed ones up to twice more, and compare with the file.

        Args:
            gbit_s: (N, N) bandwidths of the file; None to compare with its links beside uplinks.
            limit_s: seconds for all links, and as many (or what all links took) for each time that
                changed ones are measured again.
        """
        cluster = self._cluster
        options, duration_s, both = self._link_options(has_pairs=gbit_s is not None)
        expected = drift_rates.predict_gbit_s(
            cluster.names, gbit_s, cluster.groups, cluster.uplinks
        )
        is_here = np.isin(np.arange(len(cluster.hosts)), self._places)
        expected = np.where(is_here[:, None] & is_here[None, :], expected, np.nan)
        rounds = drift_rates.choose_transfers(expected, tools.CHECK_LINKS, self._seed)
        with self._transfers(options, limit_s) as transfers:
            began_s = time.monotonic()
            now = self._measure_rates(transfers, rounds, duration_s, both=both)
            took_s = time.monotonic() - began_s
            judgement = drift_rates.judge_links(cluster.names, expected, now)
            suspected = judgement.changed
            is_complete = True
            for number in range(_LINK_CONFIRMATIONS):
                if not judgement.changed.any():
                    break
                # On a slow machine one round takes longer than the limit.
                self._until_s = time.monotonic() + max(limit_s, took_s)
                seed = self._seed + number
                again = drift_rates.choose_other_transfers(
                    expected, judgement.changed, judgement.compared, seed
                )
                rates = self._measure_rates(transfers, again, duration_s, both=both)
                ways = [way for pairs in again for a, b in pairs for way in ((a, b), (b, a))]
                is_complete = not any(np.isnan(rates[way]) for way in ways)
                # What could not be confirmed even once is not known.
                if number == 0:
                    now[judgement.changed & np.isnan(rates)] = np.nan
                now = judge.keep_nearer(expected, now, rates)
                judgement = drift_rates.judge_links(cluster.names, expected, now)
        doubtful = suspected & ~judgement.compared
        if not is_complete and not judgement.changes:
            # Whose link it is may show only where hosts are measured with other partners.
            doubtful |= judgement.changed
        names = cluster.names
        explained = {(failure.source, failure.destination) for failure in self.failures}
        self.failures += [
            Failure(names[a], _UNCONFIRMED, names[b])
            for a, b in np.argwhere(doubtful).tolist()
            if (names[a], names[b]) not in explained
        ]
        return judgement

    def uplinks(
        self, uplinks: UplinkMeasurement, hosts: Sequence[drift_rates.RateChange], limit_s: float
    ) -> tuple[dict[drift_rates.GroupDirection, float], list[drift_rates.RateChange]]:
        """Measure uplinks again; return rates in Gbit/s by (group, sends), and those that changed.

        Args:
            hosts: links of hosts that changed, which may explain what groups exchange.
            limit_s: seconds for all uplinks, and as many (or what all uplinks took) again for those
                that seem changed.
        """
        cluster = self._cluster
        options = self._uplink_options()
        present = {
            group.name: [self._index_of[name] for name in group.hosts if name in self._index_of]
            for group in cluster.groups
        }
        names = [name for name, members in present.items() if members]
        groups = [present[name] for name in names]
        # What a group exchanges without one of its hosts cannot be compared.
        whole = {each.name for each in cluster.groups if len(present[each.name]) == len(each.hosts)}
        weighty = drift_rates.sort_groups_by_share(cluster.groups, uplinks.uplinks)
        wanted = [names.index(group.name) for group in weighty if group.name in whole]
        wanted = wanted[: tools.CHECK_UPLINKS]
        if len(names) < 2 or not wanted:
            return {}, []
        explained = drift_rates.limit_by_hosts(cluster.groups, uplinks.links, hosts)
        ways = [(group, sends) for group in wanted for sends in (True, False)]
        turns = plan_turns([len(members) for members in groups], ways)
        turns.sort(key=lambda turn: min(wanted.index(group) for group in turn.groups))
        duration_s = options.group_duration_s
        with self._transfers(options, limit_s) as transfers:
            self._progress.stage("checking uplinks", len(ways))
            began_s = time.monotonic()
            now = self._measure_exchanges(transfers, names, groups, turns, duration_s)
            changes = drift_rates.find_changed_uplinks(uplinks.uplinks, now, explained)
            now_s = time.monotonic()
            self._until_s = now_s + max(limit_s, now_s - began_s)
            # Once is enough: uplinks carry many transfers at once, and so are the steadier ones.
            if changes:
                self._progress.stage("checking uplinks again", len(changes))
                alone = [ExchangeTurn((names.index(each.name),), each.sends) for each in changes]
                before = len(self.failures)
                again = self._measure_exchanges(transfers, names, groups, alone, duration_s)
                # What could not be confirmed is not known.
                doubtful = {(each.name, each.sends) for each in changes} - again.keys()
                names_in_doubt = {name for name, _ in doubtful}
                names_in_doubt -= {failure.source for failure in self.failures[before:]}
                self.failures += [
                    Failure(name, f"its uplink {_UNCONFIRMED}") for name in sorted(names_in_doubt)
                ]
                now = {way: rate for way, rate in now.items() if way not in doubtful}
                now |= drift_rates.keep_nearer_uplinks(uplinks.uplinks, now, again)
                changes = drift_rates.find_changed_uplinks(uplinks.uplinks, now, explained)
        return now, changes

    def _measure_exchanges(
        self,
        transfers: SimultaneousTransfers,
        names: Sequence[str],
        groups: Sequence[Sequence[int]],
        turns: Sequence[ExchangeTurn],
        duration_s: int,
    ) -> dict[drift_rates.GroupDirection, float]:
        now: dict[drift_rates.GroupDirection, float] = {}
        lost: dict[str, str] = {}
        for result in measure_groups(transfers, groups, turns, duration_s):
            # The loss of a transfer makes its group's rate incomplete.
            if isinstance(result, PairLoss):
                continue
            name = names[result.group]
            if isinstance(result, ExchangeLoss):
                lost[name] = result.reason
            elif result.is_whole:
                now[name, result.sends] = result.gbit_s
            else:
                lost[name] = "not all of its hosts took part"
            self._progress.step()
        self.failures += [
            Failure(name, f"its uplink was not measured: {reason}")
            for name, reason in lost.items()
            if reason != OUT_OF_TIME
        ]
        return now

    def _link_options(self, *, has_pairs: bool) -> tuple[TransferOptions, int, bool]:
        """Return iperf3's options, the seconds per transfer, and whether both ways run at once."""
        cluster = self._cluster
        if has_pairs and cluster.bandwidth is not None:
            pairs = resume_tool(Iperf3Options, {}, cluster.bandwidth.options, cluster.source)
            return pairs, pairs.duration_s, pairs.direction == "both"
        return self._uplink_options(), _LINK_DURATION_S, True

    def _uplink_options(self) -> tools.UplinkOptions:
        recorded = {} if self._cluster.uplinks is None else self._cluster.uplinks.options
        return resume_tool(tools.UplinkOptions, {}, recorded, self._cluster.source)

    def _transfers(self, options: TransferOptions, limit_s: float) -> SimultaneousTransfers:
        self._until_s = time.monotonic() + limit_s
        return SimultaneousTransfers(
            self._hosts,
            options,
            self._record_loss,
            silence_s=self._silence_s,
            left_s=lambda: self._until_s - time.monotonic(),
        )

    def _record_loss(self, loss: HostLoss) -> None:
        failure = Failure(self._hosts[loss.host].name, loss.reason)
        if failure not in self.failures:
            self.failures.append(failure)

    def _measure_rates(
        self,
        transfers: SimultaneousTransfers,
        rounds: Sequence[Sequence[judge.Pair]],
        duration_s: int,
        *,
        both: bool,
    ) -> Matrix:
        """Return the rates in Gbit/s of both directions of these pairs, (N, N); NaN if unknown."""
        size, names = len(self._cluster.hosts), self._cluster.names
        gbit_s = np.full((size, size), np.nan)
        directed: list[list[tuple[int, int]]] = []
        for pairs in rounds:
            there = [(self._index_of[names[a]], self._index_of[names[b]]) for a, b in pairs]
            back = [(b, a) for a, b in there]
            directed += [there + back] if both else [there, back]
        self._progress.stage("checking hosts' links", sum(map(len, directed)))
        concurrency = limit_pairs([host.facts for host in self._hosts])
        for result in measure_links(transfers, directed, duration_s, concurrency=concurrency):
            if isinstance(result, BandwidthReading):
                gbit_s[self._places[result.source], self._places[result.destination]] = (
                    result.gbit_s
                )
            elif result.reason != OUT_OF_TIME:
                self.failures.append(build_failure([host.name for host in self._hosts], result))
            self._progress.step()
        return gbit_s


# The share of the time for hosts' links where uplinks are to be checked, too: these take longer.
_LINKS_SHARE = 1.0 / 3.0
_MOST_NAMED = 3


@dataclass(frozen=True)
class RatesResult:
    """Result of measuring links and uplinks again: what was checked, what changed, and failures.

    Args:
        common_factor: new over old rate of hosts' links that did not change.
    """

    hosts: Sequence[str] = ()
    groups: Sequence[str] = ()
    changes: Sequence[drift_rates.RateChange] = ()
    common_factor: float = 1.0
    is_changed: bool = False
    failures: Sequence[Failure] = ()
    seconds: float = 0.0


def check_rates(
    cluster: Cluster,
    reached: Reached,
    *,
    limit_s: float,
    silence_s: float,
    seed: int,
    progress: ProgressListener,
) -> RatesResult | None:
    """Measure some links and uplinks again, changed ones repeatedly, and judge what changed.

    None if the file has no bandwidths or uplinks that plink itself measured.

    Args:
        limit_s: seconds for transfers, and as many (or what they took) each time that what seems
            changed is measured again; 0 for none.
    """
    bandwidth, uplinks = _find_bandwidth(cluster), _find_uplinks(cluster)
    if not _has_links(cluster) and uplinks is None:
        return None
    if limit_s <= 0.0:
        return RatesResult()
    again = RepeatedTransfers(
        cluster, reached.hosts, silence_s=silence_s, seed=seed, progress=progress
    )
    began = time.monotonic()
    links: drift_rates.LinkJudgement | None = None
    links_s = 0.0
    changes: list[drift_rates.RateChange] = []
    hosts: list[str] = []
    groups: list[str] = []
    if _has_links(cluster):
        links_s = limit_s * (1.0 if uplinks is None else _LINKS_SHARE)
        links = again.links(None if bandwidth is None else bandwidth.gbit_s, links_s)
        changes += links.changes
        seen = set(np.argwhere(links.compared).ravel().tolist())
        hosts = [name for place, name in enumerate(cluster.names) if place in seen]
    if uplinks is not None:
        now, changed = again.uplinks(uplinks, changes, limit_s - links_s)
        groups = list(dict.fromkeys(group for group, _ in now))
        changes += changed
    return RatesResult(
        hosts=hosts,
        groups=groups,
        changes=changes,
        common_factor=1.0 if links is None else links.common_factor,
        is_changed=bool(changes) or (links is not None and links.is_changed),
        failures=list(dict.fromkeys(again.failures)),
        seconds=time.monotonic() - began,
    )


def _has_links(cluster: Cluster) -> bool:
    uplinks = _find_uplinks(cluster)
    return _find_bandwidth(cluster) is not None or (uplinks is not None and bool(uplinks.links))


def _find_bandwidth(cluster: Cluster) -> BandwidthMeasurement | None:
    found = cluster.bandwidth
    return found if found is not None and found.tool == Iperf3Options.tool else None


def _find_uplinks(cluster: Cluster) -> UplinkMeasurement | None:
    found = cluster.uplinks
    is_own = found is not None and found.tool == tools.UplinkOptions.tool
    return found if is_own and len(cluster.groups) > 1 else None


def _list_unchecked_rates(cluster: Cluster, rates: RatesResult) -> list[str]:
    """Return phrases naming the links, bandwidths and uplinks in the file that were not checked."""
    unchecked: list[str] = []
    uplinks = _find_uplinks(cluster)
    if _has_links(cluster):
        others = [name for name in cluster.names if name not in set(rates.hosts)]
        if others:
            unchecked.append(f"the links of {format_names(others, _MOST_NAMED)}")
    elif uplinks is not None:
        unchecked.append("hosts' links, of which the file has only sums")
    if _find_bandwidth(cluster) is not None:
        unchecked.append("the bandwidth of most pairs: of each host one or two were measured again")
    if uplinks is not None:
        known = [each.group for each in uplinks.uplinks if each.group not in set(rates.groups)]
        if known:
            unchecked.append(f"the uplinks of {format_names(known, _MOST_NAMED)}")
    return unchecked


def summarize_changes(rates: RatesResult) -> str:
    """Return a clause such as `links of 2 of 8 hosts and uplinks of 1 of 3 groups changed`."""
    parts = []
    for names, what, of, is_uplink in (
        (rates.hosts, "links", "host", False),
        (rates.groups, "uplinks", "group", True),
    ):
        changed = {each.name for each in rates.changes if each.is_uplink == is_uplink}
        if names:
            parts.append(f"{what} of {len(changed):,} of {format_count(len(names), of)}")
    return f"{' and '.join(parts)} changed"


# A seed that a person can type.
_SEEDS = 1 << 31


@dataclass(frozen=True)
class CheckResult:
    """Result of a drift check: the judgement of round-trip times, and of transfers if any ran.

    Args:
        hosts: number of hosts that were reached.
        judgement: judgement of the readings; its indices are the file's.
        moved: hosts whose traffic address is not the file's: name to the file's and the new one.
        rates: what transfers have shown; None where the file holds nothing to compare with.
        not_checked: what else the file holds and was not measured again, a clause each.
    """

    hosts: int
    judgement: judge.DriftJudgement
    moved: Mapping[str, tuple[str, str]]
    unreachable: Mapping[str, str]
    failures: Sequence[Failure]
    seconds: float
    rates: RatesResult | None = None
    not_checked: Sequence[str] = ()

    @property
    def is_changed(self) -> bool:
        """Whether distances, rates or hosts' addresses differ from those in the file."""
        rates_changed = self.rates is not None and self.rates.is_changed
        return self.judgement.is_changed or bool(self.moved) or rates_changed

    @property
    def is_whole(self) -> bool:
        """Whether every host was reached and every pair of the check was measured."""
        return not self.unreachable and not self.failures


def select_comparable_rtt(cluster: Cluster, source: str) -> RttMeasurement:
    """Return a cluster's round-trip times; raise unless a tool of plink measured them."""
    rtt = require_rtt(cluster, source)
    if rtt.tool not in tools.TOOLS:
        raise WrongUseError(
            f"{source}: plink did not measure its round-trip times (tool: {rtt.tool})",
            "only measurements of plink probe can be checked",
        )
    return rtt


def build_check_request(
    cluster: Cluster,
    source: str,
    given: Mapping[str, Any],
    *,
    network: IPNetwork | None = None,
    interface: str | None = None,
    seed: int | None = None,
    timeout_s: float,
    concurrency: int | None = None,
    way: Way,
) -> ProbeRequest:
    """Build the request to measure a cluster again, with the file's settings unless overridden.

    Args:
        cluster: with round-trip times that are comparable (`select_comparable_rtt`).
        seed: None for one by chance.
    """
    tool = select_comparable_rtt(cluster, source).tool
    known = {"passes": tools.CHECK_PASSES, **given}
    how = resume_options(cluster, source, tool, known, network=network, interface=interface)
    return ProbeRequest(
        list_again(Cluster(cluster.hosts), source),
        options=how.options,
        timeout_s=timeout_s,
        seed=secrets.randbelow(_SEEDS) if seed is None else seed,
        concurrency=concurrency,
        network=how.network,
        interface=how.interface,
        way=way,
    )


def check(
    cluster: Cluster,
    file: judge.Baseline,
    request: ProbeRequest,
    *,
    partners: int,
    transfers_s: float,
    progress: ProgressListener,
) -> CheckResult:
    """Connect to a cluster's hosts, measure some pairs (and links) again and judge what changed.

    Args:
        file: what its unchanged pairs are expected to take.
        request: how to measure; its hosts are the cluster's, its seed decides which pairs.
        partners: number of partners with which each host is measured again.
        transfers_s: seconds that transfers may take; 0 for none.

    Raises:
        HostListError, OptionError, WrongUseError: the request cannot be carried out.
        PlinkError: fewer than two hosts can be reached, or no pair can be compared.
    """
    with connect_hosts(request, progress) as reached:
        result = check_reached(
            cluster, file, request, reached, partners=partners, progress=progress
        )
        rates = check_rates(
            cluster,
            reached,
            limit_s=transfers_s,
            silence_s=request.timeout_s,
            seed=request.seed,
            progress=progress,
        )
    if rates is None:
        return result
    return replace(
        result,
        failures=[*result.failures, *rates.failures],
        rates=rates,
        not_checked=[*_list_unchecked_rates(cluster, rates), *result.not_checked],
    )


def check_reached(
    cluster: Cluster,
    file: judge.Baseline,
    request: ProbeRequest,
    reached: Reached,
    *,
    partners: int,
    progress: ProgressListener,
) -> CheckResult:
    """Measure round trips of some pairs of connected hosts again and judge what changed."""
    again = _RepeatedRoundTrips(cluster, request, reached, progress)
    judgement = judge.measure_and_judge(
        file, again.are_reached, again.measure, partners=partners, seed=request.seed
    )
    if judgement is None:
        raise PlinkError("the cluster file has no reading between the hosts that can be reached")
    if not judgement.pairs:
        reasons = sorted({failure.reason for failure in again.failures})
        raise PlinkError(f"no pair could be measured again: {reasons[0] if reasons else 'unknown'}")
    return CheckResult(
        hosts=len(reached.hosts),
        judgement=judgement,
        moved=again.moved,
        unreachable={error.host: str(error) for error in reached.failures},
        failures=again.failures,
        seconds=again.seconds,
        not_checked=_list_unchecked(cluster),
    )


def _list_unchecked(cluster: Cluster) -> list[str]:
    """Return phrases naming what no check of this file can cover, such as routes."""
    unchecked = []
    if cluster.bandwidth is not None and cluster.bandwidth.tool not in tools.TOOLS:
        unchecked.append(
            f"bandwidths, which plink did not measure (tool: {cluster.bandwidth.tool})"
        )
    if cluster.bandwidth is None and cluster.uplinks is None:
        unchecked.append("what links carry: the file has no bandwidths (plink probe --all)")
    if cluster.routes is not None:
        unchecked.append("routes")
    return unchecked


class _RepeatedRoundTrips:
    """Repeated measurement of round-trip times between the reached hosts of a cluster."""

    def __init__(
        self, cluster: Cluster, request: ProbeRequest, reached: Reached, progress: ProgressListener
    ) -> None:
        self._request = request
        self._reached = reached
        self._progress = progress
        self._cluster = Cluster(cluster.hosts)
        # The index in the file of each reached host.
        places = {name: index for index, name in enumerate(cluster.names)}
        self._places = [places[host.name] for host in reached.hosts]
        present = [Host(host.name, host.address) for host in reached.hosts]
        now = {host.name: host.address for host in present}
        self.moved = {
            name: (before, now[name]) for name, before in find_moved_hosts(present, cluster).items()
        }
        self.failures: list[Failure] = []
        self.seconds = 0.0

    @property
    def are_reached(self) -> judge.Mask:
        """Mask, shape (N, N), that is True where both hosts of a pair were reached."""
        there = np.isin(np.arange(len(self._cluster.hosts)), self._places)
        both: judge.Mask = there[:, None] & there[None, :]
        return both

    def measure(self, pairs: Sequence[judge.Pair]) -> Matrix:
        """Measure both directions of pairs; return times in µs, (N, N), NaN where not measured."""
        request, options = self._request, self._request.options
        if not isinstance(options, RttOptions):
            raise OptionError(f"{request.tool} does not measure round-trip times")
        collector = RttCollector(
            self._cluster, self._places, options.percentiles, on_settled=self._progress.step
        )
        index = {place: i for i, place in enumerate(self._places)}
        # Both lists have the hosts in the file's order, so that the lower index stays in front.
        rounds = build_disjoint_rounds((index[a], index[b]) for a, b in pairs)
        wanted = collector.missing(rounds)
        self._progress.stage("probing", len(wanted))
        visits = FurtherRounds(
            collector,
            self._places,
            rounds,
            wanted,
            options,
            seed=request.seed,
            on_pass=lambda number, total: self._progress.stage(f"pass {number}", total),
        )
        began = time.monotonic()
        tools.measure(build_job(request, self._reached.hosts, wanted, rounds, visits), collector)
        self.seconds += time.monotonic() - began
        self.failures += collector.failures
        return collector.readings_us()
