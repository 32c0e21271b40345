"""Combine the hooks' notes of some steps into a profile, and estimate what communication costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.training.overlap.profile import Floats, Profile

# Slopes need shares that differ by that much.
_LEAST_SPREAD = 0.2


def usual_ready_s(steps_s: Sequence[Floats]) -> Floats:
    """(L,) when each gradient is ready in a step, whatever single steps were like: the medians.

    Args:
        steps_s: of each step (L,) when gradients were ready, in any fixed order of gradients.

    Raises:
        ValueError: there are no steps.
    """
    if not steps_s:
        raise ValueError("a profile needs a step at least")
    return np.asarray(np.median(np.stack(steps_s), axis=0))


def profile_of(names: Sequence[str], sizes_bytes: Sequence[int], ready_s: Floats) -> Profile:
    """Build a profile in ready order; equal times keep the given order.

    Args:
        names: of the gradients.
        sizes_bytes: of each.
        ready_s: (L,) of each, the maximum over ranks: collectives begin when the last is ready.
    """
    order = [int(place) for place in np.argsort(ready_s, kind="stable")]
    return Profile(
        tuple(names[place] for place in order),
        tuple(sizes_bytes[place] for place in order),
        tuple(max(0.0, float(ready_s[place])) for place in order),
    )


def shift(before: Profile, after: Profile) -> float:
    """Return how far gradients' times shifted, as a share of the time in which they come.

    The median over bytes: single gradients that come sooner or later change no schedule by much.
    """
    last_s = max(after.ready_s[-1], before.ready_s[-1])
    sent_s = max(before.ready_s[-1] - before.ready_s[0], 1e-3 * last_s)
    then_s = dict(zip(before.names, before.ready_s, strict=True))
    offset_s = after.ready_s[0] - before.ready_s[0]
    moved_s = np.array(
        [
            abs(at_s - offset_s - then_s[name])
            for name, at_s in zip(after.names, after.ready_s, strict=True)
        ]
    )
    order = np.argsort(moved_s)
    sums = np.cumsum(np.array(after.sizes_bytes, dtype=np.float64)[order])
    if not sent_s or not sums[-1]:
        return 0.0
    return float(moved_s[order][np.searchsorted(sums, 0.5 * sums[-1])] / sent_s)


def covered_share(
    begin_s: float, end_s: float, begun_s: Sequence[float], ended_s: Sequence[float]
) -> float:
    """Return the share of a time in which anything is in flight.

    Args:
        begin_s, end_s: of the time.
        begun_s, ended_s: of collectives, the first rising.
    """
    covered_s, until_s = 0.0, begin_s
    for begun, ended in zip(begun_s, ended_s, strict=True):
        first_s, last_s = max(begun, until_s), min(ended, end_s)
        covered_s += max(0.0, last_s - first_s)
        until_s = max(until_s, last_s)
    return covered_s / (end_s - begin_s) if end_s > begin_s else 0.0


def slowdown(spans_s: Sequence[float], shares: Sequence[float]) -> float | None:
    """How much longer computing takes while something is in flight, as a share; None if unknown.

    The median of the slopes between all pairs of steps that differ enough (Theil and Sen).

    Args:
        spans_s: what the same computing took in each step.
        shares: in which share of it something was in flight.
    """
    spans, covered = np.array(spans_s, dtype=np.float64), np.array(shares, dtype=np.float64)
    first, second = np.triu_indices(len(spans), 1)
    differ = covered[second] - covered[first]
    is_clear = np.abs(differ) >= _LEAST_SPREAD
    if not is_clear.any():
        return None
    slopes = (spans[second] - spans[first])[is_clear] / differ[is_clear]
    slope_s = float(np.median(slopes))
    alone_s = float(np.median(spans - slope_s * covered))
    return slope_s / alone_s if alone_s > 0.0 else None
