"""Reference in numpy for the native aggregation and optimisers: equal float32, bit by bit.

Every operation here is one rounding of float32 in the order in which it stands; the native code
does the same ones in the same order and is compiled without contraction to fused multiply-adds
(-ffp-contract=off), so that both agree on every machine. Scalars are float64 until they meet an
array, as in torch, and then rounded once (`Scalars`).

Below, g is the mean gradient, p the value, t the number of this step from 1.

    sum        a = w0; a = a + w1; a = a + w2; ...        in the order of the workers' numbers
    mean       g = a / n                                  n workers, as float32
    all        g = g * scale                              only where scale != 1 (clipping)
               g = -g                                     where maximize
    sgd        g = g + wd * p                             where wd != 0
               p = p - lr * g
    momentum   g as in sgd; at t = 1: b = g, later: b = mu * b + (1 - dampening) * g
               Nesterov: d = g + mu * b, else d = b       where mu = 0: d = g, and b is left
               p = p - lr * d
    adam       g = g + wd * p                             where wd != 0
    adamw      p = p * (1 - lr * wd)                      where wd != 0
    both       m = m + (1 - beta1) * (g - m)
               v = beta2 * v + ((1 - beta2) * g) * g
               d = sqrt(v) / sqrt(1 - beta2^t) + eps
               p = p - ((lr / (1 - beta1^t)) * m) / d
    none       p = g

Torch rounds in another order and fuses where the processor can: over 1,000 steps both stay within 8
spacings of float32 at the largest value (found: 1 for Adam and AdamW, 4 for SGD in all its forms).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.hub.hyper import Hyper

Floats = npt.NDArray[np.float32]

# The native code sums squares in as many lanes, so that it can use vectors.
LANES = 8

# As torch's `clip_grad_norm_` has it.
CLIP_EPS = 1e-6


@dataclass(frozen=True)
class Scalars:
    """Scalars of an optimiser's step: computed in float64, then rounded once to float32.

    Args:
        decay: wd; for AdamW 1 - lr * wd.
        has_decay: whether wd is not 0.
        lr, momentum, beta2, eps: as given.
        undamped: 1 - dampening.
        less1, less2: 1 - beta1, 1 - beta2.
        root2: sqrt(1 - beta2^t).
        size: lr / (1 - beta1^t).
    """

    decay: np.float32
    has_decay: bool
    lr: np.float32
    momentum: np.float32
    undamped: np.float32
    less1: np.float32
    beta2: np.float32
    less2: np.float32
    root2: np.float32
    size: np.float32
    eps: np.float32


def scalars(optimizer: str, hyper: Hyper, step: int) -> Scalars:
    """Compute the scalars of one group in one step.

    Args:
        optimizer: one of `plink.hub.hyper.OPTIMIZERS`.
        hyper: of the group.
        step: its number, from 1.
    """
    decay = hyper.weight_decay
    if optimizer == "adamw":
        decay = 1.0 - hyper.lr * hyper.weight_decay
    single = np.float32
    return Scalars(
        decay=single(decay),
        has_decay=hyper.weight_decay != 0.0,
        lr=single(hyper.lr),
        momentum=single(hyper.momentum),
        undamped=single(1.0 - hyper.dampening),
        less1=single(1.0 - hyper.beta1),
        beta2=single(hyper.beta2),
        less2=single(1.0 - hyper.beta2),
        root2=single(math.sqrt(1.0 - power(hyper.beta2, step))),
        size=single(hyper.lr / (1.0 - power(hyper.beta1, step))),
        eps=single(hyper.eps),
    )


def power(base: float, exponent: int) -> float:
    """Return base^exponent in float64, by squaring from the lowest bit on.

    The function of C's library rounds differently from one library to another.
    """
    result = 1.0
    while exponent:
        if exponent & 1:
            result *= base
        exponent >>= 1
        if exponent:
            base *= base
    return result


def aggregate(contributions: Sequence[Floats]) -> Floats:
    """Return the sum of one chunk's gradients, in the order of the workers' numbers."""
    total = contributions[0].copy()
    for contribution in contributions[1:]:
        total += contribution
    return total


def mean(total: Floats, workers: int) -> Floats:
    """Return the sum divided by the number of workers, not multiplied by its inverse."""
    return total / np.float32(workers)


def squared_norm(gradient: Floats) -> float:
    """Return the sum of squares of one chunk's gradient, in float64 and `LANES` lanes.

    Lane j adds items j, j + 8, j + 16, ... in that order, from 0; then lanes 0 to 3 take lanes 4 to
    7, lanes 0 and 1 take lanes 2 and 3, and lane 0 takes lane 1. Chunks are added in their order.
    Squares of float32 are exact in float64 and cannot overflow it, so the sum is finite exactly
    where all gradients are.
    """
    padded = np.zeros(-(-len(gradient) // LANES) * LANES)
    padded[: len(gradient)] = gradient
    # A cumulative sum is made item by item, whatever numpy does for other sums.
    lanes = np.cumsum((padded * padded).reshape(-1, LANES), axis=0)[-1]
    lanes = lanes[:4] + lanes[4:]
    lanes = lanes[:2] + lanes[2:]
    return float(lanes[0] + lanes[1])


def clip_scale(norm: float, clip_norm: float | None) -> np.float32:
    """Return the factor that clips the mean gradient; 1 if its norm is within `clip_norm`."""
    if clip_norm is None or clip_norm / (norm + CLIP_EPS) >= 1.0:
        return np.float32(1.0)
    return np.float32(clip_norm / (norm + CLIP_EPS))


def apply(
    optimizer: str,
    hyper: Hyper,
    step: int,
    *,
    gradient: Floats,
    values: Floats,
    state: Sequence[Floats],
    scale: float = 1.0,
) -> None:
    """Apply one optimiser step to one chunk, in place.

    Args:
        optimizer: one of `plink.hub.hyper.OPTIMIZERS`.
        hyper: of the chunk's group.
        step: its number, from 1; skipped steps do not count.
        gradient: the mean, which is left as it is.
        values, state: as long; as many arrays as `plink.hub.hyper.STATES` names, zeros at first.
        scale: of the gradient, from clipping.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        g = gradient
        if scale != 1.0:
            g = g * np.float32(scale)
        if hyper.maximize:
            g = -g
        s = scalars(optimizer, hyper, step)
        if optimizer == "none":
            values[:] = g
        elif optimizer == "sgd":
            values -= s.lr * _add_decay(g, values, s)
        elif optimizer == "momentum":
            g = _add_decay(g, values, s)
            direction = g
            if hyper.momentum != 0.0:
                direction = _direction(hyper.nesterov, step, s, g, state[0])
            values -= s.lr * direction
        else:
            if optimizer == "adamw":
                if s.has_decay:
                    values *= s.decay
            else:
                g = _add_decay(g, values, s)
            _adam(s, g, values, state)


def _add_decay(g: Floats, values: Floats, s: Scalars) -> Floats:
    return g + s.decay * values if s.has_decay else g


def _direction(nesterov: bool, step: int, s: Scalars, g: Floats, b: Floats) -> Floats:
    b[:] = g if step == 1 else s.momentum * b + s.undamped * g
    return g + s.momentum * b if nesterov else b


def _adam(s: Scalars, g: Floats, values: Floats, state: Sequence[Floats]) -> None:
    m, v = state
    m += s.less1 * (g - m)
    v[:] = s.beta2 * v + (s.less2 * g) * g
    values -= (s.size * m) / (np.sqrt(v) / s.root2 + s.eps)
