"""Sparse training in plain loops over ranks and elements, slow and easy to read.

Algorithm 1 of Sun et al. (2019), lines 7 to 17, and algorithm 1 of Lin et al. (2018), whose chunks
are chosen as Sun et al. do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Gradients = Callable[[int, Sequence[float]], list[list[float]]]
"""By step and weights: of each rank, of each element."""


@dataclass
class Trained:
    """The weights, and the chunks that were sent, of every step."""

    weights: list[list[float]] = field(default_factory=list)
    sent: list[list[int]] = field(default_factory=list)


@dataclass(frozen=True)
class Settings:
    """Of a training."""

    correction: str
    items: int
    chunk: int
    ranks: int
    sparsity: float
    warmup_steps: int
    momentum: float = 0.9
    rate: float = 0.05
    is_nesterov: bool = False
    decay: float = 0.0


def train(  # noqa: PLR0912 - as one algorithm is printed
    settings: Settings, gradients: Gradients, weights: list[float], steps: int
) -> Trained:
    """Train by loops."""
    one = settings
    chunks = [
        list(range(first, min(first + one.chunk, one.items)))
        for first in range(0, one.items, one.chunk)
    ]
    weights = list(weights)
    hg = [[0.0] * one.items for _ in range(one.ranks)]
    hu = [0.0] * one.items
    u = [[0.0] * one.items for _ in range(one.ranks)]
    always_sent = [True] * len(chunks)
    important = list(range(len(chunks)))
    trained = Trained()
    for step in range(steps):
        g = gradients(step, weights)
        norms = [0.0] * len(chunks)
        for c, elements in enumerate(chunks):
            is_important = c in important
            always_sent[c] = always_sent[c] and is_important
            is_delayed = one.correction != "paper" and not always_sent[c]
            for e in elements:
                for rank in range(one.ranks):
                    if is_delayed:
                        g[rank][e] += one.decay * weights[e]
                        u[rank][e] = one.momentum * u[rank][e] + g[rank][e]
                        ahead = g[rank][e] + one.momentum * u[rank][e]
                        g[rank][e] = hg[rank][e] + (ahead if one.is_nesterov else u[rank][e])
                    else:
                        g[rank][e] += hg[rank][e]
                if not is_important:
                    for rank in range(one.ranks):
                        norms[c] += abs(g[rank][e])
                        kept = one.momentum if one.correction == "paper" else 1.0
                        hg[rank][e] = kept * g[rank][e]
                    continue
                mean = sum(g[rank][e] for rank in range(one.ranks)) / one.ranks
                # The norm of the sum, divided by N on each of N ranks.
                norms[c] += one.ranks * abs(mean)
                for rank in range(one.ranks):
                    hg[rank][e] = 0.0
                if is_delayed:
                    weights[e] -= one.rate * mean
                    if one.correction == "dgc-masked":
                        for rank in range(one.ranks):
                            u[rank][e] = 0.0
                        hu[e] = 0.0
                    continue
                mean += one.decay * weights[e]
                hu[e] = one.momentum * hu[e] + mean
                for rank in range(one.ranks):
                    u[rank][e] = hu[e]
                look = mean + one.momentum * hu[e] if one.is_nesterov else hu[e]
                weights[e] -= one.rate * look
            if is_delayed and is_important and one.correction == "dgc-masked":
                always_sent[c] = True
        trained.weights.append(list(weights))
        trained.sent.append(sorted(important))
        grown = min(1.0, (step + 1) / one.warmup_steps) if one.warmup_steps else 1.0
        held = math.floor(len(chunks) * one.sparsity * grown + 1e-9)
        count = max(1, len(chunks) - held)
        important = sorted(range(len(chunks)), key=lambda c: (-norms[c], c))[:count]
    return trained
