"""Every optimiser gives the reference's bits, whatever instructions the processor has."""

from __future__ import annotations

import numpy as np
import pytest

from plink.hub import _native
from plink.hub.hyper import OPTIMIZERS, STATES, Hyper
from plink.hub.reference import Floats, apply, mean, squared_norm

SETS = [name for name in ("baseline", "avx2", "avx512") if _native.has_instruction_set(name)]
STEPS = 1000
# Two vectors of 16 float32, one of 8, and a rest.
ITEMS = 45
WORKERS = 3

DECAY = {"lr": 0.01, "weight_decay": 0.02}
CASES = {
    "none": ("none", Hyper()),
    "sgd": ("sgd", Hyper(lr=0.01)),
    "sgd, decay": ("sgd", Hyper(**DECAY)),
    "sgd, maximize": ("sgd", Hyper(**DECAY, maximize=True)),
    "momentum, off": ("momentum", Hyper(lr=0.01)),
    "momentum": ("momentum", Hyper(lr=0.01, momentum=0.9)),
    "momentum, decay": ("momentum", Hyper(**DECAY, momentum=0.9, dampening=0.5)),
    "nesterov": ("momentum", Hyper(lr=0.01, momentum=0.9, nesterov=True)),
    "nesterov, decay": ("momentum", Hyper(**DECAY, momentum=0.9, nesterov=True)),
    "adam": ("adam", Hyper(lr=0.001)),
    "adam, decay": ("adam", Hyper(lr=0.001, weight_decay=0.01, maximize=True)),
    "adam, other betas": ("adam", Hyper(lr=0.001, beta1=0.8, beta2=0.95, eps=1e-6)),
    "adamw": ("adamw", Hyper(lr=0.001, weight_decay=0.1)),
    "adamw, no decay": ("adamw", Hyper(lr=0.001)),
}


def sums(generator: np.random.Generator) -> Floats:
    """Of all sizes that float32 has, and zeros."""
    plain = generator.standard_normal(ITEMS)
    sizes = generator.choice([0.0, 1e-42, 1e-20, 1e-3, 1.0, 1e3, 1e15], ITEMS)
    return (plain * sizes).astype(np.float32)


@pytest.mark.parametrize("case", CASES)
def test_steps_are_the_references_bit_by_bit(case: str) -> None:
    optimizer, hyper = CASES[case]
    generator = np.random.default_rng(11)
    first = generator.standard_normal(ITEMS).astype(np.float32)
    by_set = {
        name: (first.copy(), [np.zeros(ITEMS, np.float32) for _ in STATES[optimizer]])
        for name in ("reference", *SETS)
    }
    kind, packed = OPTIMIZERS.index(optimizer), hyper.pack()
    for step in range(1, STEPS + 1):
        total = sums(generator)
        # Clipping, now and then.
        scale = 1.0 if step % 3 else float(np.float32(0.75))
        values, state = by_set["reference"]
        gradient = mean(total, WORKERS)
        apply(optimizer, hyper, step, gradient=gradient, values=values, state=state, scale=scale)
        for name in SETS:
            its, states = by_set[name]
            _native.apply(kind, packed, step, total, its, states, float(WORKERS), scale, name)
            assert its.tobytes() == values.tobytes(), (name, step)
    assert np.isfinite(values).all()
    for name in SETS:
        for own, expected in zip(by_set[name][1], state, strict=True):
            assert own.tobytes() == expected.tobytes(), name


def test_means_and_norms_are_the_references_bit_by_bit() -> None:
    generator = np.random.default_rng(12)
    for _ in range(STEPS):
        total = sums(generator)
        expected = mean(total, WORKERS)
        for name in SETS:
            its = total.copy()
            squares = _native.divide(its, float(WORKERS), name)
            assert its.tobytes() == expected.tobytes(), name
            assert squares == squared_norm(expected), name


def test_all_optimisers_are_tried_and_the_fastest_set_is_one_of_those() -> None:
    assert {optimizer for optimizer, _ in CASES.values()} == set(OPTIMIZERS)
    assert "baseline" in SETS
    with pytest.raises(ValueError, match="this processor has no altivec"):
        _native.divide(np.zeros(1, np.float32), 1.0, "altivec")
