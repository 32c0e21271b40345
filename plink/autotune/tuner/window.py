"""What all ranks reported of the same iterations under one plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Window:
    """A few iterations, seen from all hosts.

    A flow is everything from one host (row) to another (column); the diagonal is 0.

    Args:
        plan: the number of the plan that was in force in all of them; a window in which it changed
            is not handed in.
        iteration_s: (K,) what each iteration took.
        sent_bytes: (H, H) in an iteration, on average.
        busy_s: (H, H) in an iteration, on average: how long the flow had something to send.
        retransmissions: (H, H) segments sent again, in all.
        rtt_s: (H,) the greatest smoothed round-trip time to any other host.
    """

    plan: int
    iteration_s: Floats
    sent_bytes: Floats
    busy_s: Floats
    retransmissions: Floats
    rtt_s: Floats

    @property
    def is_measured(self) -> bool:
        """Whether iterations took any time, and something was sent."""
        return bool(len(self.iteration_s) and self.median_s > 0.0 and self.busy_s.any())

    @property
    def median_s(self) -> float:
        """What an iteration took; one that is out of line does not count."""
        return float(np.median(self.iteration_s))


def median_s(windows: Sequence[Window]) -> float:
    """What an iteration took in any of these."""
    return float(np.median(np.concatenate([window.iteration_s for window in windows])))


def merged(windows: Sequence[Window]) -> Window:
    """Several windows of one plan as one.

    Of each flow's busy times the mean without the least and the greatest, which is the median of
    three: one window of three or more may be wrong. All else is the latest.

    Raises:
        ValueError: no windows.
    """
    if not windows:
        raise ValueError("no windows to merge")
    latest = windows[-1]
    busy_s = windows[0].busy_s.copy()
    least, most = busy_s.copy(), busy_s.copy()
    for window in windows[1:]:
        busy_s += window.busy_s
        np.minimum(least, window.busy_s, out=least)
        np.maximum(most, window.busy_s, out=most)
    if len(windows) > 2:
        busy_s -= least + most
        busy_s /= len(windows) - 2
    else:
        busy_s /= len(windows)
    iteration_s = np.concatenate([window.iteration_s for window in windows])
    return replace(latest, iteration_s=iteration_s, busy_s=busy_s)
