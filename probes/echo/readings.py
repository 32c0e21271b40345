"""Readings of a meeting (two agents measuring each other), from the reports of both ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from plink.probes.echo.grants import Placement
from plink.probes.echo.protocol import Effort, MeetingOver, Rtt
from plink.probes.echo.schedule import Schedule
from plink.probes.samples import RttReading, Sink

# From this share on a reading is not trusted (docs/benchmarks/probing.md).
DISTURBED = 0.15


def compute_disturbance(one: Effort, other: Effort, *, same_processor: bool) -> float | None:
    """Return the share of a meeting, 0 to 1, that its ends waited for a processor.

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
class MeetingState:
    """Reports of both ends of a meeting so far.

    Args:
        ends: the two hosts, leader first.
        number: its round.
        readings: what they measured, by host.
        efforts: what it took of those that are done.
    """

    ends: tuple[int, int]
    number: int
    readings: dict[int, Rtt] = field(default_factory=dict)
    efforts: dict[int, Effort] = field(default_factory=dict)


class Meetings:
    """Reports of all meetings, kept until both ends are done."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int, int], MeetingState] = {}
        self._lost: set[int] = set()

    def reading(self, host: int, event: Rtt) -> None:
        """Record a reading that one end of a meeting took of the other."""
        self._meeting(host, event).readings[host] = event

    def over(self, host: int, event: MeetingOver) -> MeetingState | None:
        """Record that one end is done; return the meeting's state if it is complete."""
        meeting = self._meeting(host, event)
        meeting.efforts[host] = event.effort
        return self._close(meeting)

    def host_lost(self, host: int) -> list[MeetingState]:
        """Record that a host is lost; return its meetings, which are thereby complete."""
        self._lost.add(host)
        mine = [key for key, meeting in self._open.items() if host in meeting.ends]
        return [self._open.pop(key) for key in mine]

    def rest(self) -> list[MeetingState]:
        """Return the states of the meetings that have not ended."""
        return list(self._open.values())

    def _meeting(self, host: int, event: Rtt | MeetingOver) -> MeetingState:
        ends = (min(host, event.partner), max(host, event.partner))
        return self._open.setdefault((event.round, *ends), MeetingState(ends, event.round))

    def _close(self, meeting: MeetingState) -> MeetingState | None:
        if set(meeting.ends) - meeting.efforts.keys() - self._lost:
            return None
        return self._open.pop((meeting.number, *meeting.ends))


class Delivery:
    """Delivery of readings to the sink, each meeting's once both ends are done.

    Args:
        schedule: where a direction is settled once it is read.
        percentiles: what the agents report of their samples.
        placement: where two hosts meet.
    """

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
        self._meetings = Meetings()
        self._ready: deque[RttReading] = deque()

    def reading(self, host: int, event: Rtt) -> None:
        """Record a reading that one end of a meeting took of the other."""
        self._meetings.reading(host, event)

    def over(self, host: int, event: MeetingOver) -> float | None:
        """Record that one end is done; once both are, deliver and return the disturbance."""
        meeting = self._meetings.over(host, event)
        return None if meeting is None else self._deliver(meeting)

    def host_lost(self, host: int) -> None:
        """Record that a host is lost and deliver the reports of its meetings so far."""
        for meeting in self._meetings.host_lost(host):
            self._deliver(meeting)

    def deliver_rest(self) -> None:
        """Deliver readings of unfinished meetings, at the end of an interrupted run."""
        self._hand_over()
        for meeting in self._meetings.rest():
            self._deliver(meeting)

    def _deliver(self, meeting: MeetingState) -> float | None:
        share = self._disturbance(meeting)
        self._ready.extend(
            self._reading(host, event, meeting, share) for host, event in meeting.readings.items()
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

    def _disturbance(self, meeting: MeetingState) -> float | None:
        if not meeting.readings or len(meeting.efforts) < len(meeting.ends):
            return None
        one, other = (meeting.efforts[host] for host in meeting.ends)
        same_processor = self._placement.share_processor(*meeting.ends)
        return compute_disturbance(one, other, same_processor=same_processor)

    def _reading(
        self, host: int, event: Rtt, meeting: MeetingState, share: float | None
    ) -> RttReading:
        efforts = meeting.efforts.values()
        return RttReading(
            source=host,
            destination=event.partner,
            sent=event.sent,
            received=event.received,
            rtt_us=dict(zip(self._percentiles, event.rtt_us, strict=True)),
            disturbance=share,
            meeting_us=max((effort.elapsed_us for effort in efforts), default=None),
        )
