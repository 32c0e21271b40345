"""What readings of a probe say: how rightly they tell racks apart, and when they came."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import RttMeasurement
from plink.probes.samples import HostLoss, PairLoss, Rounds, RttReading, Wanted

Matrix = npt.NDArray[np.float64]


def cluster_of(readings_us: Matrix, tool: str = "simulated") -> Cluster:
    """Hosts h0, h1, ... with these readings, (N, N) in µs; NaN where a pair was not measured."""
    samples = np.isfinite(readings_us).astype(np.int64)
    rtt = RttMeasurement(
        rtt_us={10.0: readings_us},
        reading=10.0,
        samples=samples,
        losses=np.zeros_like(samples),
        tool=tool,
    )
    return Cluster([Host(f"h{host}", f"h{host}") for host in range(len(readings_us))], rtt=rtt)


def triplets_in_order(readings: Matrix, racks: Sequence[str]) -> float:
    """The share of (observer, same-rack host, other-rack host) that the readings order rightly.

    Args:
        readings: (n, n), observer by target; the diagonal is not looked at.
        racks: the rack of each of the n hosts.

    Raises:
        ValueError: there is no such triplet: one rack, or no two hosts in any.
    """
    names = np.array(racks)
    right = total = 0
    for observer in range(len(racks)):
        near = readings[observer, (names == names[observer]) & (np.arange(len(racks)) != observer)]
        far = readings[observer, names != names[observer]]
        right += int((near[:, None] < far[None, :]).sum())
        total += near.size * far.size
    if total == 0:
        raise ValueError("no host has one neighbour in its rack and one in another")
    return right / total


def between(readings: Matrix, racks: Sequence[str], *, same: bool) -> Matrix:
    """The readings of all pairs of hosts of the same rack, or of different ones, as a vector."""
    names = np.array(racks)
    chosen = (names[:, None] == names[None, :]) == same
    np.fill_diagonal(chosen, val=False)
    vector: Matrix = readings[chosen]
    return vector


def edges_leaving(rack_of_order: npt.NDArray[np.intp]) -> int:
    """Edges of a ring that lead to another rack, by the racks of its hosts in turn."""
    return int((rack_of_order != np.roll(rack_of_order, -1)).sum())


def both_directions(rounds: Rounds) -> Wanted:
    """All directed pairs of some rounds."""
    return frozenset(way for met in rounds for pair in met for way in (pair, pair[::-1]))


@dataclass
class TimedSink:
    """Takes what a run yields, with the moment at which it came.

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
        """Not kept."""

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
