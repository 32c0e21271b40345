"""Choice of the next host pairs of a large cluster to measure, from the readings so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from plink.solvers.sampling.fragments import (
    Fragments,
    find_fragments,
    sum_by_cluster,
    value_by_third_hosts,
)

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Pairs = list[tuple[int, int]]

Mask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]

# Partners in its own fragment that a host needs, and the least sum of their votes, to be sure.
_NEEDED_PARTNERS = 3
_LEAST_VOTES = 1.5
_MOST_PARTNERS = 8
_ASSUMED_VOTE = 0.8
# Two fragments are apart where the log likelihood ratio of their being one is as low.
_APART = -4.5
# What third ones say for two that they are one counts up to here: they may be of one row only.
_MOST_FOR = 6.0
# A fragment looks again at those that are the least unlike it.
_LOOKS = 3
_APART_FOR_SURE = -9.5
# Fragments of so many hosts look again at all, and those of so many times fewer than usual.
_LOST = 2
_FEWER = 3.0
# Pairs of two fragments that are tried before giving up on them.
_TRIES = 16
# A host needs confirmation more than any search.
_CONFIRM = 100.0
_JITTER = 0.5

Phase = Literal["chance", "search", "near", "done", "budget"]

# Meetings of every host by chance, before it is asked what is near.
_FIRST_ROUNDS = 5
# Rounds that are chosen at once, without the readings of the earlier ones.
_AT_ONCE = 2
# A host without a reading after so many meetings is dead.
_DEAD_AFTER = 6
# No host meets more others than so many times its share, nor is kept from a few.
_TIMES_SHARE = 2.0
_LEAST_MOST = 24
# Idle hosts meet near ones once fewer hosts than this share are alone, while the search has so
# many meetings a host in reserve; at the end, as long as this share of all hosts meets in a round.
_FEW_ALONE = 0.15
_RESERVE = 0.5
_FEW_NEAR = 0.02
_PARTNERS = 5.0
# The rounding error of a share that is meant to be a whole number of pairs.
_ROUNDING = 1e-6


def match_pairs(weight: Matrix, labels: Labels | None = None) -> Pairs:
    """Match hosts to disjoint pairs of high weight: greedily, by mutual best choice.

    Args:
        weight: (N, N), symmetric; -inf for pairs that must not meet. Ties should be broken.
        labels: (N,) cluster of each host: at most one pair is taken of any two clusters, any
            number within one. None for no such limit.

    Returns:
        disjoint pairs (i, j), i < j.
    """
    left = weight.copy()
    free = np.arange(len(left))
    pairs: Pairs = []
    while len(free) > 1:
        here = np.arange(len(free))
        best = left.argmax(axis=1)
        is_possible = left[here, best] > -np.inf
        mutual = here[(best[best] == here) & (here < best) & is_possible]
        if not len(mutual):
            break
        if labels is not None:
            mutual = _one_each(mutual, best, labels[free], left)
        pairs += zip(free[mutual].tolist(), free[best[mutual]].tolist(), strict=True)
        is_left = is_possible
        is_left[mutual] = is_left[best[mutual]] = False
        left = left[is_left][:, is_left]
        free = free[is_left]
    return pairs


def _one_each(mutual: Labels, best: Labels, labels: Labels, left: Matrix) -> Labels:
    """Return the matched hosts, one pair for any two clusters, and bar other pairs of the two."""
    low = np.minimum(labels[mutual], labels[best[mutual]])
    high = np.maximum(labels[mutual], labels[best[mutual]])
    is_within = low == high
    _, first = np.unique(low * (labels.max() + 1) + high, return_index=True)
    is_kept = is_within.copy()
    is_kept[first] = True
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(labels.max() + 2))
    for a, b in zip(low[is_kept & ~is_within], high[is_kept & ~is_within], strict=True):
        block = np.ix_(order[bounds[a] : bounds[a + 1]], order[bounds[b] : bounds[b + 1]])
        left[block] = -np.inf
        left[block[1].T, block[0].T] = -np.inf
    kept: Labels = mutual[is_kept]
    return kept


class PairPriorities:
    """Priorities of host pairs to measure, updated while rounds of pairs are chosen.

    Args:
        found: the fragments.
        known: (N, N) pairs with a reading.
        met: (N, N) pairs that met, with or without a reading.
    """

    def __init__(self, found: Fragments, known: Mask, met: Mask) -> None:
        labels = self._labels = found.labels
        sizes = found.sizes
        self._same: Mask = labels[:, None] == labels[None, :]
        inside = known & self._same
        self._partners: Counts = inside.sum(axis=1)
        self._votes = np.where(inside, found.votes, 0.0).sum(axis=1)
        self._most = sizes[labels] - 1
        thirds = found.thirds
        is_other = ~np.eye(len(sizes), dtype=bool)
        best = np.minimum(thirds.max(axis=1, where=is_other, initial=-np.inf), 0.0)
        # Where all speak against a host, some of its own readings are wrong.
        against = np.minimum(thirds - np.minimum(best[:, None], best[None, :]), 0.0)
        ratio = against + found.direct
        one, other = np.nonzero(met)
        tried = sum_by_cluster(labels, labels, one, other, np.ones(len(one)))
        # By what a reading says on average, so that looking again does not change which it is.
        likeness = thirds + found.direct / np.maximum(tried, 1.0)
        np.fill_diagonal(likeness, -np.inf)
        # Hosts that found few others where most found many were misled somewhere.
        few = max(_LOST, float(np.median(sizes[labels])) / _FEWER)
        is_lost = (sizes[:, None] <= few) | (sizes <= few)
        least = np.where(is_lost & (against > _APART), _APART_FOR_SURE, _APART)
        # Those that are the least unlike it are compared once more.
        looks: Mask = np.zeros(ratio.shape, dtype=bool)
        rows = np.arange(len(ratio))[:, None]
        nearest = np.argsort(-likeness, axis=1)[:, :_LOOKS]
        looks[rows, nearest] = ratio[rows, nearest] > _APART_FOR_SURE
        is_open = (ratio > least) | looks | looks.T
        product = sizes[:, None] * sizes[None, :]
        is_open &= tried < np.minimum(product, _TRIES)
        is_open &= is_other
        # A pair of two large fragments says as much of every host in them.
        rank = np.minimum(thirds, _MOST_FOR) + found.direct + np.log(product)
        self._rank: Matrix = np.where(is_open, rank, -np.inf)

    def weight(self, rng: np.random.Generator) -> Matrix:
        """Return the priority of measuring each pair next, (N, N); -inf for unwanted pairs."""
        weight = self._rank[self._labels][:, self._labels]
        need = np.maximum(_NEEDED_PARTNERS - self._partners, 0)
        is_unsure = (self._votes < _LEAST_VOTES) & (self._partners < _MOST_PARTNERS)
        need = np.where(is_unsure, np.maximum(need, 1), need)
        need[self._partners >= self._most] = 0
        one, other = np.nonzero(self._same & (need[:, None] + need[None, :] > 0))
        weight[one, other] = _CONFIRM + need[one] + need[other]
        jitter = rng.random(weight.shape, dtype=np.float32)
        return weight + _JITTER * (jitter + jitter.T)

    @property
    def open_searches(self) -> int:
        """Approximate number of host pairs that the search for groups still has to measure."""
        lone = int((self._most == 0).sum())
        return int((self._rank > -np.inf).sum()) // 2 + _LOOKS * lone

    def meet(self, one: int, other: int) -> None:
        """Record that two hosts are to be measured, so that other pairs come first."""
        if self._same[one, other]:
            self._partners[[one, other]] += 1
            self._votes[[one, other]] += _ASSUMED_VOTE
        else:
            a, b = self._labels[one], self._labels[other]
            self._rank[a, b] = self._rank[b, a] = -np.inf

    def near(self, rng: np.random.Generator) -> Matrix:
        """Return random priorities of pairs within one fragment, (N, N); -inf for others."""
        jitter = rng.random(self._same.shape)
        return np.where(self._same, jitter + jitter.T, -np.inf)


@dataclass(frozen=True)
class SamplerStep:
    """Next rounds of host pairs to measure, with the phase of the sampling.

    Args:
        rounds: rounds of disjoint pairs (i, j), i < j; empty if nothing is left to do.
        phase: why these: by `chance` while nothing is near, to `search` for groups and confirm
            them, to measure what is `near` in full; or why nothing: all is `done`, or the `budget`
            is spent.
        found: the fragments of groups so far; None where no near mode shows, and so no groups.
    """

    rounds: Sequence[Pairs]
    phase: Phase
    found: Fragments | None


def usual_share(hosts: int) -> float:
    """Return the share of host pairs, 0 to 1, that usually suffices to find groups of N hosts."""
    return float(min(1.0, _PARTNERS * np.cbrt(hosts) / max(1, hosts - 1)))


def next_rounds(
    readings_us: Matrix,
    *,
    share: float,
    tried: Mask | None = None,
    seed: int = 0,
) -> SamplerStep:
    """Return the next rounds of host pairs of a sample that finds groups from few readings.

    All that it knows is in its arguments, so that it goes on with what another run measured.
    After a few rounds by chance, hosts whose readings are near make fragments of groups. A
    fragment then meets those that it may be one with: those that third hosts are as far from
    (`plink.solvers.sampling.fragments`), and of two fragments one pair at a time, so that N hosts
    in k groups take N k / 2 meetings at most. This is equivalence class sorting where each host is
    in one comparison at a time (Devanny, Goodrich and Jetviroj, "Parallel equivalence class
    sorting", SPAA 2016), with an oracle that may be wrong.

    Args:
        readings_us: (N, N) the least reading of either direction of each pair, symmetric; NaN
            where there is none.
        share: of all pairs, what may be measured, 0 to 1.
        tried: (N, N) pairs that were asked for, with or without a reading. They are not asked for
            again; without it those are that got no reading.
        seed: decides every choice by chance.
    """
    known: Mask = ~np.isnan(readings_us)
    np.fill_diagonal(known, val=False)
    met = known.copy() if tried is None else known | tried | tried.T
    np.fill_diagonal(met, val=False)
    size = len(met)
    meetings = met.sum(axis=1)
    spent = int(meetings.sum()) // 2
    left = int(share * size * (size - 1) / 2 + _ROUNDING) - spent
    is_alive = (meetings < _DEAD_AFTER) | known.any(axis=1)
    is_out = ~is_alive | (meetings >= max(_TIMES_SHARE * share * size, _LEAST_MOST))
    barred = met | is_out[:, None] | is_out
    np.fill_diagonal(barred, val=True)
    found = find_fragments(np.where(known, readings_us, np.nan))
    if left <= 0:
        return SamplerStep([], "budget", found)
    rng = np.random.default_rng([seed, spent])
    first = int(np.median(meetings[is_alive])) if is_alive.any() else size
    if first < _FIRST_ROUNDS:
        rounds = _draw_rounds(barred, _FIRST_ROUNDS - first, rng, None)
    elif found is None:
        rounds = _draw_rounds(barred, _AT_ONCE, rng, value_by_third_hosts(readings_us))
    else:
        return _search(PairPriorities(found, known, met), barred, left, found, rng)
    rounds = _cut_to_budget(rounds, left)
    return SamplerStep(rounds, "chance" if rounds else "done", found)


def _draw_rounds(
    barred: Mask, rounds: int, rng: np.random.Generator, hints: Matrix | None
) -> list[Pairs]:
    """Draw random rounds of pairs not barred; every other round prefers pairs with high hints."""
    barred = barred.copy()
    chosen = []
    for turn in range(rounds):
        weight = rng.random(barred.shape)
        weight += weight.T
        if hints is not None and turn % 2 == 0:
            weight += hints
        chosen.append(_choose_pairs(weight, barred, None))
    return chosen


def _search(
    wanted: PairPriorities, barred: Mask, left: int, found: Fragments, rng: np.random.Generator
) -> SamplerStep:
    """Choose rounds of pairs that confirm fragments, join them, and measure near hosts in full.

    At the end all pairs within groups are measured, as far as the budget of `left` pairs goes:
    of these the cheapest orders are made.
    """
    size = len(barred)
    are_few_alone = (found.sizes[found.labels] == 1).mean() < _FEW_ALONE
    rounds: list[Pairs] = []
    phase: Phase = "done"
    for _ in range(_AT_ONCE):
        pairs = _choose_pairs(wanted.weight(rng), barred, found.labels)
        if pairs:
            phase = "search"
        spare = left - sum(map(len, rounds)) - len(pairs)
        if pairs:
            spare -= wanted.open_searches + round(_RESERVE * size)
        if spare > 0 and (are_few_alone or not pairs):
            busy = [host for pair in pairs for host in pair]
            near = wanted.near(rng)
            near[busy] = near[:, busy] = -np.inf
            near[barred] = -np.inf
            more = match_pairs(near)[:spare]
            if pairs:
                pairs += more
            elif len(more) >= _FEW_NEAR * size:
                pairs = more
                phase = "search" if phase == "search" else "near"
            _bar(barred, more)
        for one, other in pairs:
            wanted.meet(one, other)
        rounds.append(pairs)
    return SamplerStep(_cut_to_budget(rounds, left), phase, found)


def _choose_pairs(weight: Matrix, barred: Mask, labels: npt.NDArray[np.int64] | None) -> Pairs:
    """Return disjoint pairs of high weight for the next round, and bar them from later rounds."""
    weight[barred] = -np.inf
    pairs = match_pairs(weight, labels)
    _bar(barred, pairs)
    return pairs


def _bar(barred: Mask, pairs: Pairs) -> None:
    for one, other in pairs:
        barred[one, other] = barred[other, one] = True


def _cut_to_budget(rounds: Sequence[Pairs], left: int) -> list[Pairs]:
    """Return the rounds cut to `left` pairs in all, without empty rounds."""
    kept = []
    for pairs in rounds:
        if left > 0 and pairs:
            kept.append(sorted(pairs[:left]))
        left -= len(pairs)
    return kept
