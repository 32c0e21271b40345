"""Linear regression that bears with outliers, of quantities that are not negative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations

import numpy as np

from plink.training.overlap.profile import Floats

# The standard deviation of a normal distribution as a multiple of its median absolute deviation.
_DEVIATIONS_PER_MAD = 1.4826
# Tukey's biweight: with it 95 % of the efficiency of least squares where errors are normal.
_BIWEIGHT = 4.685
_MOST_ROUNDS = 16
_MOST_HALVINGS = 4
_ENOUGH = 1e-4
# Exact data would make weights of rounding errors.
_LEAST_DEVIATION = 2e-3


@dataclass(frozen=True)
class Rows:
    """n equations in p unknowns.

    Args:
        coefficients: (n, p).
        values: (n,) positive scales against which errors are seen: what they come to, nearly.
        targets: (n,).
        weights: (n,) what each counts.
    """

    coefficients: Floats
    values: Floats
    targets: Floats
    weights: Floats

    def errors(self, unknowns: Floats) -> Floats:
        """Return (n,) by which share each is missed."""
        return np.asarray((self.targets - self.coefficients @ unknowns) / self.values)


@dataclass(frozen=True)
class Regression:
    """Result of a regression.

    Args:
        unknowns: (p,).
        deviation: of a row, as a share of its value; outliers do not count.
        information: (p, p) of the rows alone, in units of the scales, without what was believed.
    """

    unknowns: Floats
    deviation: float
    information: Floats


def robust(
    rows_of: Callable[[Floats], Rows], begin: Floats, believed: Floats, scales: Floats
) -> Regression:
    """Least squares with Tukey's weights, renewed round by round, towards what was believed.
    What rows do not tell stays as believed, which counts as one reading whose standard deviation is
    the scale.

    Args:
        rows_of: the equations near such unknowns.
        begin: (p,) where to begin.
        believed: (p,).
        scales: (p,) positive.
    """
    unknowns, deviation = begin, np.inf
    rows = rows_of(unknowns)
    for _ in range(_MOST_ROUNDS):
        errors = rows.errors(unknowns)
        found = _DEVIATIONS_PER_MAD * weighted_median(np.abs(errors), rows.weights)
        # It falls from round to round, so that rounds come to an end.
        deviation = max(_LEAST_DEVIATION, min(deviation, found))
        weights = rows.weights * _inside(errors, deviation) ** 2 / rows.values**2
        scaled = rows.coefficients * scales
        information = scaled.T @ (scaled * weights[:, None])
        wanted = scaled.T @ (rows.targets * weights)
        towards = deviation**2 * np.eye(len(scales))
        step = scales * _not_negative(
            information + towards, wanted + deviation**2 * believed / scales
        )
        step -= unknowns
        missed = _robust_loss(rows, unknowns, deviation, (believed, scales))
        rows = rows_of(unknowns + step)
        # Farther away other equations may hold.
        halvings = 0
        while _robust_loss(rows, unknowns + step, deviation, (believed, scales)) > missed:
            step = 0.5 * step if halvings < _MOST_HALVINGS else 0.0 * step
            rows = rows_of(unknowns + step)
            halvings += 1
        unknowns = unknowns + step
        if bool(np.all(np.abs(step) <= _ENOUGH * scales)):
            break
    return Regression(unknowns, float(deviation), information)


def _inside(errors: Floats, deviation: float) -> Floats:
    """Return (n,) 1 where nothing is missed, 0 for outliers."""
    return np.asarray(np.clip(1.0 - (errors / (_BIWEIGHT * deviation)) ** 2, 0.0, 1.0))


def _robust_loss(
    rows: Rows, unknowns: Floats, deviation: float, belief: tuple[Floats, Floats]
) -> float:
    """Return the loss that rounds minimise: Tukey's of the rows, plus the distance from the belief.

    Args:
        rows: near the unknowns.
        unknowns: (p,).
        deviation: of a row.
        belief: (p,) each, what was believed and the scales.
    """
    believed, scales = belief
    losses = 1.0 - _inside(rows.errors(unknowns), deviation) ** 3
    far = (unknowns - believed) / scales
    return float(_BIWEIGHT**2 / 6.0 * (rows.weights @ losses) + 0.5 * (far @ far))


def weighted_median(values: Floats, weights: Floats) -> float:
    """Return the least value up to which lies half of the weight."""
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(sums, 0.5 * sums[-1])])


@cache
def _subsets(count: int) -> tuple[tuple[int, ...], ...]:
    every = (combinations(range(count), size) for size in range(count, 0, -1))
    return tuple(chain.from_iterable(every))


def _not_negative(matrix: Floats, vector: Floats) -> Floats:
    """Return the x >= 0 that makes x' A x / 2 - b' x least, A being positive definite."""
    best, best_value = np.zeros(len(vector)), 0.0
    for kept in _subsets(len(vector)):
        part = np.ix_(kept, kept)
        found = np.linalg.solve(matrix[part], vector[list(kept)])
        if (found < 0.0).any():
            continue
        value = -0.5 * float(vector[list(kept)] @ found)
        if value < best_value:
            best, best_value = np.zeros(len(vector)), value
            best[list(kept)] = found
        if len(kept) == len(vector):
            break
    return best
