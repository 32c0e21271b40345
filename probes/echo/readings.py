"""Readings of directed pairs, delivered once both agents of a pair have reported its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from plink.probes.echo.grants import Placement, Schedule
from plink.probes.echo.protocol import MeetingOver, Rtt
from plink.probes.samples import RttReading, Sink

# From this share on a reading is not trusted (docs/benchmarks/probing.md).
DISTURBED = 0.15


def compute_disturbance(
    one: MeetingOver, other: MeetingOver, *, same_processor: bool
) -> float | None:
    """Return the share of a pair's time, 0 to 1, that agents waited for a processor; or None.

    On one processor the two ends wait for each other all the time, and that is no disturbance:
    there it is the time in which neither of them ran, as far as they were ready to.

    None where a host's kernel does not tell, or where nothing was measured.
    """
    elapsed_us = max(one.elapsed_us, other.elapsed_us)
    if one.wait_us is None or other.wait_us is None or elapsed_us == 0:
        return None
    lost_us = one.wait_us + other.wait_us
    if same_processor:
        lost_us = min(lost_us, elapsed_us - one.run_us - other.run_us)
    return min(max(lost_us, 0) / elapsed_us, 1.0)


@dataclass
class _Meeting:
    """Reports so far of a pair's two agents in one round: round-trip times, and times taken."""

    ends: tuple[int, int]
    readings: dict[int, Rtt] = field(default_factory=dict)
    times: dict[int, MeetingOver] = field(default_factory=dict)


class Delivery:
    """Delivery of a pair's readings to the sink, once both agents have reported the end."""

    def __init__(
        self,
        schedule: Schedule,
        percentiles: Sequence[float],
        sink: Sink[RttReading],
        placement: Placement,
    ) -> None:
        self._schedule = schedule
        self._percentiles = percentiles
        self._sink = sink
        self._placement = placement
        # By round and ends, leader first.
        self._open: dict[tuple[int, int, int], _Meeting] = {}
        self._lost: set[int] = set()
        self._ready: deque[RttReading] = deque()

    def reading(self, host: int, event: Rtt) -> None:
        """Record the round-trip times that one agent of a pair has reported."""
        self._open_meeting(host, event).readings[host] = event

    def over(self, host: int, event: MeetingOver) -> float | None:
        """Record that one agent is done; if both are, deliver and return their disturbance."""
        meeting = self._open_meeting(host, event)
        meeting.times[host] = event
        if set(meeting.ends) - meeting.times.keys() - self._lost:
            return None
        return self._deliver(self._open.pop((event.round, *meeting.ends)))

    def host_lost(self, host: int) -> None:
        """Record that a host is lost, and deliver what was reported of its pairs so far."""
        self._lost.add(host)
        for key in [key for key, meeting in self._open.items() if host in meeting.ends]:
            self._deliver(self._open.pop(key))

    def deliver_rest(self) -> None:
        """Deliver the readings of pairs whose end only one agent, or none, has reported."""
        self._hand_over()
        for meeting in list(self._open.values()):
            self._deliver(meeting)

    def _open_meeting(self, host: int, event: Rtt | MeetingOver) -> _Meeting:
        ends = (min(host, event.partner), max(host, event.partner))
        return self._open.setdefault((event.round, *ends), _Meeting(ends))

    def _deliver(self, meeting: _Meeting) -> float | None:
        share = None
        times = list(meeting.times.values())
        if meeting.readings and len(times) == len(meeting.ends):
            same_processor = self._placement.share_processor(*meeting.ends)
            share = compute_disturbance(*times, same_processor=same_processor)
        self._ready.extend(
            RttReading(
                source=host,
                destination=event.partner,
                sent=event.sent,
                received=event.received,
                rtt_us=dict(zip(self._percentiles, event.rtt_us, strict=True)),
                disturbance=share,
                meeting_us=max((end.elapsed_us for end in times), default=None),
            )
            for host, event in meeting.readings.items()
        )
        self._hand_over()
        return share

    def _hand_over(self) -> None:
        while self._ready:
            reading = self._ready.popleft()
            pair = (reading.source, reading.destination)
            # A host that was only to answer may say that it probed.
            if self._schedule.is_asked(*pair):
                self._schedule.settle(*pair)
                self._sink.reading(reading)
