"""Measurement of hosts' links and groups' uplinks with many iperf3 transfers at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from plink.probes.iperf3.parse import compute_received_between_gbit_s, compute_received_gbit_s
from plink.probes.iperf3.tool import WARM_UP_SHARE
from plink.probes.iperf3.transfers import OUT_OF_TIME
from plink.probes.samples import BandwidthReading, PairLoss
from plink.probes.uplinks.plan import ExchangeTurn, Flow, GroupExchange, plan_flows
from plink.probes.uplinks.simultaneous import (
    Outcome,
    SimultaneousTransfers,
    TimedTransfer,
    common_windows_s,
)

# Transfers that did not overlap are tried again, and so many times longer: a busy machine may begin
# them too far apart.
_TRIES = (1, 2, 4)

Rates = list[tuple[Flow, float]]


class LinkSink(Protocol):
    """Interface of receivers of hosts' link rates."""

    def reading(self, reading: BandwidthReading) -> None:
        """Record the rate at which a host sent to another."""

    def pair_lost(self, loss: PairLoss) -> None:
        """Record that a transfer from a source to a destination failed."""


class UplinkSink(Protocol):
    """Interface of receivers of groups' rates, as they come."""

    def exchange(self, exchange: GroupExchange) -> None:
        """Record the rate of a group in one direction."""

    def exchange_lost(self, group: int, *, sends: bool, reason: str) -> None:
        """Record that a group could not be measured in one direction."""

    def pair_lost(self, loss: PairLoss) -> None:
        """Record that a transfer from a source to a destination failed."""


def measure_links(
    transfers: SimultaneousTransfers,
    rounds: Sequence[Sequence[tuple[int, int]]],
    duration_s: int,
    sink: LinkSink,
    *,
    concurrency: int,
) -> None:
    """Transfer data between hosts, all pairs of a round at once; results go to `sink`.

    Where that is more than a machine that hosts share bears, again so many at a time.

    Args:
        rounds: rounds of transfers, from the first host to the second; each host sends to one at
            most and receives from one at most.
        duration_s: duration of a transfer, in s.
        concurrency: transfers at a time where the hosts' machine is the limit.
    """
    for wanted in rounds:
        # Hosts that cannot take part were named by whoever found that out.
        pairs = [pair for pair in wanted if all(map(transfers.can_take_part, pair))]
        if transfers.left_s() <= duration_s:
            for pair in pairs:
                sink.pair_lost(PairLoss(*pair, OUT_OF_TIME))
            continue
        if not pairs:
            continue
        outcomes = transfers.run(pairs, duration_s)
        if len(pairs) > concurrency and transfers.is_busy(pairs, outcomes):
            outcomes = [
                outcome
                for first in range(0, len(pairs), concurrency)
                for outcome in transfers.run(pairs[first : first + concurrency], duration_s)
            ]
        for pair, outcome in zip(pairs, outcomes, strict=True):
            _deliver(pair, outcome, duration_s, sink)


def _deliver(pair: tuple[int, int], outcome: Outcome, duration_s: int, sink: LinkSink) -> None:
    if isinstance(outcome, Exception):
        sink.pair_lost(PairLoss(*pair, str(outcome)))
        return
    gbit_s = compute_received_gbit_s(outcome.report, WARM_UP_SHARE * duration_s)
    if gbit_s:
        sink.reading(BandwidthReading(*pair, gbit_s, outcome.report.retransmits))
    else:
        sink.pair_lost(PairLoss(*pair, "no data arrived"))


def measure_groups(
    transfers: SimultaneousTransfers,
    groups: Sequence[Sequence[int]],
    turns: Sequence[ExchangeTurn],
    duration_s: int,
    sink: UplinkSink,
) -> None:
    """Measure the groups' send and receive rates, turn by turn; results go to `sink`.

    Args:
        groups: indices of the hosts of each group; at least two groups, none empty.
        turns: which of them are measured at the same time.
        duration_s: seconds of a transfer.
    """
    for turn in turns:
        _RunningTurn(transfers, groups, turn, duration_s, sink).measure()


class _RunningTurn:
    def __init__(
        self,
        transfers: SimultaneousTransfers,
        groups: Sequence[Sequence[int]],
        turn: ExchangeTurn,
        duration_s: int,
        sink: UplinkSink,
    ) -> None:
        self._transfers = transfers
        self._duration_s = duration_s
        self._groups = groups
        self._sends = turn.sends
        self._left = list(turn.groups)
        self._sink = sink

    def measure(self) -> None:
        """Measure the groups of this turn at once and report each."""
        reason = "its transfers hardly overlapped"
        for longer in _TRIES:
            duration_s = longer * self._duration_s
            present = self._list_present()
            self._lose_absent(present)
            if not self._left:
                return
            if self._transfers.left_s() <= duration_s:
                reason = OUT_OF_TIME
                break
            flows = dict(zip(self._left, plan_flows(present, self._left), strict=True))
            done, is_busy = self._run_transfers(flows, duration_s)
            if self._transfers.left_s() <= 0.0:
                # Some of them may have ended in time: those are not what all exchange.
                reason = OUT_OF_TIME
                break
            self._drop([group for group in self._left if not done[group]], "no transfer succeeded")
            rates = _rates({group: done[group] for group in self._left}, duration_s)
            if rates is not None:
                self._deliver(flows, rates, is_busy=is_busy)
                return
        self._drop(list(self._left), reason)

    def _list_present(self) -> list[list[int]]:
        return [list(filter(self._transfers.can_take_part, hosts)) for hosts in self._groups]

    def _lose_absent(self, present: Sequence[Sequence[int]]) -> None:
        partners = sum(map(len, present)) - sum(len(present[group]) for group in self._left)
        absent = [group for group in self._left if not present[group] or not partners]
        self._drop(absent, "none of its hosts, or no other host, can take part")

    def _drop(self, groups: Sequence[int], reason: str) -> None:
        for group in groups:
            self._left.remove(group)
            self._sink.exchange_lost(group, sends=self._sends, reason=reason)

    def _run_transfers(
        self, flows: Mapping[int, Sequence[Flow]], duration_s: int
    ) -> tuple[dict[int, dict[Flow, TimedTransfer]], bool]:
        """Return the successful transfers, and whether a machine may have limited them."""
        order = [(group, flow) for group, some in flows.items() for flow in some]
        pairs = [_order_ends(flow, sends=self._sends) for _, flow in order]
        outcomes = self._transfers.run(pairs, duration_s)
        done: dict[int, dict[Flow, TimedTransfer]] = {group: {} for group in flows}
        for (group, flow), pair, outcome in zip(order, pairs, outcomes, strict=True):
            if isinstance(outcome, TimedTransfer):
                done[group][flow] = outcome
            else:
                self._sink.pair_lost(PairLoss(*pair, str(outcome)))
        return done, self._transfers.is_busy(pairs, outcomes)

    def _deliver(
        self,
        flows: Mapping[int, Sequence[Flow]],
        rates: Mapping[int, Rates],
        *,
        is_busy: bool,
    ) -> None:
        for group, own in rates.items():
            involved = {flow.member for flow, _ in own}
            is_whole = len(own) == len(flows[group]) and involved == set(self._groups[group])
            beside = [rate for other, some in rates.items() if other != group for rate in some]
            self._sink.exchange(GroupExchange(group, self._sends, own, is_whole, beside, is_busy))


def _order_ends(flow: Flow, *, sends: bool) -> tuple[int, int]:
    """Return sender and receiver of a transfer."""
    return (flow.member, flow.partner) if sends else (flow.partner, flow.member)


def _rates(
    done: Mapping[int, Mapping[Flow, TimedTransfer]], duration_s: int
) -> dict[int, Rates] | None:
    """Return each group's rates while all its transfers ran; None if unknown."""
    order = [(group, flow, timed) for group, some in done.items() for flow, timed in some.items()]
    rates: dict[int, Rates] = {group: [] for group in done}
    if not order:
        return rates
    windows_s = common_windows_s(
        [timed for *_, timed in order], duration_s, WARM_UP_SHARE * duration_s
    )
    if windows_s is None:
        return None
    for (group, flow, timed), window_s in zip(order, windows_s, strict=True):
        gbit_s = compute_received_between_gbit_s(timed.report, *window_s)
        if gbit_s is None:
            return None
        rates[group].append((flow, gbit_s))
    return rates


def measure_both_ways(
    transfers: SimultaneousTransfers,
    groups: Sequence[Sequence[int]],
    group: int,
    duration_s: int,
    enough_gbit_s: float,
) -> float | None:
    """Return a group's total rate in Gbit/s with both directions loaded at once.

    Transfers that carried little are tried again, too: other work takes time from them now and
    then, and adds none.

    Args:
        transfers: the hosts.
        groups: indices of the hosts of each group; at least two groups, none empty.
        group: index of the one in question.
        duration_s: seconds of a transfer; transfers that do not overlap are repeated, and longer.
        enough_gbit_s: rate below which the best of several tries counts.

    Returns:
        None where one failed each time, or they never ran together.
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
        gbit_s = _together_gbit_s(transfers, pairs, longer * duration_s)
        if gbit_s is not None:
            most = max(gbit_s, most or 0.0)
            if most >= enough_gbit_s:
                break
    return most


def _together_gbit_s(
    transfers: SimultaneousTransfers, pairs: Sequence[tuple[int, int]], duration_s: int
) -> float | None:
    outcomes = transfers.run(pairs, duration_s)
    timed = [outcome for outcome in outcomes if isinstance(outcome, TimedTransfer)]
    if not timed or len(timed) < len(pairs):
        return None
    windows_s = common_windows_s(timed, duration_s, WARM_UP_SHARE * duration_s)
    if windows_s is None:
        return None
    rates = [
        compute_received_between_gbit_s(each.report, *window_s)
        for each, window_s in zip(timed, windows_s, strict=True)
    ]
    known = [rate for rate in rates if rate is not None]
    return sum(known) if len(known) == len(rates) else None
