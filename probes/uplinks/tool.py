"""Measurement of hosts' links and groups' uplinks with many simultaneous iperf3 transfers."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plink.probes.errors import HostError
from plink.probes.iperf3 import tool as iperf3
from plink.probes.iperf3.parse import (
    TransferReport,
    compute_received_between_gbit_s,
    compute_received_gbit_s,
)
from plink.probes.options import TransferOptions
from plink.probes.reach import ReachedHost
from plink.probes.samples import BandwidthReading, HostLoss, PairLoss, no_limit
from plink.probes.uplinks.plan import (
    ExchangeTurn,
    Flow,
    GroupExchange,
    number_transfers,
    plan_flows,
)

if TYPE_CHECKING:
    from typing_extensions import Self

# So many other ports are tried for a server whose own is taken.
_PORT_TRIES = 3
# Hosts on one machine whose iperf3s use so much of it may be held back by it, not by links.
_BUSY = 0.6
# What was on the way when senders stopped arrives faster than they sent: the last moment does not
# count.
_LAST_S = 0.1
# Of its duration a transfer has to run beside all others.
_LEAST_SHARE = 0.3


@dataclass(frozen=True)
class TimedTransfer:
    """Report of a transfer, with the time in seconds when it ended on this machine's clock."""

    report: TransferReport
    ended_s: float


def common_windows_s(
    transfers: Sequence[TimedTransfer], duration_s: float, warm_up_s: float
) -> list[tuple[float, float]] | None:
    """Return when all transfers ran, as (start, end) in s since each began; None if too short.

    A transfer begins some time after it was told to: its two ends exchange a few packets before,
    which takes longest for those that find the queues on the way full. Little lies between its end
    and its report. So it counts as begun when its report was here, less its duration.

    Args:
        warm_up_s: what is left out at the beginning of the time together.
    """
    begun_s = [transfer.ended_s - duration_s for transfer in transfers]
    first_s, last_s = max(begun_s) + warm_up_s, min(begun_s) + duration_s - _LAST_S
    if last_s - first_s < _LEAST_SHARE * duration_s:
        return None
    return [(first_s - begin_s, last_s - begin_s) for begin_s in begun_s]


Outcome = TimedTransfer | Exception


class SimultaneousTransfers:
    """Runner of iperf3 transfers between hosts, many of which start at the same moment.

    A context manager: no iperf3 is left on a host when it is left, or when this process ends.

    Args:
        options: what is the same for all transfers; its port is the first where servers listen.
        on_host_lost: called for a host that cannot take part, or is lost later.
        left_s: returns the seconds that are left for transfers; called by any thread.
    """

    def __init__(
        self,
        hosts: Sequence[ReachedHost],
        options: TransferOptions,
        on_host_lost: Callable[[HostLoss], None],
        *,
        silence_s: float,
        left_s: Callable[[], float] = no_limit,
        ssh_concurrency: int = 16,
    ) -> None:
        self.hosts = hosts
        self.left_s = left_s
        self._transfers = iperf3.Transfers(options, silence_s, left_s)
        self._port = options.port or iperf3.DEFAULT_PORT
        self._ssh_concurrency = ssh_concurrency
        self._on_host_lost = on_host_lost
        self._ends: Mapping[int, iperf3.TransferHost] = {}
        # Why hosts cannot take part, by index.
        self._lost: dict[int, HostError] = {}
        # Hosts whose last second try failed. Their transfers get no second try until one of them
        # succeeds: waiting twice for each transfer would take too long.
        self._failed_twice: set[int] = set()

    def __enter__(self) -> Self:
        self._ends, self._lost = iperf3.find_transfer_hosts(self.hosts, self._ssh_concurrency)
        for index, error in self._lost.items():
            self._on_host_lost(HostLoss(index, str(error)))
        return self

    def __exit__(self, *_: object) -> None:
        self._transfers.stop()

    def can_take_part(self, host: int) -> bool:
        """Return whether a host has a usable iperf3 and its connection is alive."""
        return host not in self._lost

    def run(self, pairs: Sequence[tuple[int, int]], duration_s: int) -> list[Outcome]:
        """Run transfers (sender, receiver) all at once; return each one's report or error.

        A host whose connection is gone takes no part any more.
        """
        able = [pair for pair in pairs if all(map(self.can_take_part, pair))]
        done = dict(zip(able, self._run(able, duration_s), strict=True)) if able else {}
        for pair in pairs:
            if pair not in done:
                lost = next(host for host in pair if host in self._lost)
                done[pair] = iperf3.TransferError(f"{self.hosts[lost].name}: {self._lost[lost]}")
        return [done[pair] for pair in pairs]

    def record_results(
        self,
        results: Mapping[tuple[int, int], object],
        second_tries: Collection[tuple[int, int]] = (),
    ) -> None:
        """Record which hosts had a second try that failed, or transfers that all succeeded.

        Args:
            results: an exception for each pair whose transfer failed, anything else for the others.
            second_tries: the pairs whose transfers failed before, too.
        """
        failed = self._find_transient(results)
        succeeded = [pair for pair, result in results.items() if not isinstance(result, Exception)]
        self._failed_twice -= set().union(*succeeded) - set().union(*failed)
        self._failed_twice.update(*(pair for pair in failed if pair in second_tries))

    def find_second_tries(
        self, results: Mapping[tuple[int, int], object], duration_s: int
    ) -> list[tuple[int, int]]:
        """Return the pairs, by their results, whose transfers failed and are worth a second try.

        The list is empty if no more than `duration_s` is left.
        """
        failed = list(filter(self._failed_twice.isdisjoint, self._find_transient(results)))
        return failed if failed and self.left_s() > duration_s else []

    def _find_transient(self, results: Mapping[tuple[int, int], object]) -> list[tuple[int, int]]:
        return [
            pair
            for pair, result in results.items()
            if iperf3.is_transient(result) and all(map(self.can_take_part, pair))
        ]

    def is_busy(self, pairs: Sequence[tuple[int, int]], outcomes: Sequence[Outcome]) -> bool:
        """Return whether a machine's processors, shared by hosts, may have slowed transfers."""
        residents = Counter(host.facts.machine for host in self.hosts if host.facts.machine)
        used_percent: defaultdict[str, float] = defaultdict(float)
        for pair, outcome in zip(pairs, outcomes, strict=True):
            if isinstance(outcome, TimedTransfer):
                for host, percent in zip(pair, outcome.report.cpu_percent, strict=True):
                    used_percent[self.hosts[host].facts.machine] += percent
        return any(
            residents[host.facts.machine] > 1
            and used_percent[host.facts.machine] >= _BUSY * 100.0 * host.facts.cores
            for host in self.hosts
        )

    def _run(self, pairs: Sequence[tuple[int, int]], duration_s: int) -> list[Outcome]:
        # All begin once each is ready or has failed.
        start = threading.Barrier(len(pairs))
        places = number_transfers([sender for sender, _ in pairs])
        stride = max(places) + 1

        def run_one(pair: tuple[int, int], place: int) -> Outcome:
            ports = range(self._port + place, self._port + stride * _PORT_TRIES, stride)
            try:
                with ExitStack() as held:
                    try:
                        run_transfer = self._prepare(held, pair, ports, duration_s)
                    finally:
                        start.wait()
                    return TimedTransfer(run_transfer(), time.monotonic())
            except (iperf3.TransferError, HostError) as error:
                return error

        executor = ThreadPoolExecutor(max_workers=len(pairs))
        try:
            outcomes = list(executor.map(run_one, pairs, places))
        except BaseException:
            # An interrupt: those that wait would wait for ever.
            self._transfers.stop()
            start.abort()
            raise
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
        for pair, outcome in zip(pairs, outcomes, strict=True):
            if isinstance(outcome, HostError):
                for host in pair:
                    if outcome.host == self.hosts[host].name and host not in self._lost:
                        self._lost[host] = outcome
                        self._on_host_lost(HostLoss(host, str(outcome)))
        return outcomes

    def _prepare(
        self, held: ExitStack, pair: tuple[int, int], ports: Sequence[int], duration_s: int
    ) -> Callable[[], TransferReport]:
        sender, receiver = (self._ends[host] for host in pair)
        for port in ports:
            try:
                return held.enter_context(
                    self._transfers.prepare(sender, receiver, port, duration_s)
                )
            except iperf3.PortTakenError as error:
                taken = error
        raise taken


# Transfers that did not overlap are tried again, and so many times longer: a busy machine may begin
# them too far apart.
_TRIES = (1, 2, 4)


def measure_links(
    transfers: SimultaneousTransfers,
    rounds: Sequence[Sequence[tuple[int, int]]],
    duration_s: int,
    *,
    concurrency: int,
) -> Iterator[BandwidthReading | PairLoss]:
    """Run transfers, all pairs of a round at once, and yield each one's rate or loss.

    Where that is more than a machine that hosts share bears, again `concurrency` at a time. A
    transfer that failed is tried once more, together with those beside it: alone, its rate would be
    too high. In a round each host sends to one at most and receives from one at most.
    """
    for wanted in rounds:
        # Hosts that cannot take part were named by whoever found that out.
        pairs = [pair for pair in wanted if all(map(transfers.can_take_part, pair))]
        if transfers.left_s() <= duration_s:
            yield from (PairLoss(*pair, iperf3.OUT_OF_TIME) for pair in pairs)
            continue
        if not pairs:
            continue
        batches = [pairs]
        outcomes = transfers.run(pairs, duration_s)
        if len(pairs) > concurrency and transfers.is_busy(pairs, outcomes):
            batches = [pairs[k : k + concurrency] for k in range(0, len(pairs), concurrency)]
            outcomes = [
                outcome for batch in batches for outcome in transfers.run(batch, duration_s)
            ]
        results = _read_links(pairs, outcomes, duration_s)
        transfers.record_results(results)
        for batch in batches:
            failed = transfers.find_second_tries(
                {pair: results[pair] for pair in batch}, duration_s
            )
            if not failed:
                continue
            second_results = _read_links(batch, transfers.run(batch, duration_s), duration_s)
            transfers.record_results(second_results, failed)
            for pair, result in second_results.items():
                if isinstance(result, BandwidthReading):
                    results[pair] = result
        for pair, result in results.items():
            yield PairLoss(*pair, str(result)) if isinstance(result, Exception) else result


def _read_links(
    pairs: Sequence[tuple[int, int]], outcomes: Sequence[Outcome], duration_s: int
) -> dict[tuple[int, int], BandwidthReading | Exception]:
    return {
        pair: _read_link(pair, outcome, duration_s)
        for pair, outcome in zip(pairs, outcomes, strict=True)
    }


def _read_link(
    pair: tuple[int, int], outcome: Outcome, duration_s: int
) -> BandwidthReading | Exception:
    if isinstance(outcome, Exception):
        return outcome
    gbit_s = compute_received_gbit_s(outcome.report, iperf3.WARM_UP_SHARE * duration_s)
    if not gbit_s:
        return iperf3.TransferError(iperf3.NO_DATA, is_silence=True)
    return BandwidthReading(*pair, gbit_s, outcome.report.retransmits)


@dataclass(frozen=True)
class ExchangeLoss:
    """Failure to measure a group's rate in one direction, with the reason."""

    group: int
    sends: bool
    reason: str


GroupResult = GroupExchange | ExchangeLoss | PairLoss


def measure_groups(
    transfers: SimultaneousTransfers,
    groups: Sequence[Sequence[int]],
    turns: Sequence[ExchangeTurn],
    duration_s: int,
) -> Iterator[GroupResult]:
    """Measure groups' rates to send and receive, turn by turn, and yield results and losses.

    An exchange in which a transfer failed is tried once more; the try with more reports counts.
    """
    for turn in turns:
        yield from _measure_turn(transfers, groups, turn, duration_s)


def _measure_turn(
    transfers: SimultaneousTransfers,
    groups: Sequence[Sequence[int]],
    turn: ExchangeTurn,
    duration_s: int,
) -> Iterator[GroupResult]:
    left = list(turn.groups)

    def drop(lost: Sequence[int], reason: str) -> list[ExchangeLoss]:
        left[:] = [group for group in left if group not in lost]
        return [ExchangeLoss(group, turn.sends, reason) for group in lost]

    reason = "its transfers hardly overlapped"
    for longer in _TRIES:
        present = [list(filter(transfers.can_take_part, hosts)) for hosts in groups]
        partners = sum(map(len, present)) - sum(len(present[group]) for group in left)
        absent = [group for group in left if not present[group] or not partners]
        yield from drop(absent, "none of its hosts, or no other host, can take part")
        if not left:
            return
        if transfers.left_s() <= longer * duration_s:
            reason = iperf3.OUT_OF_TIME
            break
        planned = zip(left, plan_flows(present, left), strict=True)
        flows = [(group, flow) for group, of_group in planned for flow in of_group]
        pairs = [
            (flow.member, flow.partner) if turn.sends else (flow.partner, flow.member)
            for _, flow in flows
        ]
        outcomes = transfers.run(pairs, longer * duration_s)
        is_late = transfers.left_s() <= 0.0
        results = dict(zip(pairs, outcomes, strict=True))
        transfers.record_results(results)
        failed = [] if is_late else transfers.find_second_tries(results, longer * duration_s)
        if failed:
            second_outcomes = transfers.run(pairs, longer * duration_s)
            transfers.record_results(dict(zip(pairs, second_outcomes, strict=True)), failed)
            if transfers.left_s() > 0.0:
                outcomes = max(outcomes, second_outcomes, key=_count_reports)
        timed: dict[tuple[int, Flow], TimedTransfer] = {}
        for way, pair, outcome in zip(flows, pairs, outcomes, strict=True):
            if isinstance(outcome, TimedTransfer):
                timed[way] = outcome
            else:
                yield PairLoss(*pair, str(outcome))
        is_busy = transfers.is_busy(pairs, outcomes)
        if is_late:
            # Some of them may have ended in time: those are not what all exchange.
            reason = iperf3.OUT_OF_TIME
            break
        done = {group for group, _ in timed}
        yield from drop([group for group in left if group not in done], "no transfer succeeded")
        if not left:
            return
        known = _compute_common_gbit_s(list(timed.values()), longer * duration_s)
        if known is None:
            continue
        rates = list(zip(timed, known, strict=True))
        for group in left:
            own = [(flow, gbit_s) for (other, flow), gbit_s in rates if other == group]
            beside = [(flow, gbit_s) for (other, flow), gbit_s in rates if other != group]
            is_complete = len(own) == sum(other == group for other, _ in flows)
            is_whole = is_complete and {flow.member for flow, _ in own} == set(groups[group])
            exchange = GroupExchange(group, turn.sends, own, is_whole, beside, is_busy)
            lost = ExchangeLoss(group, turn.sends, iperf3.NO_DATA)
            yield exchange if exchange.gbit_s else lost
        return
    yield from drop(list(left), reason)


def _count_reports(outcomes: Sequence[Outcome]) -> int:
    return sum(isinstance(outcome, TimedTransfer) for outcome in outcomes)


def _compute_common_gbit_s(
    timed: Sequence[TimedTransfer], duration_s: int
) -> Sequence[float] | None:
    """Return each transfer's Gbit/s over the time in which all ran; None if unknown."""
    windows_s = common_windows_s(timed, duration_s, iperf3.WARM_UP_SHARE * duration_s)
    rates = [
        compute_received_between_gbit_s(each.report, *window_s)
        for each, window_s in zip(timed, windows_s or (), strict=False)
    ]
    known = [rate for rate in rates if rate is not None]
    return known if windows_s and len(known) == len(rates) else None


def measure_both_ways(
    transfers: SimultaneousTransfers,
    groups: Sequence[Sequence[int]],
    group: int,
    duration_s: int,
    enough_gbit_s: float,
) -> float | None:
    """Return a group's Gbit/s to and from other groups at once, summed; None if that failed.

    Transfers that carried less than `enough_gbit_s` are tried again, too: other work takes time
    from them now and then, and adds none. None where one failed each time, or they never ran
    together, or carried nothing.
    """
    (flows,) = plan_flows(groups, [group])
    pairs = [
        pair
        for flow in flows
        for pair in ((flow.member, flow.partner), (flow.partner, flow.member))
    ]
    most: float | None = None
    for longer in _TRIES:
        if transfers.left_s() <= longer * duration_s:
            break
        outcomes = transfers.run(pairs, longer * duration_s)
        timed = [outcome for outcome in outcomes if isinstance(outcome, TimedTransfer)]
        rates = None
        if timed and len(timed) == len(pairs):
            rates = _compute_common_gbit_s(timed, longer * duration_s)
        if rates is not None and any(rates):
            most = max(sum(rates), most or 0.0)
            if most >= enough_gbit_s:
                break
    return most
