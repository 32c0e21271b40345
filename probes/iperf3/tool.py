"""Measurement of the bandwidth of pairs with iperf3, which must be installed on the hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plink.probes.errors import HostError
from plink.probes.iperf3.commands import TransferSettings
from plink.probes.iperf3.parse import received_gbit_s
from plink.probes.iperf3.transfers import End, TransferError, Transfers, find_ends
from plink.probes.paired_rounds import TIMEOUT_DIVISOR, Silence, measure_rounds
from plink.probes.reach import ReachedHost
from plink.probes.samples import BandwidthReading, PairLoss, Rounds, Sink, Wanted

# TCP needs a while to find its rate, and the queues on the way to fill: the first part of a test
# does not count.
WARM_UP_SHARE = 0.2


@dataclass(frozen=True)
class Iperf3Settings:
    """Settings of iperf3 for pairs of hosts.

    Args:
        test: what is the same for all tests.
        both_at_once: the two directions of a pair at the same time, else one after the other.
        port: where servers listen; 0 for any that is free.
    """

    test: TransferSettings
    both_at_once: bool = False
    port: int = 0


def measure(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: Iperf3Settings,
    sink: Sink[BandwidthReading],
    *,
    concurrency: int,
    ssh_concurrency: int = 16,
) -> None:
    """Measure the wanted directed pairs of the rounds; results go to `sink` as they come.

    No iperf3 is left on a host when this ends, or when this process does.
    """
    measure_rounds(
        hosts,
        wanted,
        rounds,
        _Iperf3(hosts, options),
        sink,
        concurrency=concurrency,
        ssh_concurrency=ssh_concurrency,
        both_at_once=options.both_at_once,
    )


class _Iperf3:
    silent_to_all = "exchanges no data with any host"

    def __init__(self, hosts: Sequence[ReachedHost], options: Iperf3Settings) -> None:
        self._hosts = hosts
        self._options = options.test
        self._transfers = Transfers(options.test, options.port)
        self._ends: Mapping[int, End] = {}

    def prepare(self, concurrency: int) -> Mapping[int, HostError]:
        """Find out which hosts have iperf3."""
        self._ends, failures = find_ends(self._hosts, concurrency)
        return failures

    def measure(
        self, source: int, destination: int, *, is_suspected: bool
    ) -> BandwidthReading | Silence | PairLoss:
        """Transfer data from one host to another for a while."""
        try:
            report = self._transfers.run(
                self._ends[source],
                self._ends[destination],
                timeout_divisor=TIMEOUT_DIVISOR if is_suspected else 1,
            )
        except TransferError as error:
            if not error.is_silence:
                return PairLoss(source, destination, str(error))
            gbit_s = None
        else:
            gbit_s = received_gbit_s(report, WARM_UP_SHARE * self._options.duration_s)
        if not gbit_s:
            return Silence("no data arrived")
        return BandwidthReading(source, destination, gbit_s, report.retransmits)

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._transfers.is_stopped

    def stop(self) -> None:
        """End all running tests."""
        self._transfers.stop()
