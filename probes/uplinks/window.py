"""The time in which all of several transfers run. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from probes.iperf3.parse import Report

# What was on the way when senders stopped arrives faster than they sent: the last moment does not
# count.
_LAST_S = 0.1


@dataclass(frozen=True)
class Timed:
    """A transfer and its time, by one clock for all.

    Args:
        told_s: when it was told to begin.
        ended_s: when its report was here.
    """

    report: Report
    told_s: float
    ended_s: float


def common_window_s(
    transfers: Sequence[Timed], duration_s: float, warm_up_s: float
) -> tuple[float, float] | None:
    """The part of each transfer, by its own clock, in which certainly all of them run.

    A transfer begins somewhere between the word and its end less its duration. No two begin
    further apart than the span of all these, so that whoever has run for so long has company, and
    keeps it until so long before the end.

    Args:
        transfers: at least one.
        duration_s: of each of them.
        warm_up_s: what is left out of the time together.

    Returns:
        beginning and end; None where there is no such part.
    """
    latest_s = max(transfer.ended_s for transfer in transfers) - duration_s
    apart_s = max(0.0, latest_s - min(transfer.told_s for transfer in transfers))
    begin_s, end_s = warm_up_s + apart_s, duration_s - max(apart_s, _LAST_S)
    return (begin_s, end_s) if begin_s < end_s else None
