"""What benchmarks tell message size by message size, and which size counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# The time of a larger message is mostly that of its bytes: these take 3.3 µs at 10 Gbit/s, about
# what a message costs however short it is, and any round trip measures that.
MOST_ROUND_TRIP_BYTES = 4096


@dataclass(frozen=True)
class Message:
    """What was measured of messages of one size; None for what was not.

    Args:
        size_bytes: of the message.
        time_us: of one message, or what the benchmark calls its time.
        gbit_s: bandwidth.
    """

    size_bytes: int
    time_us: float | None = None
    gbit_s: float | None = None


def round_trip_us(messages: Sequence[Message]) -> float | None:
    """Twice the time of the least message, where it is so small that latency is most of it."""
    timed = [
        (each.size_bytes, each.time_us)
        for each in messages
        if each.time_us is not None and each.size_bytes <= MOST_ROUND_TRIP_BYTES
    ]
    return 2.0 * min(timed)[1] if timed else None


def bandwidth_of(messages: Sequence[Message], size_bytes: int | None) -> Message | None:
    """The message whose bandwidth counts: the one of that size, else the fastest of all."""
    known = [each for each in messages if each.gbit_s]
    if size_bytes is not None:
        known = [each for each in known if each.size_bytes == size_bytes]
    return max(known, key=lambda each: each.gbit_s or 0.0, default=None)
