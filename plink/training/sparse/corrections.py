"""Corrections for gradients that are held back, and the steps of optimizers with momentum.

All functions work in place on flat arrays of the same elements, in statements that mean the same to
numpy's arrays and PyTorch's tensors. `momentum` is the factor, mu. A step is what, times the
learning rate, is subtracted from the weights.

A chunk's velocity is *shared* where it is the same on all ranks: made of what was sent, as in
dense training. It is *own* where each rank has its own, made of its own gradients before they are
sent; the mean over the ranks is then the velocity of dense training.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

Array = Any
"""(n,): numpy's array or PyTorch's tensor, of floats."""

Correction = Literal["paper", "dgc", "dgc-masked"]

CORRECTIONS: tuple[str, ...] = get_args(Correction)


def waiting(
    correction: Correction,
    gradient: Array,
    residual: Array,
    velocity: Array,
    momentum: float,
    *,
    nesterov: bool = False,
) -> Array:
    """Return what chunks would send, as a new array, where velocity is not shared.

    `paper`: line 7 of algorithm 1, gradients and what is left of earlier ones. Otherwise the
    velocities of all steps since the chunk was sent last (Lin et al. 2018, equation 4).

    Args:
        correction: by name.
        gradient: this rank's, of this step.
        residual: what this rank has held back.
        velocity: this rank's; of `paper` it is shared, and not looked at.
        momentum: the factor.
        nesterov: look ahead, as PyTorch's SGD does.
    """
    if correction == "paper":
        return gradient + residual
    moved = velocity * momentum
    moved += gradient
    if nesterov:
        moved *= momentum
        moved += gradient
    moved += residual
    return moved


def hold(
    correction: Correction,
    gradient: Array,
    residual: Array,
    velocity: Array,
    momentum: float,
    *,
    nesterov: bool = False,
) -> None:
    """Hold chunks back: their residual, and own velocity, after a step that did not send them.

    `paper`: lines 11 and 17. The residual loses a share at each step, and the velocity stays:
    of a constant gradient that is sent every p steps (1 - mu^p) / (p (1 - mu)) is left.
    """
    if correction == "paper":
        residual += gradient
        residual *= momentum
        return
    velocity *= momentum
    velocity += gradient
    if nesterov:
        residual += gradient
        residual += velocity * momentum
    else:
        residual += velocity


def release(
    correction: Correction, gradient: Array, residual: Array, velocity: Array, momentum: float
) -> None:
    """Forget what chunks have sent, and move an own velocity. `paper`: line 9.

    `dgc-masked` forgets the velocity, too, so that what was delayed does not go on pushing in a
    direction of earlier steps (Lin et al. 2018, section 3.2, momentum factor masking).
    """
    residual[:] = 0
    if correction == "dgc-masked":
        velocity[:] = 0
    elif correction == "dgc":
        velocity *= momentum
        velocity += gradient


def step_shared(mean: Array, velocity: Array, momentum: float, *, nesterov: bool = False) -> Array:
    """Return the step of chunks with shared velocity: dense SGD, as PyTorch has it.

    Lines 14 and 15 with the learning rate outside the velocity, which is the same while the rate
    stays, and with the sign that descends.

    Args:
        mean: over all ranks, of what was sent.
        velocity: is moved.
        momentum: the factor.
        nesterov: look ahead.

    Returns:
        (n,), which is `velocity` itself without `nesterov`.
    """
    velocity *= momentum
    velocity += mean
    return mean + velocity * momentum if nesterov else velocity


def step_printed(
    mean: Array, velocity: Array, weights: Array, momentum: float, learning_rate: float
) -> None:
    """Lines 14 and 15 as they are printed, "w = w + u": they climb. Nothing here uses them."""
    velocity *= momentum
    velocity += mean * learning_rate
    weights += velocity
