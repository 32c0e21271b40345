"""Detection of the lowest mode of the readings: the scale of near hosts."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

_STEP = 0.01
_BANDWIDTH = 0.06
# A valley is believed where a window of twice the bandwidth holds at most this share of what it
# holds at the peaks to both sides, and the difference is so many deviations of counts.
_DEPTH = 0.8
_DEVIATIONS = 2.2
_MOST_LIMITS = 3
# A mode begins where the window holds this share of what it holds at the peak, which is within so
# many bins.
_RISE = 0.1
_REACH = 30


def limits(logs: Vector) -> list[float]:
    """Return the upper ends of all modes of log readings but the last; empty for one mode.

    The smoothed histogram is gone through from the left for valleys that are too deep to be
    chance between the peaks before and after them.

    Args:
        logs: (M,) of single readings, any order.

    Returns:
        at most `_MOST_LIMITS`, the lowest first.
    """
    if len(logs) < 2:
        return []
    low, high = float(logs.min()), float(logs.max())
    bins = math.ceil((high - low) / _STEP) + 1
    counts = np.bincount(((logs - low) / _STEP).astype(np.intp), minlength=bins)
    window = _in_window(counts.astype(np.float64))
    valleys: list[int] = []
    begin = 0
    while len(valleys) < _MOST_LIMITS:
        valley = _first_valley(window[begin:])
        if valley is None:
            break
        valleys.append(begin + valley)
        begin = valleys[-1]
    return [low + (valley + 0.5) * _STEP for valley in valleys]


def spread(logs: Vector) -> float:
    """Return the standard deviation of the logarithms of readings of one mode, by the median."""
    return float(1.4826 * np.median(np.abs(logs - np.median(logs)))) if len(logs) else 0.0


def _in_window(counts: Vector) -> Vector:
    """Return the smoothed number of readings in a window of twice the bandwidth."""
    reach = round(4 * _BANDWIDTH / _STEP)
    offsets = np.arange(-reach, reach + 1) * _STEP / _BANDWIDTH
    kernel = np.exp(-0.5 * offsets**2)
    kernel *= 2 * _BANDWIDTH / _STEP / kernel.sum()
    smooth: Vector = np.convolve(np.pad(counts, reach), kernel, mode="valid")
    return smooth


def _first_valley(window: Vector) -> int | None:
    """Return the histogram bin where the rise to the second mode begins."""
    peak, lowest, place = 0.0, math.inf, 0
    for step, value in enumerate(window):
        if _is_deeper(lowest, peak) and _is_deeper(lowest, value):
            break
        if value > peak and not _is_deeper(lowest, peak):
            peak, lowest, place = value, value, step
        if value < lowest:
            lowest, place = value, step
    else:
        return None
    second = float(window[step : step + _REACH].max())
    # Noise only adds, so that a mode begins at once and ends slowly: the limit is late.
    is_up = window[place:] > lowest + _RISE * (second - lowest)
    return place + int(np.argmax(is_up))


def _is_deeper(valley: float, peak: float) -> bool:
    difference = peak - valley
    return valley <= _DEPTH * peak and difference > _DEVIATIONS * math.sqrt(peak + valley)
