"""The processor time that a call takes, told apart from what other work adds to it."""

from __future__ import annotations

import time
from collections.abc import Callable


def least_cpu_s(work: Callable[[], object], enough_s: float, tries: int = 6) -> float:
    """Return the least processor time of some calls, in s; the first below `enough_s` will do.

    A shared core can make one call ten times as long, and a noisy machine only ever adds.
    """
    least_s = float("inf")
    for _ in range(tries):
        began_s = time.process_time()
        work()
        least_s = min(least_s, time.process_time() - began_s)
        if least_s < enough_s:
            break
    return least_s
