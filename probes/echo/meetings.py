"""What the two ends of a meeting report, until both are done with it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from probes.echo.protocol import Effort, Over, Rtt


@dataclass
class Meeting:
    """A meeting that goes on, or has ended.

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
    """Gathers reports by meeting. A host that is lost reports no more."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int, int], Meeting] = {}
        self._lost: set[int] = set()

    def reading(self, host: int, event: Rtt) -> None:
        """One end has measured the other."""
        self._meeting(host, event).readings[host] = event

    def over(self, host: int, event: Over) -> Meeting | None:
        """One end is done. Returns the meeting if nothing more will be heard of it."""
        meeting = self._meeting(host, event)
        meeting.efforts[host] = event.effort
        return self._close(meeting)

    def host_lost(self, host: int) -> list[Meeting]:
        """A host will report no more. Returns its meetings: they end by this."""
        self._lost.add(host)
        mine = [key for key, meeting in self._open.items() if host in meeting.ends]
        return [self._open.pop(key) for key in mine]

    def rest(self) -> list[Meeting]:
        """The meetings that have not ended."""
        return list(self._open.values())

    def _meeting(self, host: int, event: Rtt | Over) -> Meeting:
        ends = (min(host, event.partner), max(host, event.partner))
        return self._open.setdefault((event.round, *ends), Meeting(ends, event.round))

    def _close(self, meeting: Meeting) -> Meeting | None:
        if set(meeting.ends) - meeting.efforts.keys() - self._lost:
            return None
        return self._open.pop((meeting.number, *meeting.ends))
