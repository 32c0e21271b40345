"""The files of ranks as one trace, by one clock, for viewers of Chrome's traces."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from plink.base.arguments import to_finite_number
from plink.base.errors import WrongUseError
from plink.training.timeline.lines import (
    BETWEEN,
    CLOSING,
    OPENING,
    UNKNOWN_US,
    Head,
    dump_line,
    head_lines,
)
from plink.training.timeline.merging import Timeline
from plink.training.timeline.reading import head_of, lines_of


def one_trace(contents: Sequence[tuple[str, bytes]], timeline: Timeline) -> Iterator[bytes]:
    """All events of all files, with times from the beginning of the timeline on, piece by piece.

    Args:
        contents: of the files, as they were read.
        timeline: what was made of them.

    Raises:
        WrongUseError: an event cannot be written again.
    """
    place_of = {rank: place for place, rank in enumerate(timeline.ranks)}
    yield OPENING.encode()
    between = ""
    for source, content in contents:
        shift_us = 0.0
        for place, event in lines_of(content, source):
            if (head := head_of(event, place)) is not None:
                at = place_of[head.rank]
                shift_us = float(timeline.clocks.ahead_us[at]) + timeline.begins_us
                error_us = float(timeline.clocks.error_us[at])
                line = head_lines(_shift_head(head, shift_us, error_us))[0]
            else:
                at_us = to_finite_number(event.get("ts"))
                if at_us is not None:
                    event["ts"] = round(at_us - shift_us, 1)
                line = _line(event, place)
            yield f"{between}{line}".encode()
            between = BETWEEN
    yield CLOSING.encode()


def _line(event: Mapping[str, Any], place: str) -> str:
    try:
        return dump_line(event)
    except (ValueError, RecursionError):
        raise WrongUseError(f"{place}: holds a number without bounds") from None


def _shift_head(head: Head, shift_us: float, error_us: float) -> Head:
    return replace(
        head,
        ahead_us=head.ahead_us + shift_us,
        error_us=UNKNOWN_US if math.isnan(error_us) else error_us,
    )
