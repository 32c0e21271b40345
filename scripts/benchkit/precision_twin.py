"""The rule of early stopping in plain Python: what `probes/echo/agent/precision.cpp` must equal."""

from __future__ import annotations

import math
from collections.abc import Sequence

UNKNOWN_PPM = (1 << 32) - 1
FIRST_LOOK = 400
RISK = 0.05
BATCHES = 10


def looks_until(count: int) -> list[int]:
    """The numbers of probes after which the samples are looked at."""
    looks = []
    size = FIRST_LOOK
    while size < count:
        looks.append(size)
        size += size // 2
    return [*looks, count]


def ranks(size: int, share: float, tail: float) -> tuple[int, int]:
    """Low and high rank around the quantile `share`; 0 and `size` + 1 where there is none."""
    mode = min(int((size + 1) * share), size)
    odds = share / (1.0 - share)
    weights = [0.0] * (size + 1)
    weights[mode] = 1.0
    for k in range(mode, size):
        weights[k + 1] = weights[k] * float(size - k) / float(k + 1) * odds
    for k in range(mode, 0, -1):
        weights[k - 1] = weights[k] * float(k) / float(size - k + 1) / odds
    total = 0.0
    for weight in weights:
        total += weight
    low, risked = 0, weights[0]
    while risked <= tail * total:
        low += 1
        risked += weights[low]
    high, risked = size + 1, weights[size]
    while risked <= tail * total:
        high -= 1
        risked += weights[high - 1]
    return low, high


def variance_inflation(samples_ns: Sequence[int], quantile_ns: int, share: float) -> float:
    """By what factor batch means of "is not above" vary more than those of independent samples."""
    batch = len(samples_ns) // BATCHES
    shares = []
    mean = 0.0
    for begin in range(len(samples_ns) - batch * BATCHES, len(samples_ns), batch):
        not_above = sum(sample <= quantile_ns for sample in samples_ns[begin : begin + batch])
        shares.append(not_above / batch)
        mean += shares[-1]
    mean /= BATCHES
    squares = 0.0
    for value in shares:
        squares += (value - mean) * (value - mean)
    return max(1.0, batch * (squares / (BATCHES - 1)) / (share * (1.0 - share)))


def quantile(sorted_ns: Sequence[int], percentile: float) -> int:
    """The smallest sample that at least `percentile` per cent do not exceed."""
    rank = math.ceil(percentile / 100.0 * len(sorted_ns))
    return sorted_ns[max(rank, 1) - 1]


def half_width_ppm(samples_ns: Sequence[int], percentile: float, looks: int) -> int:
    """Half the width of the percentile's confidence interval, in parts per million of it."""
    share = percentile / 100.0
    if len(samples_ns) < 2 * BATCHES or share <= 0.0 or share >= 1.0:
        return UNKNOWN_PPM
    sorted_ns = sorted(samples_ns)
    quantile_ns = quantile(sorted_ns, percentile)
    size = len(samples_ns)
    effective = int(size / variance_inflation(samples_ns, quantile_ns, share))
    if effective == 0 or quantile_ns == 0:
        return UNKNOWN_PPM
    low, high = ranks(effective, share, RISK / looks / 2.0)
    if low == 0 or high > effective:
        return UNKNOWN_PPM
    low_ns = sorted_ns[low * size // effective - 1]
    high_ns = sorted_ns[-(-high * size // effective) - 1]
    width_ns = max(high_ns - quantile_ns, quantile_ns - low_ns)
    return min(-(-width_ns * 1_000_000 // quantile_ns), UNKNOWN_PPM - 1)


def stop(samples_ns: Sequence[int], percentile: float, precision_ppm: int) -> tuple[int, int]:
    """After how many samples sampling ends, and the half-width then; `samples_ns` are `count`."""
    looks = looks_until(len(samples_ns))
    width_ppm = UNKNOWN_PPM
    for look in looks:
        width_ppm = half_width_ppm(samples_ns[:look], percentile, len(looks))
        if width_ppm <= precision_ppm:
            return look, width_ppm
    return len(samples_ns), width_ppm
