"""Find the modes (peaks) of a set of distances, and draw its histogram on one line.

Both work on the logarithm: distances in one network span rack, row and ocean.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from plink.base.lazy import lazy_imports
from plink.formats.limits import Amount, Share
from plink.formats.structs import Output

with lazy_imports():
    from scipy import signal

Vector = npt.NDArray[np.float64]

_BARS = " ▁▂▃▄▅▆▇█"
_GRID = 1024
# Readings of one kind of path differ by a few percent (De Sensi et al., "Noise in the Clouds",
# SIGMETRICS 2022); a wide range is seen from further away.
_MIN_BANDWIDTH = 0.03
_RANGE_PER_BANDWIDTH = 30.0
# Two peaks are two modes if the density between them falls below this share of the lower one.
_MAX_VALLEY = 0.75
_MIN_SHARE = 0.01


class Mode(Output, frozen=True):
    """Mode (peak) of a distribution of round-trip times, with its share of the values.

    Attributes:
        rtt_us: the peak, in µs
        share: share of the values that belong to it, 0 to 1
    """

    rtt_us: Amount
    share: Share


def find_modes(values_us: Vector) -> list[Mode]:
    """Find the modes (peaks) of values in µs by kernel density estimation, lowest first.

    Args:
        values_us: (M,) finite, not negative, in any order; zeros do not count.

    Returns:
        At least one mode if any value is above zero. A mode's place is the median of its values.
    """
    logs = np.sort(np.log(values_us[values_us > 0.0]))
    if not logs.size:
        return []
    bandwidth = max(_MIN_BANDWIDTH, float(logs[-1] - logs[0]) / _RANGE_PER_BANDWIDTH)
    low, high = float(logs[0]) - 4 * bandwidth, float(logs[-1]) + 4 * bandwidth
    counts, edges = np.histogram(logs, bins=_GRID, range=(low, high))
    step = (high - low) / _GRID
    reach = math.ceil(3 * bandwidth / step)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / bandwidth) ** 2)
    density = np.convolve(counts, kernel, mode="same")
    cuts = [float(edges[valley]) for valley in _valleys(density)]
    parts = [part for part in np.split(logs, np.searchsorted(logs, cuts)) if part.size]
    modes = [Mode(float(np.exp(np.median(part))), part.size / logs.size) for part in parts]
    return [mode for mode in modes if mode.share >= _MIN_SHARE]


def _valleys(density: Vector) -> list[int]:
    """Return the indices of the lowest points between distinct peaks of a sampled density."""
    padded = np.pad(density, 1)
    peaks, about = signal.find_peaks(padded, prominence=0.0)
    distinct = peaks[about["prominences"] > (1.0 - _MAX_VALLEY) * padded[peaks]] - 1
    return [
        int(left + np.argmin(density[left:right])) for left, right in pairwise(distinct.tolist())
    ]


def histogram_line(values_us: Vector, width: int) -> str:
    """Return a one-line histogram of values' logarithms as text of at most `width` characters.

    Args:
        values_us: (M,) finite, not negative; zeros stand in the first bar.
        width: at least 1.
    """
    positive = values_us[values_us > 0.0]
    if not positive.size:
        return _BARS[-1] * min(values_us.size, 1)
    logs = np.log(np.maximum(values_us, positive.min()))
    if logs.max() - logs.min() < 1e-9:
        return _BARS[-1]
    counts, _ = np.histogram(logs, bins=width)
    top = len(_BARS) - 1
    return "".join(_BARS[math.ceil(top * int(count) / int(counts.max()))] for count in counts)
