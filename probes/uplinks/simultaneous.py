"""Simultaneous iperf3 transfers between many hosts, and the time in which all of them run."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING

from plink.probes.errors import HostError
from plink.probes.iperf3.parse import TransferReport
from plink.probes.iperf3.transfers import (
    DEFAULT_PORT,
    PortTakenError,
    TransferError,
    TransferHost,
    Transfers,
    find_transfer_hosts,
)
from plink.probes.options import TransferOptions
from plink.probes.reach import ReachedHost
from plink.probes.samples import HostLoss, no_limit
from plink.probes.uplinks.plan import number_transfers

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
    """Transfer with the time when it ended, on a clock common to all."""

    report: TransferReport
    ended_s: float


def common_windows_s(
    transfers: Sequence[TimedTransfer], duration_s: float, warm_up_s: float
) -> list[tuple[float, float]] | None:
    """Return the interval in which all transfers ran, on each transfer's own clock.

    A transfer begins some time after it was told to: its two ends exchange a few packets before,
    which takes longest for those that find the queues on the way full. Little lies between its end
    and its report. So it counts as begun when its report was here, less its duration.

    Args:
        warm_up_s: what is left out of the time together.

    Returns:
        of each transfer beginning and end, counted from where it began itself: as long for all.
        None where there is no such time, or hardly any.
    """
    begun_s = [transfer.ended_s - duration_s for transfer in transfers]
    first_s, last_s = max(begun_s) + warm_up_s, min(begun_s) + duration_s - _LAST_S
    if last_s - first_s < _LEAST_SHARE * duration_s:
        return None
    return [(first_s - begin_s, last_s - begin_s) for begin_s in begun_s]


Outcome = TimedTransfer | Exception


@dataclass(frozen=True)
class _Start:
    """Barrier at which all transfers report ready and wait for the start signal.

    Args:
        duration_s: seconds of each of them.
        ready: gets one item a transfer, whether it is ready or failed.
        begin: set when they may begin.
    """

    duration_s: int
    ready: SimpleQueue[None] = field(default_factory=SimpleQueue)
    begin: threading.Event = field(default_factory=threading.Event)


class SimultaneousTransfers:
    """Transfers between the hosts of a run, many at once.

    A context manager: no iperf3 is left on a host when it is left, or when this process ends.

    Args:
        hosts: all of them, whose indices every other place means.
        options: what is the same for all transfers; its port is the first where servers listen.
        on_host_lost: called for a host that cannot take part, or is lost later.
        silence_s: seconds of silence after which a host is given up.
        left_s: returns the seconds that are left for transfers; called by any thread.
        ssh_concurrency: hosts that are asked for iperf3 at once.
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
        self._transfers = Transfers(options, silence_s, left_s)
        self._port = options.port or DEFAULT_PORT
        self._ssh_concurrency = ssh_concurrency
        self._on_host_lost = on_host_lost
        self._ends: Mapping[int, TransferHost] = {}
        # Why hosts cannot take part, by index.
        self._lost: dict[int, HostError] = {}

    def __enter__(self) -> Self:
        self._ends, self._lost = find_transfer_hosts(self.hosts, self._ssh_concurrency)
        for index, error in self._lost.items():
            self._on_host_lost(HostLoss(index, str(error)))
        return self

    def __exit__(self, *_: object) -> None:
        self._transfers.stop()

    def can_take_part(self, host: int) -> bool:
        """Return whether a host has iperf3 and answers."""
        return host not in self._lost

    def run(self, pairs: Sequence[tuple[int, int]], duration_s: int) -> list[Outcome]:
        """Run transfers between these pairs at once; return the outcomes.

        A host whose connection is gone takes no part any more.
        """
        able = [pair for pair in pairs if all(map(self.can_take_part, pair))]
        done = dict(zip(able, self._run(able, duration_s), strict=True)) if able else {}
        return [done[pair] if pair in done else self._build_loss_error(pair) for pair in pairs]

    def is_busy(self, pairs: Sequence[tuple[int, int]], outcomes: Sequence[Outcome]) -> bool:
        """Return whether a machine shared by several hosts may have limited the transfers."""
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

    def _build_loss_error(self, pair: tuple[int, int]) -> Exception:
        lost = next(host for host in pair if host in self._lost)
        return TransferError(f"{self.hosts[lost].name}: {self._lost[lost]}")

    def _run(self, pairs: Sequence[tuple[int, int]], duration_s: int) -> list[Outcome]:
        start = _Start(duration_s)
        places = number_transfers([sender for sender, _ in pairs])
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
                start.ready.get()
            start.begin.set()
            outcomes = [future.result() for future in running]
        finally:
            if not start.begin.is_set():
                # An interrupt: those that wait would wait for ever.
                self._transfers.stop()
                start.begin.set()
            executor.shutdown(wait=False, cancel_futures=True)
        for pair, outcome in zip(pairs, outcomes, strict=True):
            if isinstance(outcome, HostError):
                self._lose(pair, outcome)
        return outcomes

    def _lose(self, pair: tuple[int, int], error: HostError) -> None:
        for host in pair:
            if error.host == self.hosts[host].name and host not in self._lost:
                self._lost[host] = error
                self._on_host_lost(HostLoss(host, str(error)))

    def _run_one(self, pair: tuple[int, int], places: Sequence[int], start: _Start) -> Outcome:
        is_ready = False
        try:
            with ExitStack() as held:
                run_transfer = self._prepare(held, pair, places, start.duration_s)
                is_ready = True
                start.ready.put(None)
                start.begin.wait()
                report = run_transfer()
                return TimedTransfer(report, time.monotonic())
        except (TransferError, HostError) as error:
            return error
        finally:
            if not is_ready:
                start.ready.put(None)

    def _prepare(
        self, held: ExitStack, pair: tuple[int, int], places: Sequence[int], duration_s: int
    ) -> Callable[[], TransferReport]:
        sender, receiver = (self._ends[host] for host in pair)
        for place in places:
            try:
                return held.enter_context(
                    self._transfers.prepare(sender, receiver, self._port + place, duration_s)
                )
            except PortTakenError as error:
                taken = error
        raise taken
