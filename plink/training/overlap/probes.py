"""Collectives that only measure: where those of a training do not tell startup from rate."""

from __future__ import annotations

MOST_S = 1.0
"""All of them together take no longer, but for what is slower than the one before promised."""

# Four kilobytes to sixteen megabytes: the smallest is all startup, the largest all rate.
SIZES_BYTES = tuple(1 << shift for shift in (12, 15, 18, 21, 24))
REPEATS = 2
# One alone, then two at once.
IN_ROUND = 3


def goes_on(elapsed_s: float, round_s: float, next_round: int) -> bool:
    """Whether a further round fits into the time; all ranks have to say the same.

    Args:
        elapsed_s: since the first, of the slowest rank.
        round_s: what the last round took.
        next_round: which one comes.
    """
    if next_round >= len(SIZES_BYTES):
        return False
    # It takes no more than in proportion to its bytes.
    growth = SIZES_BYTES[next_round] / SIZES_BYTES[next_round - 1]
    return elapsed_s + growth * round_s <= MOST_S
