"""The reference does what torch's optimisers do, and each of its operations rounds once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.hub.hyper import STATES, Hyper, from_torch
from plink.hub.reference import (
    Floats,
    aggregate,
    apply,
    clip_scale,
    mean,
    power,
    scalars,
    squared_norm,
)

STEPS = 1000
ITEMS = 512

# In float32's spacings of the largest value, over all steps: torch rounds in another order, and
# fuses products with sums where the processor can.
MOST_SPACINGS = 8

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "sgd": ("sgd", "SGD", {"lr": 0.01}),
    "sgd, decay": ("sgd", "SGD", {"lr": 0.01, "weight_decay": 0.01}),
    "sgd, maximize": ("sgd", "SGD", {"lr": 0.01, "maximize": True}),
    "momentum": ("momentum", "SGD", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.01}),
    "dampened": ("momentum", "SGD", {"lr": 0.01, "momentum": 0.9, "dampening": 0.5}),
    "nesterov": (
        "momentum",
        "SGD",
        {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    ),
    "adam": ("adam", "Adam", {"lr": 0.001, "weight_decay": 0.01}),
    "adam, other betas": ("adam", "Adam", {"lr": 0.001, "betas": (0.8, 0.95), "eps": 1e-6}),
    "adamw": ("adamw", "AdamW", {"lr": 0.001, "weight_decay": 0.1}),
}


@pytest.mark.parametrize("case", CASES)
def test_steps_are_torchs_within_the_stated_limit(case: str) -> None:
    torch = pytest.importorskip("torch")
    optimizer, torch_class, options = CASES[case]
    generator = np.random.default_rng(7)
    values = generator.standard_normal(ITEMS).astype(np.float32)
    targets = generator.standard_normal(ITEMS).astype(np.float32)
    parameter = torch.nn.Parameter(torch.from_numpy(values.copy()))
    theirs = getattr(torch.optim, torch_class)([parameter], **options)
    hyper = from_torch(optimizer, theirs.param_groups[0])
    state = [np.zeros(ITEMS, np.float32) for _ in STATES[optimizer]]
    sign = np.float32(-1.0 if hyper.maximize else 1.0)
    worst = 0.0
    for step in range(1, STEPS + 1):
        # Noise on the way to a target: gradients of all signs, that depend on nothing rounded.
        noise = generator.standard_normal(ITEMS).astype(np.float32)
        gradient = sign * (noise + np.float32(1.0 / step) * targets)
        parameter.grad = torch.from_numpy(gradient.copy())
        theirs.step()
        apply(optimizer, hyper, step, gradient=gradient, values=values, state=state)
        away = np.abs(values - parameter.detach().numpy()).max()
        worst = max(worst, float(away / np.spacing(np.abs(values).max())))
    assert worst <= MOST_SPACINGS


@pytest.mark.parametrize("optimizer", STATES)
def test_scalar_by_scalar_gives_the_same_bits(optimizer: str) -> None:
    generator = np.random.default_rng(3)
    values = generator.standard_normal(37).astype(np.float32)
    alone = values.copy()
    state = [np.zeros(37, np.float32) for _ in STATES[optimizer]]
    state_alone = [array.copy() for array in state]
    hyper = Hyper(lr=0.01, weight_decay=0.02, eps=1e-8)
    if optimizer == "momentum":
        hyper = Hyper(lr=0.01, momentum=0.9, weight_decay=0.02, nesterov=True)
    for step in range(1, 6):
        gradient = generator.standard_normal(37).astype(np.float32)
        apply(optimizer, hyper, step, gradient=gradient, values=values, state=state, scale=0.75)
        for item in range(37):
            own = slice(item, item + 1)
            apply(
                optimizer,
                hyper,
                step,
                gradient=gradient[own],
                values=alone[own],
                state=[array[own] for array in state_alone],
                scale=0.75,
            )
    assert values.tobytes() == alone.tobytes()
    assert [array.tobytes() for array in state] == [array.tobytes() for array in state_alone]


def written_out(numbers: list[Floats], hyper: Hyper, step: int) -> list[float]:
    """AdamW of one number, each operation on its own."""
    f = np.float32
    g, p, m, v = numbers
    s = scalars("adamw", hyper, step)
    p1 = f(p[0] * s.decay)
    m1 = f(m[0] + f(s.less1 * f(g[0] - m[0])))
    v1 = f(f(s.beta2 * v[0]) + f(f(s.less2 * g[0]) * g[0]))
    d = f(f(f(np.sqrt(v1)) / s.root2) + s.eps)
    return [float(f(p1 - f(f(s.size * m1) / d))), float(m1), float(v1)]


def test_the_order_is_the_one_that_stands_in_the_head() -> None:
    generator = np.random.default_rng(5)
    hyper = Hyper(lr=0.003, weight_decay=0.1)
    for step in range(1, 200):
        g, p, m = (generator.standard_normal(1).astype(np.float32) for _ in range(3))
        v = np.abs(generator.standard_normal(1)).astype(np.float32)
        expected = written_out([g, p, m, v], hyper, step)
        apply("adamw", hyper, step, gradient=g, values=p, state=[m, v])
        assert [float(p[0]), float(m[0]), float(v[0])] == expected


@given(st.floats(0.0, 1.0), st.integers(0, 1 << 40))
def test_power_is_the_power(base: float, exponent: int) -> None:
    assert power(base, exponent) == pytest.approx(base**exponent, rel=1e-4, abs=1e-300)


@given(st.floats(0.5, 0.9999), st.integers(1, 10_000))
def test_power_is_as_exact_as_its_steps(base: float, exponent: int) -> None:
    assert power(base, exponent) == pytest.approx(base**exponent, rel=exponent * 4e-16)


def test_whole_numbers_are_summed_exactly_and_divided() -> None:
    parts = [np.arange(9, dtype=np.float32) * worker for worker in range(1, 4)]
    before = [part.copy() for part in parts]
    total = aggregate(parts)
    assert (total == np.arange(9) * 6).all()
    assert all((part == old).all() for part, old in zip(parts, before, strict=True))
    assert mean(total, 3).tolist() == (np.arange(9) * 2).tolist()
    third = mean(np.ones(1, np.float32), 3)
    assert third.dtype == np.float32
    assert third[0] == np.float32(1) / np.float32(3)


def test_sums_are_made_in_the_order_of_workers() -> None:
    parts = [np.array([value], np.float32) for value in (1e8, 1.0, -1e8)]
    assert aggregate(parts)[0] == 0.0
    assert aggregate(parts[::2] + parts[1:2])[0] == 1.0


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=50))
def test_squared_norm_is_near_the_exact_one_and_in_the_stated_order(items: list[float]) -> None:
    exact = math.fsum(item * item for item in items)
    found = squared_norm(np.array(items, np.float32))
    assert found == pytest.approx(exact, rel=1e-14)
    lanes = [0.0] * 8
    for place, item in enumerate(items):
        lanes[place % 8] += item * item
    left, right = lanes[0] + lanes[4], lanes[2] + lanes[6]
    other, last = lanes[1] + lanes[5], lanes[3] + lanes[7]
    assert found == (left + right) + (other + last)


def test_clipping_is_torchs() -> None:
    assert clip_scale(3.0, None) == 1.0
    assert clip_scale(3.0, 4.0) == 1.0
    assert clip_scale(8.0, 4.0) == np.float32(4.0 / (8.0 + 1e-6))
    assert not math.isnan(clip_scale(math.inf, 4.0))


def test_momentum_that_is_off_leaves_its_buffer() -> None:
    buffer = np.full(2, 3.0, np.float32)
    values = np.ones(2, np.float32)
    apply(
        "momentum", Hyper(lr=0.5), 2, gradient=np.ones_like(values), values=values, state=[buffer]
    )
    assert values.tolist() == [0.5, 0.5]
    assert buffer.tolist() == [3.0, 3.0]
