"""Simultaneous iperf3 transfers between many hosts."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from queue import SimpleQueue

from plink.probes.errors import HostError
from plink.probes.iperf3.commands import TransferSettings
from plink.probes.iperf3.transfers import (
    DEFAULT_PORT,
    End,
    PortTakenError,
    Prepared,
    TransferError,
    Transfers,
    find_ends,
)
from plink.probes.reach import ReachedHost
from plink.probes.samples import HostLoss
from plink.probes.uplinks.plan import slots
from plink.probes.uplinks.window import Timed

# So many other ports are tried for a server whose own is taken.
_PORT_TRIES = 3
# Hosts on one machine whose iperf3s use so much of it may be held back by it, not by links.
_BUSY = 0.6

Outcome = Timed | Exception


@dataclass(frozen=True)
class _Start:
    """Barrier at which all transfers report ready and wait for the start signal.

    Args:
        options: options of all of them.
        there: gets one item a transfer, whether it is ready or failed.
        word: set when they may begin.
    """

    options: TransferSettings
    there: SimpleQueue[None] = field(default_factory=SimpleQueue)
    word: threading.Event = field(default_factory=threading.Event)


class AtOnce:
    """Simultaneous transfers between the hosts of a run.

    Args:
        hosts: all of them, whose indices every other place means.
        transfer: what is the same for all transfers.
        port: the first of the ports where servers listen; 0 for the default.
        ends: of the hosts that can take part, by index.
        lost: of the others, why they cannot.
        on_host_lost: called for a host that is lost later.
    """

    def __init__(
        self,
        hosts: Sequence[ReachedHost],
        transfer: TransferSettings,
        *,
        port: int,
        ends: Mapping[int, End],
        lost: Mapping[int, HostError],
        on_host_lost: Callable[[HostLoss], None],
    ) -> None:
        self.transfer = transfer
        self.hosts = hosts
        self._transfers = Transfers(transfer, port)
        self._port = port or DEFAULT_PORT
        self._ends = ends
        self._lost = dict(lost)
        self._on_host_lost = on_host_lost

    def can_take_part(self, host: int) -> bool:
        """Return whether a host has iperf3 and answers."""
        return host not in self._lost

    def run(self, pairs: Sequence[tuple[int, int]], duration_s: int) -> list[Outcome]:
        """Run transfers from each pair's first host to its second at once; return the outcomes.

        A host whose connection is gone takes no part any more.
        """
        able = [pair for pair in pairs if all(map(self.can_take_part, pair))]
        done = dict(zip(able, self._run(able, duration_s), strict=True)) if able else {}
        return [done[pair] if pair in done else self._why_not(pair) for pair in pairs]

    def is_busy(self, pairs: Sequence[tuple[int, int]], outcomes: Sequence[Outcome]) -> bool:
        """Return whether a machine shared by several hosts may have limited the transfers."""
        residents = Counter(host.facts.machine for host in self.hosts if host.facts.machine)
        used_percent: defaultdict[str, float] = defaultdict(float)
        for pair, outcome in zip(pairs, outcomes, strict=True):
            if isinstance(outcome, Timed):
                for host, percent in zip(pair, outcome.report.cpu_percent, strict=True):
                    used_percent[self.hosts[host].facts.machine] += percent
        return any(
            residents[host.facts.machine] > 1
            and used_percent[host.facts.machine] >= _BUSY * 100.0 * host.facts.cores
            for host in self.hosts
        )

    def stop(self) -> None:
        """End all transfers."""
        self._transfers.stop()

    def _why_not(self, pair: tuple[int, int]) -> Exception:
        lost = next(host for host in pair if host in self._lost)
        return TransferError(f"{self.hosts[lost].name}: {self._lost[lost]}")

    def _run(self, pairs: Sequence[tuple[int, int]], duration_s: int) -> list[Outcome]:
        start = _Start(replace(self.transfer, duration_s=duration_s))
        places = slots([sender for sender, _ in pairs])
        stride = max(places) + 1
        executor = ThreadPoolExecutor(max_workers=len(pairs))
        try:
            running = [
                executor.submit(
                    self._run_one, pair, range(place, stride * _PORT_TRIES, stride), start
                )
                for pair, place in zip(pairs, places, strict=True)
            ]
            for _ in pairs:
                start.there.get()
            start.word.set()
            outcomes = [future.result() for future in running]
        finally:
            self._release(start)
            executor.shutdown(wait=False, cancel_futures=True)
        for pair, outcome in zip(pairs, outcomes, strict=True):
            if isinstance(outcome, HostError):
                self._lose(pair, outcome)
        return outcomes

    def _lose(self, pair: tuple[int, int], error: HostError) -> None:
        for host in pair:
            is_its = error.host == self.hosts[host].name
            if is_its and host not in self._lost:
                self._lost[host] = error
                self._on_host_lost(HostLoss(host, str(error)))

    def _release(self, start: _Start) -> None:
        """Release all waiting transfers after an interrupt."""
        if not start.word.is_set():
            self._transfers.stop()
            start.word.set()

    def _run_one(self, pair: tuple[int, int], places: Sequence[int], start: _Start) -> Outcome:
        is_there = False
        try:
            with ExitStack() as held:
                transfer = self._prepare(held, pair, places, start.options)
                is_there = True
                start.there.put(None)
                start.word.wait()
                report = transfer.run()
                return Timed(report, time.monotonic())
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
        options: TransferSettings,
    ) -> Prepared:
        sender, receiver = (self._ends[host] for host in pair)
        for place in places:
            try:
                return held.enter_context(
                    self._transfers.prepare(sender, receiver, self._port + place, options)
                )
            except PortTakenError as error:
                taken = error
        raise taken


@contextmanager
def at_once(
    hosts: Sequence[ReachedHost],
    transfer: TransferSettings,
    on_host_lost: Callable[[HostLoss], None],
    *,
    port: int = 0,
    ssh_concurrency: int = 16,
) -> Iterator[AtOnce]:
    """Yield the transfers between these hosts; call `on_host_lost` for hosts that cannot take part.

    No iperf3 is left on a host when this ends, or when this process does.
    """
    ends, failures = find_ends(hosts, ssh_concurrency)
    for index, error in failures.items():
        on_host_lost(HostLoss(index, str(error)))
    between = AtOnce(
        hosts, transfer, port=port, ends=ends, lost=failures, on_host_lost=on_host_lost
    )
    try:
        yield between
    finally:
        between.stop()
