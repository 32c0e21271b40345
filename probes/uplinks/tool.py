"""Measurement of the rates between groups with iperf3, all hosts of a group at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plink.probes.iperf3.parse import received_between_gbit_s
from plink.probes.iperf3.tool import WARM_UP_SHARE
from plink.probes.iperf3.transfers import OUT_OF_TIME
from plink.probes.samples import PairLoss
from plink.probes.uplinks.at_once import AtOnce
from plink.probes.uplinks.plan import ExchangeTurn, Flow, plan_flows
from plink.probes.uplinks.samples import GroupExchange, UplinkSink
from plink.probes.uplinks.window import Timed, common_windows_s

# Transfers that did not overlap are tried again, and so many times longer: a busy machine may begin
# them too far apart.
_TRIES = (1, 2, 4)

Rates = list[tuple[Flow, float]]


def measure(
    between: AtOnce,
    groups: Sequence[Sequence[int]],
    turns: Sequence[ExchangeTurn],
    sink: UplinkSink,
) -> None:
    """Measure the groups' send and receive rates, turn by turn; results go to `sink`.

    Args:
        groups: indices of the hosts of each group; at least two groups, none empty.
        turns: which of them are measured at the same time.
    """
    for turn in turns:
        _RunningTurn(between, groups, turn, sink).measure()


class _RunningTurn:
    def __init__(
        self, between: AtOnce, groups: Sequence[Sequence[int]], turn: ExchangeTurn, sink: UplinkSink
    ) -> None:
        self._between = between
        self._groups = groups
        self._sends = turn.sends
        self._left = list(turn.groups)
        self._sink = sink

    def measure(self) -> None:
        """Measure this turn and report every group of it."""
        reason = "its transfers hardly overlapped"
        for longer in _TRIES:
            duration_s = longer * self._between.transfer.duration_s
            present = self._present()
            self._lose_absent(present)
            if not self._left:
                return
            if self._between.transfer.left_s() <= duration_s:
                reason = OUT_OF_TIME
                break
            flows = dict(zip(self._left, plan_flows(present, self._left), strict=True))
            done, is_busy = self._run_transfers(flows, duration_s)
            if self._between.transfer.left_s() <= 0.0:
                # Some of them may have ended in time: those are not what all exchange.
                reason = OUT_OF_TIME
                break
            self._drop([group for group in self._left if not done[group]], "no transfer succeeded")
            rates = _rates({group: done[group] for group in self._left}, duration_s)
            if rates is not None:
                self._deliver(flows, rates, is_busy=is_busy)
                return
        self._drop(list(self._left), reason)

    def _present(self) -> list[list[int]]:
        return [list(filter(self._between.can_take_part, hosts)) for hosts in self._groups]

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
    ) -> tuple[dict[int, dict[Flow, Timed]], bool]:
        """Return the successful transfers, and whether a machine may have limited them."""
        order = [(group, flow) for group, some in flows.items() for flow in some]
        pairs = [_ends_of(flow, sends=self._sends) for _, flow in order]
        outcomes = self._between.run(pairs, duration_s)
        done: dict[int, dict[Flow, Timed]] = {group: {} for group in flows}
        for (group, flow), pair, outcome in zip(order, pairs, outcomes, strict=True):
            if isinstance(outcome, Timed):
                done[group][flow] = outcome
            else:
                self._sink.pair_lost(PairLoss(*pair, str(outcome)))
        return done, self._between.is_busy(pairs, outcomes)

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


def _ends_of(flow: Flow, *, sends: bool) -> tuple[int, int]:
    """Return sender and receiver of a flow."""
    return (flow.member, flow.partner) if sends else (flow.partner, flow.member)


def _rates(done: Mapping[int, Mapping[Flow, Timed]], duration_s: int) -> dict[int, Rates] | None:
    """Return each group's rates while all its transfers ran; None if unknown."""
    order = [(group, flow, timed) for group, some in done.items() for flow, timed in some.items()]
    found: dict[int, Rates] = {group: [] for group in done}
    if not order:
        return found
    windows_s = common_windows_s(
        [timed for *_, timed in order], duration_s, WARM_UP_SHARE * duration_s
    )
    if windows_s is None:
        return None
    for (group, flow, timed), window_s in zip(order, windows_s, strict=True):
        gbit_s = received_between_gbit_s(timed.report, *window_s)
        if gbit_s is None:
            return None
        found[group].append((flow, gbit_s))
    return found
