"""Measurement of hosts' links and groups' uplinks with many iperf3 transfers at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plink.probes.iperf3.parse import compute_received_between_gbit_s, compute_received_gbit_s
from plink.probes.iperf3.tool import WARM_UP_SHARE
from plink.probes.iperf3.transfers import OUT_OF_TIME
from plink.probes.samples import BandwidthReading, PairLoss
from plink.probes.uplinks.plan import ExchangeTurn, Flow, GroupExchange, plan_flows
from plink.probes.uplinks.simultaneous import (
    SimultaneousTransfers,
    TimedTransfer,
    common_windows_s,
)

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
    """Transfer data between hosts, all pairs of a round at once, and yield each one's result.

    Where that is more than a machine that hosts share bears, again so many at a time.

    Args:
        rounds: rounds of transfers, from the first host to the second; each host sends to one at
            most and receives from one at most.
        concurrency: transfers at a time where the hosts' machine is the limit.
    """
    for wanted in rounds:
        # Hosts that cannot take part were named by whoever found that out.
        pairs = [pair for pair in wanted if all(map(transfers.can_take_part, pair))]
        if transfers.left_s() <= duration_s:
            yield from (PairLoss(*pair, OUT_OF_TIME) for pair in pairs)
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
            if isinstance(outcome, Exception):
                yield PairLoss(*pair, str(outcome))
                continue
            gbit_s = compute_received_gbit_s(outcome.report, WARM_UP_SHARE * duration_s)
            if gbit_s:
                yield BandwidthReading(*pair, gbit_s, outcome.report.retransmits)
            else:
                yield PairLoss(*pair, "no data arrived")


@dataclass(frozen=True)
class ExchangeLoss:
    """Group whose rate could not be measured in one direction, with the reason."""

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
    """Measure the groups' send and receive rates, turn by turn, and yield the results.

    Args:
        groups: indices of the hosts of each group; at least two groups, none empty.
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
            reason = OUT_OF_TIME
            break
        planned = zip(left, plan_flows(present, left), strict=True)
        flows = [(group, flow) for group, of_group in planned for flow in of_group]
        pairs = [
            (flow.member, flow.partner) if turn.sends else (flow.partner, flow.member)
            for _, flow in flows
        ]
        outcomes = transfers.run(pairs, longer * duration_s)
        timed: dict[tuple[int, Flow], TimedTransfer] = {}
        for way, pair, outcome in zip(flows, pairs, outcomes, strict=True):
            if isinstance(outcome, TimedTransfer):
                timed[way] = outcome
            else:
                yield PairLoss(*pair, str(outcome))
        is_busy = transfers.is_busy(pairs, outcomes)
        if transfers.left_s() <= 0.0:
            # Some of them may have ended in time: those are not what all exchange.
            reason = OUT_OF_TIME
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
            yield GroupExchange(group, turn.sends, own, is_whole, beside, is_busy)
        return
    yield from drop(list(left), reason)


def _compute_common_gbit_s(
    timed: Sequence[TimedTransfer], duration_s: int
) -> Sequence[float] | None:
    """Return each transfer's rate while all of them ran; None if one is unknown."""
    windows_s = common_windows_s(timed, duration_s, WARM_UP_SHARE * duration_s)
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
    """Return a group's total rate in Gbit/s with both directions loaded at once.

    Transfers that carried little are tried again, too: other work takes time from them now and
    then, and adds none.

    Args:
        groups: indices of the hosts of each group; at least two groups, none empty.
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
        outcomes = transfers.run(pairs, longer * duration_s)
        timed = [outcome for outcome in outcomes if isinstance(outcome, TimedTransfer)]
        rates = None
        if timed and len(timed) == len(pairs):
            rates = _compute_common_gbit_s(timed, longer * duration_s)
        if rates is not None:
            most = max(sum(rates), most or 0.0)
            if most >= enough_gbit_s:
                break
    return most
