"""Data side of a simulated training: the collectives that ranks release."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class DataPlane:
    """All-reduces, one after the other: each begins when all ranks have begun it.

    Args:
        latency_s: of each.
        bytes_s: of its buffer, in a second.
        holds_thread: a rank's control thread does nothing else from when it begins an all-reduce
            until that ends, as where it calls a blocking one itself.
    """

    latency_s: float = 0.0
    bytes_s: float = math.inf
    holds_thread: bool = False

    def time_s(self, size_bytes: int) -> float:
        """Return the time of one all-reduce."""
        return self.latency_s + size_bytes / self.bytes_s
