"""From what agents report to readings: held until a meeting's disturbance is known."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from probes.echo.disturbance import disturbance
from probes.echo.meetings import Meeting, Meetings
from probes.echo.placement import Placement
from probes.echo.protocol import Over, Rtt
from probes.echo.schedule import Schedule
from probes.samples import RttReading, Sink


class Delivery:
    """Hands readings to the sink, meeting by meeting.

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
        """One end of a meeting has measured the other."""
        self._meetings.reading(host, event)

    def over(self, host: int, event: Over) -> float | None:
        """One end is done. Returns how much the meeting was disturbed, where that is known now."""
        meeting = self._meetings.over(host, event)
        return None if meeting is None else self._deliver(meeting)

    def host_lost(self, host: int) -> None:
        """A host reports no more. What it reported counts."""
        for meeting in self._meetings.host_lost(host):
            self._deliver(meeting)

    def deliver_rest(self) -> None:
        """Hand over what is still held, at the end of an interrupted run."""
        self._hand_over()
        for meeting in self._meetings.rest():
            self._deliver(meeting)

    def _deliver(self, meeting: Meeting) -> float | None:
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

    def _disturbance(self, meeting: Meeting) -> float | None:
        if not meeting.readings or len(meeting.efforts) < len(meeting.ends):
            return None
        one, other = (meeting.efforts[host] for host in meeting.ends)
        same_processor = self._placement.share_processor(*meeting.ends)
        return disturbance(one, other, same_processor=same_processor)

    def _reading(self, host: int, event: Rtt, meeting: Meeting, share: float | None) -> RttReading:
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
