"""Early stopping on samples drawn at random from a measured distribution, which cannot drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchkit.precision_twin import quantile, stop

READING = 10.0
# As many as an agent reports. What is far above the reading decides nothing but that it is above.
PERCENTILES = (READING, 0, 2, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 20, 50, 100)


@dataclass(frozen=True)
class Stopped:
    """Where sampling ended.

    Args:
        sent: after how many probes.
        is_precise: whether the reading was found precise enough; else the probes were used up.
        error: the reading's relative error.
    """

    sent: int
    is_precise: bool
    error: float


def draw_ns(
    rtt_us: Mapping[float, float], size: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Independent samples in ns of the distribution that has these percentiles.

    Between two percentiles its quantile function is a straight line; 0 and 100 must be among them.
    """
    percentiles = sorted(rtt_us)
    values_ns = [1e3 * rtt_us[percentile] for percentile in percentiles]
    drawn_ns = np.interp(rng.uniform(0.0, 100.0, size), percentiles, values_ns)
    return np.rint(drawn_ns).astype(np.int64)


def error_of_drawn(rtt_us: Mapping[float, float], count: int, rng: np.random.Generator) -> float:
    """The relative error of the reading of so many samples, `READING` in `rtt_us` being true."""
    return _error(draw_ns(rtt_us, count, rng).tolist(), rtt_us)


def stop_on_drawn(
    rtt_us: Mapping[float, float], count: int, precision_percent: float, rng: np.random.Generator
) -> Stopped:
    """Sample until the reading is precise, `count` times at most.

    Args:
        rtt_us: percentiles of what was measured; `READING` among them is true.
    """
    samples_ns = draw_ns(rtt_us, count, rng).tolist()
    precision_ppm = round(1e4 * precision_percent)
    sent, width_ppm = stop(samples_ns, READING, precision_ppm)
    return Stopped(sent, width_ppm <= precision_ppm, _error(samples_ns[:sent], rtt_us))


def _error(samples_ns: Sequence[int], rtt_us: Mapping[float, float]) -> float:
    return quantile(sorted(samples_ns), READING) / (1e3 * rtt_us[READING]) - 1.0
