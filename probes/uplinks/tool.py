"""Measuring what groups exchange with iperf3: all hosts of a group at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from queue import SimpleQueue

from probes.errors import HostError
from probes.iperf3.commands import TransferOptions
from probes.iperf3.ends import find_ends
from probes.iperf3.parse import received_gbit_s
from probes.iperf3.tool import WARM_UP_SHARE
from probes.iperf3.transfers import (
    DEFAULT_PORT,
    OUT_OF_TIME,
    End,
    PortTakenError,
    Prepared,
    TransferError,
    Transfers,
)
from probes.reach import ReachedHost
from probes.samples import HostLoss, PairLoss
from probes.uplinks.plan import Flow, plan_flows, slots
from probes.uplinks.samples import Exchange, UplinkSink
from probes.uplinks.window import Timed, common_window_s

# So many other ports are tried for a server whose own is taken.
_PORT_TRIES = 3
# Transfers that did not overlap are tried again, and so many times longer: a busy machine may begin
# them too far apart.
_TRIES = (1, 2, 4)


@dataclass(frozen=True)
class UplinkOptions:
    """How uplinks are measured.

    Args:
        transfer: what is the same for all transfers.
        port: the first of the ports where servers listen; 0 for the default.
    """

    transfer: TransferOptions
    port: int = 0


def measure(
    hosts: Sequence[ReachedHost],
    groups: Sequence[Sequence[int]],
    wanted: Sequence[tuple[int, bool]],
    options: UplinkOptions,
    sink: UplinkSink,
    *,
    ssh_concurrency: int = 16,
) -> None:
    """Measure what groups send and receive, one after the other; results go to `sink`.

    No iperf3 is left on a host when this ends, or when this process does.

    Args:
        groups: indices of the hosts of each group; at least two groups, none empty.
        wanted: index of a group, and whether it is to send.
    """
    transfers = Transfers(options.transfer, options.port)
    try:
        ends, failures = find_ends(hosts, ssh_concurrency)
        for index, error in failures.items():
            sink.host_lost(HostLoss(index, str(error)))
        run = _Run(transfers, options, ends, _Groups(hosts, groups), sink)
        for group, sends in wanted:
            run.measure(group, sends=sends)
    finally:
        transfers.stop()


@dataclass
class _Start:
    """Where transfers meet before they begin: each says that it is there, and waits for the word.

    Args:
        options: of all of them.
        there: gets one item a transfer, whether it is ready or failed.
        word: set when they may begin.
    """

    options: TransferOptions
    there: SimpleQueue[None] = field(default_factory=SimpleQueue)
    word: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class _Groups:
    """The hosts of a run, and the indices of those in each group."""

    hosts: Sequence[ReachedHost]
    of: Sequence[Sequence[int]]


class _Run:
    def __init__(
        self,
        transfers: Transfers,
        options: UplinkOptions,
        ends: dict[int, End],
        groups: _Groups,
        sink: UplinkSink,
    ) -> None:
        self._transfers = transfers
        self._options = options
        self._groups = groups
        self._ends = ends
        self._sink = sink

    def measure(self, group: int, *, sends: bool) -> None:
        """Measure one direction of one group."""
        reason = "none of its hosts, or no other host, can take part"
        for longer in _TRIES:
            present = [[host for host in hosts if host in self._ends] for hosts in self._groups.of]
            if not present[group] or sum(map(len, present)) == len(present[group]):
                break
            flows = plan_flows(present, group)
            duration_s = longer * self._options.transfer.duration_s
            if self._options.transfer.left_s() <= duration_s:
                reason = OUT_OF_TIME
                break
            done = self._done(flows, duration_s, sends=sends)
            if self._options.transfer.left_s() <= 0.0:
                # Some of them may have ended in time: those are not what all exchange.
                reason = OUT_OF_TIME
                break
            if not done:
                reason = "no transfer succeeded"
                break
            rates = _rates(done, duration_s)
            if rates is not None:
                involved = {flow.member for flow in done}
                is_whole = len(done) == len(flows) and involved == set(self._groups.of[group])
                self._sink.exchange(Exchange(group, sends, rates, is_whole))
                return
            reason = "its transfers hardly overlapped"
        self._sink.exchange_lost(group, sends=sends, reason=reason)

    def _done(self, flows: Sequence[Flow], duration_s: int, *, sends: bool) -> dict[Flow, Timed]:
        """Run transfers at once; those that succeeded."""
        done: dict[Flow, Timed] = {}
        outcomes = self._run_at_once(flows, duration_s, sends=sends)
        for flow, outcome in zip(flows, outcomes, strict=True):
            if isinstance(outcome, Timed):
                done[flow] = outcome
            else:
                self._lose(_ends_of(flow, sends=sends), outcome)
        return done

    def _lose(self, pair: tuple[int, int], error: Exception) -> None:
        self._sink.pair_lost(PairLoss(*pair, str(error)))
        for host in pair:
            is_its = isinstance(error, HostError) and error.host == self._groups.hosts[host].name
            if is_its and self._ends.pop(host, None) is not None:
                self._sink.host_lost(HostLoss(host, str(error)))

    def _run_at_once(
        self, flows: Sequence[Flow], duration_s: int, *, sends: bool
    ) -> list[Timed | Exception]:
        start = _Start(replace(self._options.transfer, duration_s=duration_s))
        pairs = [_ends_of(flow, sends=sends) for flow in flows]
        places = slots([sender for sender, _ in pairs])
        stride = max(places) + 1
        executor = ThreadPoolExecutor(max_workers=len(flows))
        try:
            running = [
                executor.submit(
                    self._run_one, pair, range(place, stride * _PORT_TRIES, stride), start
                )
                for pair, place in zip(pairs, places, strict=True)
            ]
            for _ in flows:
                start.there.get()
            start.word.set()
            return [future.result() for future in running]
        finally:
            self._release(start)
            executor.shutdown(wait=False, cancel_futures=True)

    def _release(self, start: _Start) -> None:
        """Let nobody wait for a word that does not come, after an interrupt."""
        if not start.word.is_set():
            self._transfers.stop()
            start.word.set()

    def _run_one(
        self, pair: tuple[int, int], places: Sequence[int], start: _Start
    ) -> Timed | Exception:
        is_there = False
        try:
            with ExitStack() as held:
                transfer = self._prepare(held, pair, places, start.options)
                is_there = True
                start.there.put(None)
                start.word.wait()
                told_s = time.monotonic()
                report = transfer.run()
                return Timed(report, told_s, time.monotonic())
        except (TransferError, HostError) as error:
            return error
        finally:
            if not is_there:
                start.there.put(None)

    def _prepare(
        self,
        held: ExitStack,
        pair: tuple[int, int],
        places: Sequence[int],
        options: TransferOptions,
    ) -> Prepared:
        sender, receiver = (self._ends[host] for host in pair)
        first = self._options.port or DEFAULT_PORT
        for place in places:
            try:
                return held.enter_context(
                    self._transfers.prepared(sender, receiver, first + place, options)
                )
            except PortTakenError as error:
                taken = error
        raise taken


def _ends_of(flow: Flow, *, sends: bool) -> tuple[int, int]:
    """The host that sends, and the one that receives."""
    return (flow.member, flow.partner) if sends else (flow.partner, flow.member)


def _rates(done: Mapping[Flow, Timed], duration_s: int) -> list[tuple[Flow, float]] | None:
    """What transfers achieved while all of them ran; None where that is not known."""
    window_s = common_window_s(list(done.values()), duration_s, WARM_UP_SHARE * duration_s)
    if window_s is None:
        return None
    found = [(flow, received_gbit_s(timed.report, *window_s)) for flow, timed in done.items()]
    known = [(flow, gbit_s) for flow, gbit_s in found if gbit_s is not None]
    return known if len(known) == len(found) else None
