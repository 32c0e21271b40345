"""What all ranks reported of the same iterations under one plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
        waited_s: (H, H) of it, how long the receiver took nothing (no room in its window).
        rtt_s: (H, H) the smoothed round-trip time at the end.
        retransmissions: (H, H) segments sent again, in all.
    """

    plan: int
    iteration_s: Floats
    sent_bytes: Floats
    busy_s: Floats
    waited_s: Floats
    rtt_s: Floats
    retransmissions: Floats

    @property
    def median_s(self) -> float:
        """What an iteration took; one that is out of line does not count."""
        return float(np.median(self.iteration_s))


FLOW_FIELDS = ("sent_bytes", "busy_s", "waited_s", "rtt_s", "retransmissions")
"""The members that are (H, H)."""


def merged(windows: Sequence[Window]) -> Window:
    """Several windows of the same plan as one, by medians, so that one of three may be wrong.

    Raises:
        ValueError: none, or of several plans.
    """
    if len({window.plan for window in windows}) != 1:
        raise ValueError("expected windows of one plan")
    if len(windows) == 1:
        return windows[0]
    flows = {
        name: np.median([getattr(window, name) for window in windows], axis=0)
        for name in FLOW_FIELDS
    }
    iteration_s = np.concatenate([window.iteration_s for window in windows])
    return Window(windows[0].plan, iteration_s, **flows)
