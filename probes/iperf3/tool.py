"""Measurement of the bandwidth of pairs with iperf3, which must be installed on the hosts."""

from __future__ import annotations

from collections.abc import Mapping

from plink.probes.errors import HostError
from plink.probes.iperf3.parse import compute_received_gbit_s
from plink.probes.iperf3.transfers import (
    TransferError,
    TransferHost,
    Transfers,
    find_transfer_hosts,
)
from plink.probes.options import Iperf3Options
from plink.probes.paired_rounds import TIMEOUT_DIVISOR, Silence, measure_rounds
from plink.probes.samples import BandwidthReading, MeasuringJob, PairLoss, Sink

# TCP needs a while to find its rate, and the queues on the way to fill: the first part of a test
# does not count.
WARM_UP_SHARE = 0.2


def measure(job: MeasuringJob[Iperf3Options], sink: Sink[BandwidthReading]) -> None:
    """Measure bandwidths of the wanted directed pairs with iperf3; results go to `sink`."""
    measure_rounds(job, _Iperf3(job), sink, both_at_once=job.options.direction == "both")


class _Iperf3:
    silent_to_all = "exchanges no data with any host"

    def __init__(self, job: MeasuringJob[Iperf3Options]) -> None:
        self.running = Transfers(job.options, job.timeout_s, job.left_s)
        self._hosts = job.hosts
        self._duration_s = job.options.duration_s
        self._ends: Mapping[int, TransferHost] = {}

    def prepare(self, concurrency: int) -> Mapping[int, HostError]:
        """Find out which hosts have iperf3."""
        self._ends, failures = find_transfer_hosts(self._hosts, concurrency)
        return failures

    def measure(
        self, source: int, destination: int, *, is_suspected: bool
    ) -> BandwidthReading | Silence | PairLoss:
        """Measure the bandwidth from one host to another by an iperf3 test."""
        try:
            report = self.running.run(
                self._ends[source],
                self._ends[destination],
                self._duration_s,
                timeout_divisor=TIMEOUT_DIVISOR if is_suspected else 1,
            )
        except TransferError as error:
            return (
                Silence("no data arrived")
                if error.is_silence
                else PairLoss(source, destination, str(error))
            )
        gbit_s = compute_received_gbit_s(report, WARM_UP_SHARE * self._duration_s)
        if not gbit_s:
            return Silence("no data arrived")
        return BandwidthReading(source, destination, gbit_s, report.retransmits)
