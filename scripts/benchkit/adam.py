"""Adam (Kingma and Ba 2015), with which Luo 2020, §4.2.1, optimises its embedding."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Objective = Callable[[Vector], tuple[float, Vector]]


def adam(
    objective: Objective, start: Vector, *, rate: float, seconds: float
) -> list[tuple[float, float]]:
    """(processor seconds, least value so far) after each step; the rate falls to 1 %."""
    first, second = np.zeros_like(start), np.zeros_like(start)
    point, least = start.copy(), np.inf
    track: list[tuple[float, float]] = []
    began = time.process_time()
    step = 0
    while (passed := time.process_time() - began) < seconds:
        step += 1
        value, gradient = objective(point)
        least = min(least, value)
        track.append((time.process_time() - began, least))
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        mean, spread = first / (1.0 - 0.9**step), second / (1.0 - 0.999**step)
        falling = rate * 0.01 ** (passed / seconds)
        point = point - falling * mean / (np.sqrt(spread) + 1e-8)
    return track
