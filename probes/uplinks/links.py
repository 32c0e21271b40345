"""Measurement of the rate of each host's own link."""

from __future__ import annotations

from collections.abc import Sequence

from plink.probes.iperf3.parse import received_gbit_s
from plink.probes.iperf3.tool import WARM_UP_SHARE
from plink.probes.iperf3.transfers import OUT_OF_TIME
from plink.probes.samples import BandwidthReading, PairLoss
from plink.probes.uplinks.at_once import AtOnce, Outcome
from plink.probes.uplinks.samples import LinkSink


def measure(
    between: AtOnce,
    rounds: Sequence[Sequence[tuple[int, int]]],
    duration_s: int,
    sink: LinkSink,
    *,
    concurrency: int,
) -> None:
    """Transfer data between hosts, all pairs of a round at once; results go to `sink`.

    Where that is more than a machine that hosts share bears, again so many at a time.

    Args:
        rounds: of transfers, from the first host to the second; each host sends to one at most and
            receives from one at most.
        duration_s: duration of a transfer, in s.
        concurrency: transfers at a time where the hosts' machine is the limit.
    """
    for wanted in rounds:
        # Hosts that cannot take part were named by whoever found that out.
        pairs = [pair for pair in wanted if all(map(between.can_take_part, pair))]
        if between.transfer.left_s() <= duration_s:
            for pair in pairs:
                sink.pair_lost(PairLoss(*pair, OUT_OF_TIME))
            continue
        if not pairs:
            continue
        outcomes = between.run(pairs, duration_s)
        if len(pairs) > concurrency and between.is_busy(pairs, outcomes):
            outcomes = [
                outcome
                for first in range(0, len(pairs), concurrency)
                for outcome in between.run(pairs[first : first + concurrency], duration_s)
            ]
        for pair, outcome in zip(pairs, outcomes, strict=True):
            _deliver(pair, outcome, duration_s, sink)


def _deliver(pair: tuple[int, int], outcome: Outcome, duration_s: int, sink: LinkSink) -> None:
    if isinstance(outcome, Exception):
        sink.pair_lost(PairLoss(*pair, str(outcome)))
        return
    gbit_s = received_gbit_s(outcome.report, WARM_UP_SHARE * duration_s)
    if gbit_s:
        sink.reading(BandwidthReading(*pair, gbit_s, outcome.report.retransmits))
    else:
        sink.pair_lost(PairLoss(*pair, "no data arrived"))
