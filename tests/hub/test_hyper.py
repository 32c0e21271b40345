"""Hyperparameters travel unrounded and are what torch calls them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.hub import hyper as hypers
from plink.hub.hyper import HYPER_BYTES, Hyper, from_torch, optimizer_of, to_torch, unpack

RATES = st.floats(0.0, 1e6)
BETAS = st.floats(0.0, 1.0, exclude_max=True)
HYPERS = st.builds(
    Hyper,
    lr=RATES,
    momentum=RATES,
    dampening=st.floats(-1e3, 1e3),
    weight_decay=RATES,
    beta1=BETAS,
    beta2=BETAS,
    eps=RATES,
    maximize=st.booleans(),
)


@given(st.lists(HYPERS))
def test_wire_form_loses_nothing(given_hypers: list[Hyper]) -> None:
    data = hypers.pack(given_hypers)
    assert len(data) == HYPER_BYTES * len(given_hypers)
    assert unpack(data) == given_hypers


def test_nesterov_travels() -> None:
    hyper = Hyper(lr=0.1, momentum=0.9, nesterov=True)
    assert unpack(hyper.pack()) == [hyper]


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        read = unpack(data)
    except WrongUseError:
        return
    assert len(read) * HYPER_BYTES == len(data)
    for hyper in read:
        assert math.isfinite(hyper.lr)
        assert hyper.lr >= 0.0


@given(HYPERS)
def test_torch_groups_come_back(hyper: Hyper) -> None:
    for optimizer in ("momentum", "adam", "adamw"):
        group = to_torch(optimizer, hyper)
        assert to_torch(optimizer, from_torch(optimizer, group)) == group


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hyper(lr=-1.0), "lr is -1.0, expected `float` >= 0.0"),
        (lambda: Hyper(eps=math.nan), "eps is nan, expected `float` >= 0.0"),
        (lambda: Hyper(beta2=1.0), "beta2 is 1.0, expected `float` < 1.0"),
        (lambda: Hyper(nesterov=True), "nesterov needs momentum and no dampening"),
        (
            lambda: from_torch("adam", {"lr": 1, "amsgrad": True}),
            "amsgrad is not among what the hub's optimisers do",
        ),
        (
            lambda: from_torch("sgd", {"lr": 1, "momentum": 0.9}),
            "the service keeps no momentum",
        ),
        (lambda: optimizer_of("LBFGS", []), "the hub has no LBFGS"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, message: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        make()
    assert str(caught.value) == message


def test_torch_optimizers_are_known_by_class_and_groups() -> None:
    torch = pytest.importorskip("torch")
    parameters = [torch.nn.Parameter(torch.ones(3))]
    expected = {
        "sgd": torch.optim.SGD(parameters, lr=0.5, weight_decay=0.1, maximize=True),
        "momentum": torch.optim.SGD(parameters, lr=0.5, momentum=0.9, nesterov=True),
        "adam": torch.optim.Adam(parameters, lr=0.5, betas=(0.5, 0.75), eps=0.25),
        "adamw": torch.optim.AdamW(parameters, lr=0.5),
    }
    for name, optimizer in expected.items():
        groups = optimizer.param_groups
        assert optimizer_of(type(optimizer).__name__, groups) == name
        read = from_torch(name, groups[0])
        for field, value in to_torch(name, read).items():
            assert groups[0][field] == value
