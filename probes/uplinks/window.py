"""Interval in which all of several transfers run at once. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plink.probes.iperf3.parse import TransferReport

# What was on the way when senders stopped arrives faster than they sent: the last moment does not
# count.
_LAST_S = 0.1
# Of its duration a transfer has to run beside all others.
_LEAST_SHARE = 0.3


@dataclass(frozen=True)
class Timed:
    """Transfer with the time when it ended, on one clock for all.

    Args:
        ended_s: when its report was here.
    """

    report: TransferReport
    ended_s: float


def common_windows_s(
    transfers: Sequence[Timed], duration_s: float, warm_up_s: float
) -> list[tuple[float, float]] | None:
    """Return the interval in which all transfers run, on the clock of each.

    A transfer begins some time after it was told to: its two ends exchange a few packets before,
    which takes longest for those that find the queues on the way full. Little lies between its end
    and its report. So it counts as begun when its report was here, less its duration.

    Args:
        transfers: at least one.
        duration_s: duration of each of them, in s.
        warm_up_s: what is left out of the time together.

    Returns:
        of each transfer beginning and end, counted from where it began itself: as long for all.
        None where there is no such time, or hardly any.
    """
    begun_s = [transfer.ended_s - duration_s for transfer in transfers]
    first_s, last_s = max(begun_s) + warm_up_s, min(begun_s) + duration_s - _LAST_S
    if last_s - first_s < _LEAST_SHARE * duration_s:
        return None
    return [(first_s - begin_s, last_s - begin_s) for begin_s in begun_s]
