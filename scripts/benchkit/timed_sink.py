"""Readings with the moment at which they came."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from probes.samples import HostLoss, PairLoss, RttReading


@dataclass
class TimedSink:
    """Takes what a run yields.

    Args:
        first: of each directed pair, its first reading, and when it came in seconds.
        last: of each directed pair, the reading that stays.
    """

    first: dict[tuple[int, int], tuple[RttReading, float]] = field(default_factory=dict)
    last: dict[tuple[int, int], RttReading] = field(default_factory=dict)

    def reading(self, reading: RttReading) -> None:
        """Keep it."""
        pair = (reading.source, reading.destination)
        self.first.setdefault(pair, (reading, time.monotonic()))
        self.last[pair] = reading

    def pair_lost(self, loss: PairLoss) -> None:
        """A lab loses no pair."""
        raise RuntimeError(loss.reason)

    def host_lost(self, loss: HostLoss) -> None:
        """A lab loses no host."""
        raise RuntimeError(loss.reason)

    def remark(self, text: str) -> None:
        """Nobody reads it."""

    def beyond_packets_ms(self) -> float:
        """The mean time between two meetings in which no packets went, of meetings in sequence."""
        meetings = {
            (min(pair), max(pair)): (reading.meeting_us or 0, moment)
            for pair, (reading, moment) in self.first.items()
        }
        if len(meetings) < 2:
            return 0.0
        in_time = sorted(meetings.values(), key=lambda meeting: meeting[1])
        span_ms = 1e3 * (in_time[-1][1] - in_time[0][1])
        packets_ms = sum(meeting_us for meeting_us, _ in in_time[1:]) / 1e3
        return (span_ms - packets_ms) / (len(in_time) - 1)

    def of_host(self, host: int) -> TimedSink:
        """What concerns one host, whose meetings are always in sequence."""
        return TimedSink({pair: found for pair, found in self.first.items() if host in pair})
