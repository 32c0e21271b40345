"""From what agents report to readings: held until a meeting's disturbance is known."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from probes.echo.disturbance import DISTURBED, disturbance
from probes.echo.meetings import Meeting, Meetings
from probes.echo.placement import Placement
from probes.echo.protocol import Over, Rtt
from probes.echo.repeats import Repeats
from probes.echo.schedule import Schedule
from probes.samples import RttReading, Sink

# Both directions of a pair go the same way there and back: where they differ by more than this
# share, one of them was measured at a bad moment.
_MOST_APART = 0.1


def doubt(meeting: Meeting, share: float | None) -> float | None:
    """What speaks against a meeting's readings, as a share of disturbance.

    Args:
        share: how much other work disturbed it, None where unknown.
    """
    first = [event.rtt_us[0] for event in meeting.readings.values()]
    if len(first) > 1 and max(first) > (1.0 + _MOST_APART) * min(first):
        return max(share or 0.0, DISTURBED)
    return share


class Delivery:
    """Hands readings to the sink, meeting by meeting.

    Args:
        schedule: where a direction is settled once it is read.
        percentiles: what the agents report of their samples.
        repeats: told of every meeting; its word decides whether a reading replaces another.
        placement: where two hosts meet.
    """

    def __init__(
        self,
        schedule: Schedule,
        percentiles: Sequence[float],
        sink: Sink[RttReading],
        repeats: Repeats,
        placement: Placement,
    ) -> None:
        self._schedule = schedule
        self._percentiles = percentiles
        self._sink = sink
        self._repeats = repeats
        self._placement = placement
        self._meetings = Meetings()
        self._ready: deque[RttReading] = deque()
        # Directions that were handed over.
        self.read: set[tuple[int, int]] = set()

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
        if meeting.readings and self._repeats.is_better(meeting.ends, doubt(meeting, share)):
            self._ready.extend(
                self._reading(host, event, meeting, share)
                for host, event in meeting.readings.items()
            )
        self._hand_over()
        return share

    def _hand_over(self) -> None:
        while self._ready:
            reading = self._ready.popleft()
            pair = (reading.source, reading.destination)
            # What was given up stays so, whatever is still heard of it.
            if self._schedule.settle(*pair) or pair in self.read:
                self.read.add(pair)
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
            precision_percent=event.precision_percent,
            disturbance=share,
            meeting_us=max((effort.elapsed_us for effort in efforts), default=None),
        )
