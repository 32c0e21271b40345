"""Latency forms to solve, by a short name."""

from __future__ import annotations

import numpy as np

from plink.solvers.collectives.form import Form, RoundsForm, TreesForm, WeightedRound
from plink.solvers.collectives.registry import find

# What takes any number of ranks, and what eight.
ANY = ("ring", "tree", "single tree", "star", "chain", "folded", "all pairs", "uneven")
EIGHT = ("halving-doubling", "bcube:2", "twice")


def form_of(name: str, ranks: int) -> Form:
    """A form of so many ranks."""
    return _MADE_HERE[name](ranks) if name in _MADE_HERE else find(name).form(ranks)


def _single_tree(ranks: int) -> TreesForm:
    return TreesForm(ranks, find("tree").form(ranks).parents[:1])


def _star(ranks: int) -> TreesForm:
    return TreesForm(ranks, [np.array([-1] + [0] * (ranks - 1))])


def _chain(ranks: int) -> TreesForm:
    return TreesForm(ranks, [np.arange(ranks) - 1])


def _all_pairs(ranks: int) -> RoundsForm:
    every = np.arange(ranks)
    shifts = range(1, ranks // 2 + 1)
    return RoundsForm(ranks, [_round(every, (every + shift) % ranks) for shift in shifts])


def _uneven(ranks: int) -> RoundsForm:
    every = np.arange(ranks)
    rounds = [_round(every, (every + shift) % ranks, 1.0 + shift) for shift in (1, 2)]
    return RoundsForm(ranks, [*rounds, _round(every[:1], every[1:2], 0.25)])


def _twice(ranks: int) -> RoundsForm:
    once = find("halving-doubling").form(ranks).rounds
    return RoundsForm(ranks, [*once, *reversed(once)])


def _folded(ranks: int) -> RoundsForm:
    """Recursive doubling of a power of two of ranks, to which the others send first."""
    power = 1 << (ranks.bit_length() - 1)
    every = np.arange(power)
    rounds = [_round(every, every ^ (1 << bit)) for bit in range(power.bit_length() - 1)]
    extra = np.arange(power, ranks)
    return RoundsForm(ranks, [_round(extra, extra - power), *rounds])


def _round(low: np.ndarray, high: np.ndarray, weight: float = 1.0) -> WeightedRound:
    return WeightedRound(np.stack([low, high], axis=1), weight)


_MADE_HERE = {
    "single tree": _single_tree,
    "star": _star,
    "chain": _chain,
    "folded": _folded,
    "all pairs": _all_pairs,
    "uneven": _uneven,
    "twice": _twice,
}
