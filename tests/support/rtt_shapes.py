"""Round-trip times as networks make them, of which the true 10th percentile is known. Seeded."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float64]
_BASE_NS = 20_000.0
_P10_OF_NORMAL = -1.2815515655446004


@dataclass(frozen=True)
class Shape:
    """A distribution over time.

    Args:
        draw: so many round-trip times in ns, in the order in which they are taken.
        p10_ns: their true 10th percentile.
    """

    draw: Callable[[np.random.Generator, int], Samples]
    p10_ns: float


def _heavy_tail(rng: np.random.Generator, size: int) -> Samples:
    return _BASE_NS + 2000.0 * rng.pareto(1.5, size)


def _bimodal(rng: np.random.Generator, size: int) -> Samples:
    slow = rng.random(size) < 0.5
    return np.where(slow, 1.5 * _BASE_NS, _BASE_NS) + rng.exponential(500.0, size)


def _rare_fast(rng: np.random.Generator, size: int) -> Samples:
    slow = rng.random(size) < 0.86
    return np.where(slow, 1.5 * _BASE_NS, _BASE_NS) + rng.exponential(500.0, size)


def _quantised(rng: np.random.Generator, size: int) -> Samples:
    return np.ceil((_BASE_NS + rng.exponential(1500.0, size)) / 1000.0) * 1000.0


def _correlated(phi: float, spread: float) -> Shape:
    def draw(rng: np.random.Generator, size: int) -> Samples:
        steps = rng.normal(size=size) * math.sqrt(1.0 - phi * phi)
        level = float(rng.normal())
        levels = np.empty(size)
        for i, step in enumerate(steps):
            level = phi * level + step
            levels[i] = level
        return np.asarray(_BASE_NS * np.exp(spread * levels))

    return Shape(draw, _BASE_NS * math.exp(spread * _P10_OF_NORMAL))


def _phases(rng: np.random.Generator, size: int) -> Samples:
    """Two levels, 3 % apart, that change every hundred samples or so."""
    changes = np.cumsum(rng.random(size) < 0.01) + rng.integers(2)
    return np.where(changes % 2, 1.03, 1.0) * _BASE_NS + rng.exponential(300.0, size)


def drifting(rng: np.random.Generator, size: int, share: float) -> Samples:
    """A level that rises evenly, by `share` from the first to the last."""
    level = np.linspace(1.0, 1.0 + share, size)
    return np.asarray(_BASE_NS * level + rng.exponential(300.0, size))


def _phases_p10() -> float:
    """Where half a shifted exponential and half another reach 10 %."""
    low, high = _BASE_NS, 1.03 * _BASE_NS
    for _ in range(60):
        middle = (low + high) / 2.0
        share = 0.5 * -math.expm1(-max(middle - _BASE_NS, 0.0) / 300.0)
        share += 0.5 * -math.expm1(-max(middle - 1.03 * _BASE_NS, 0.0) / 300.0)
        low, high = (middle, high) if share < 0.1 else (low, middle)
    return low


SHAPES = {
    "heavy tail": Shape(_heavy_tail, _BASE_NS + 2000.0 * (0.9 ** (-1 / 1.5) - 1.0)),
    "bimodal": Shape(_bimodal, _BASE_NS - 500.0 * math.log(0.8)),
    "rarely fast": Shape(_rare_fast, _BASE_NS - 500.0 * math.log(1.0 - 0.1 / 0.14)),
    "quantised": Shape(_quantised, math.ceil((_BASE_NS - 1500.0 * math.log(0.9)) / 1e3) * 1e3),
    "correlated": _correlated(0.5, 0.1),
    "much correlated": _correlated(0.9, 0.05),
    "phases": Shape(_phases, _phases_p10()),
}
