"""Which pairs of a large cluster to measure next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.sampling.found import Found, found_in
from solvers.sampling.matching import Pairs, matched
from solvers.sampling.two_steps import two_steps
from solvers.sampling.wanted import Wanted

Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Rounds = list[Pairs]

# Meetings of every host by chance, which show what is near.
_FIRST_ROUNDS = 5
# Rounds that are chosen at once, without the readings of the earlier ones.
_AT_ONCE = 2
# A host without a reading after so many meetings is dead.
_DEAD_AFTER = 6
# No host meets more others than so many times its share, but for few of them.
_TIMES_SHARE = 2.0
_LEAST_MOST = 24
_FEW = 0.15
_RESERVE = 0.5
_LEAST = 0.02


@dataclass(frozen=True)
class Step:
    """What to do next.

    Args:
        rounds: of disjoint pairs (i, j), i < j; none if nothing is left to do.
        phase: why these.
        found: the fragments so far.
    """

    rounds: Rounds
    phase: str
    found: Found | None


def next_rounds(
    readings_us: Matrix,
    *,
    tried: Mask | None = None,
    share: float,
    seed: int = 0,
    complete: bool = True,
) -> Step:
    size = len(readings_us)
    known = ~np.isnan(readings_us)
    np.fill_diagonal(known, val=False)
    met: Mask = known.copy() if tried is None else known | tried | tried.T
    np.fill_diagonal(met, val=False)
    meetings = met.sum(axis=1)
    spent = int(meetings.sum()) // 2
    left = round(share * size * (size - 1) / 2) - spent
    rng = np.random.default_rng([seed, spent])
    most = max(_TIMES_SHARE * share * size, _LEAST_MOST)
    is_alive = (meetings < _DEAD_AFTER) | known.any(axis=1)
    barred = met | ~is_alive[:, None] | ~is_alive
    is_busy = meetings >= most
    barred |= is_busy[:, None] | is_busy
    np.fill_diagonal(barred, val=True)
    found = found_in(np.where(known, readings_us, np.nan))
    if left <= 0:
        return Step([], "budget", found)
    first = int(np.median(meetings[is_alive])) if is_alive.any() else size
    if first < _FIRST_ROUNDS or found is None:
        hints = None if first < _FIRST_ROUNDS else two_steps(readings_us)
        rounds = _random(barred, max(_FIRST_ROUNDS - first, _AT_ONCE), rng, hints)
        return Step(_within(rounds, left), "random", found)
    wanted = Wanted(found, known, met)
    rounds = []
    phase = "search"
    lone = float((found.sizes[found.labels] == 1).mean())
    for _ in range(_AT_ONCE):
        weight = wanted.weight(rng)
        weight[barred] = -np.inf
        pairs = matched(weight, found.labels)
        spare = left - sum(map(len, rounds)) - len(pairs)
        if pairs:
            spare -= wanted.open_searches + round(_RESERVE * size)
        if complete and spare > 0 and (not pairs or lone < _FEW):
            near = wanted.near(rng)
            near[barred] = -np.inf
            busy = [host for pair in pairs for host in pair]
            near[busy] = -np.inf
            near[:, busy] = -np.inf
            phase = "search+" if pairs else "complete"
            more = matched(near)[:spare]
            if pairs or len(more) >= _LEAST * size:
                pairs = pairs + more
        if not pairs:
            break
        for i, j in pairs:
            barred[i, j] = barred[j, i] = True
            wanted.meet(i, j)
        rounds.append(pairs)
    return Step(_within(rounds, left), phase if rounds else "done", found)


def _random(
    barred: Mask, rounds: int, rng: np.random.Generator, hints: Matrix | None
) -> Rounds:
    barred = barred.copy()
    chosen = []
    for turn in range(rounds):
        weight = rng.random(barred.shape)
        weight += weight.T
        if hints is not None and turn % 2 == 0:
            weight += hints
        weight[barred] = -np.inf
        pairs = matched(weight)
        for i, j in pairs:
            barred[i, j] = barred[j, i] = True
        chosen.append(pairs)
    return chosen


def _within(rounds: Rounds, left: int) -> Rounds:
    """As many of the pairs as the budget has left."""
    kept = []
    for pairs in rounds:
        if left > 0 and pairs:
            kept.append(sorted(pairs[:left]))
        left -= len(pairs)
    return kept
