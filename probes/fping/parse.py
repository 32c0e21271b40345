"""What fping prints. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

_LOST = "-"
_MAX_RTT_MS = 60_000.0


def parse_report(output: str, address: str, count: int) -> list[float | None] | None:
    """The samples in the output of `fping -C COUNT -q ADDRESS`.

    Args:
        output: standard error of fping, on which `-q` puts `ADDRESS : 0.05 - 0.04 ...`.

        count: the number of probes asked for.

    Returns:
        `count` round-trip times in µs in the order sent, None where no answer came; or None where
        the output holds no whole report on `address`.
    """
    for line in output.splitlines():
        target, separator, samples = line.partition(" : ")
        if separator and target.strip() == address:
            try:
                found = [_parse_sample(word) for word in samples.split()]
            except ValueError:
                return None
            return found if len(found) == count else None
    return None


def percentile_us(samples_us: Sequence[float], percentile: float) -> float:
    """The smallest sample that at least `percentile` per cent do not exceed (nearest rank)."""
    rank = math.ceil(percentile / 100.0 * len(samples_us))
    return sorted(samples_us)[max(rank, 1) - 1]


def _parse_sample(word: str) -> float | None:
    if word == _LOST:
        return None
    rtt_ms = float(word)
    if not 0.0 <= rtt_ms <= _MAX_RTT_MS:
        raise ValueError(word)
    return rtt_ms * 1000.0
