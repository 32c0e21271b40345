"""Text protocol between coordinator and echo agent, without I/O.

The coordinator says, in this order:

    run INDEX COUNT SILENCE_MS free|granted SECRET   who the agent is, and how it measures
    percentiles P ...                                what it reports of its samples
    bind ADDRESS PORT                                where to listen; it answers `bound PORT`
    peer INDEX ADDRESS PORT                          one line a host; after `start` only of one that
                                                     is new to the agent
    pair ROUND PARTNER probe|answer                  one line a meeting
    start                                            when all agents have said that they live
    go ROUND PROCESSOR|any                           (granted runs) meet the partner of that round
    again ROUND PARTNER probe|answer PROCESSOR|any   one more meeting: ROUND is greater than any yet
    gone INDEX                                       that host is lost, or has left the meeting
    suspect INDEX                                    that host may be silent: wait less for it,
                                                     and still less when it is said again
    alive                                            the coordinator lives
    stop

The agent says:

    bound PORT
    rtt ROUND PARTNER SENT RECEIVED NS ...           round-trip times, one per percentile
    lost ROUND PARTNER silent|gave-up|gone
    over ROUND PARTNER ELAPSED_US RUN_US WAIT_US|-   the meeting is over, measured or not: how long
                                                     it took after the greeting, and of that the
                                                     agent's time on a processor and in wait of one
    alive                                            whenever the coordinator says so
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plink.probes.errors import ProtocolError
from plink.probes.options import EchoOptions

SILENT = "does not answer UDP probes"
_REASONS = {
    "silent": SILENT,
    "gave-up": "had given up this pair",
    "gone": "is gone",
}


@dataclass(frozen=True)
class Meeting:
    """Measurement of a pair in one agent's schedule: round, partner, and whether it probes."""

    round: int
    partner: int
    probes: bool


@dataclass(frozen=True)
class ListeningPort:
    """Message of an echo agent: the UDP port on which it listens."""

    port: int


@dataclass(frozen=True)
class Rtt:
    """Message of an echo agent: round-trip times to its partner in µs, one per percentile."""

    round: int
    partner: int
    sent: int
    received: int
    rtt_us: tuple[float, ...]


@dataclass(frozen=True)
class Lost:
    """Message of an echo agent: it could not measure its partner, and why."""

    round: int
    partner: int
    reason: str


@dataclass(frozen=True)
class MeetingOver:
    """Message of an echo agent: it has finished with its partner in a round, and the time taken.

    Args:
        elapsed_us: duration of the meeting in µs.
        run_us: part of it that the agent spent on a processor.
        wait_us: part of it in which the agent was ready to run, but had to wait for a processor;
            None where the kernel does not tell.
    """

    round: int
    partner: int
    elapsed_us: int
    run_us: int
    wait_us: int | None


@dataclass(frozen=True)
class Alive:
    """Message of an echo agent: it answers the coordinator's ping."""


Event = ListeningPort | Rtt | Lost | MeetingOver | Alive


def opening(
    index: int,
    address: str,
    options: EchoOptions,
    *,
    silence_s: float,
    secret: str,
    granted: bool,
) -> str:
    """Return the coordinator's first lines to an agent: index, probes, secret, address and more."""
    silence_ms = max(1, round(silence_s * 1000))
    pace = "granted" if granted else "free"
    percentiles = " ".join(f"{percentile:g}" for percentile in options.percentiles)
    return (
        f"run {index} {options.count} {silence_ms} {pace} {secret}\n"
        f"percentiles {percentiles}\n"
        f"bind {address} {options.port}\n"
    )


def schedule_text(peers: Sequence[tuple[int, str, int]], meetings: Sequence[Meeting]) -> str:
    """Return the lines that tell an agent its partners' addresses and its pairs by round."""
    lines = [f"pair {_meeting(meeting)}\n" for meeting in meetings]
    return "".join([*(peer_text(*peer) for peer in peers), *lines])


def peer_text(index: int, address: str, port: int) -> str:
    """Return the line that tells an agent the index, address and UDP port of another agent."""
    return f"peer {index} {address} {port}\n"


def grant_text(number: int, processor: int | None) -> str:
    """Return the line that lets an agent start its pair of a round, on a processor or on any."""
    return f"go {number} {_processor(processor)}\n"


def again_text(meeting: Meeting, processor: int | None) -> str:
    """Return the line that orders an agent to measure one more pair at once."""
    return f"again {_meeting(meeting)} {_processor(processor)}\n"


def _meeting(meeting: Meeting) -> str:
    return f"{meeting.round} {meeting.partner} {'probe' if meeting.probes else 'answer'}"


def _processor(processor: int | None) -> str:
    return "any" if processor is None else str(processor)


def parse_event(line: str) -> Event:
    """Parse one line of an agent's output into a message.

    Raises:
        ProtocolError: no agent says such a line.
    """
    verb, *words = line.split()[:64] or [""]
    try:
        match verb, words:
            case "bound", [port]:
                return ListeningPort(_whole(port, 65535))
            case "rtt", [round_, partner, sent, received, *times] if times:
                rtt_us = tuple(_whole(time) / 1000.0 for time in times)
                counts = _whole(sent), _whole(received)
                if 1 <= counts[1] <= counts[0]:
                    return Rtt(_whole(round_), _whole(partner), *counts, rtt_us)
            case "lost", [round_, partner, reason]:
                return Lost(_whole(round_), _whole(partner), _REASONS[reason])
            case "alive", []:
                return Alive()
            case "over", [round_, partner, elapsed, run, wait]:
                wait_us = None if wait == "-" else _whole(wait)
                times_us = _whole(elapsed), _whole(run), wait_us
                return MeetingOver(_whole(round_), _whole(partner), *times_us)
    except (ValueError, KeyError):
        pass
    raise ProtocolError(f"its agent sent {line[:40]!r}, which is not a message of the echo agent")


def _whole(word: str, most: int = (1 << 32) - 1) -> int:
    if word.isascii() and word.isdigit() and len(word) <= 10 and int(word) <= most:
        return int(word)
    raise ValueError
