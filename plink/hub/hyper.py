"""Hyperparameters of each parameter group, which an optimiser gets with every step.

On the wire a group is eight float64, little-endian, so that nothing is rounded on the way: lr,
momentum, dampening, weight decay, beta1, beta2, eps, and flags as a whole number.
"""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plink.base.errors import WrongUseError

NESTEROV = 1
MAXIMIZE = 2

_WIRE = struct.Struct("<8d")
HYPER_BYTES = _WIRE.size

OPTIMIZERS = ("none", "sgd", "momentum", "adam", "adamw")
"""none: values are the mean itself. momentum: SGD with a buffer, in Nesterov's form where asked."""

# Arrays of float32, as large as the values, that each optimiser keeps; how snapshots call them.
STATES: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "sgd": (),
    "momentum": ("momentum_buffer",),
    "adam": ("exp_avg", "exp_avg_sq"),
    "adamw": ("exp_avg", "exp_avg_sq"),
}

# What torch's optimisers can do and the service does not; it decides nothing where it is off.
_NOT_DONE = ("amsgrad",)
_KNOWN = {
    "sgd": ("lr", "momentum", "dampening", "nesterov", "weight_decay", "maximize"),
    "adam": ("lr", "betas", "eps", "weight_decay", "maximize"),
}


@dataclass(frozen=True)
class Hyper:
    """Hyperparameters of one group, named as in `torch.optim`; optimisers read those they know.

    Raises:
        WrongUseError: one of them is not finite, or outside what it can be.
    """

    lr: float = 0.0
    momentum: float = 0.0
    dampening: float = 0.0
    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    nesterov: bool = False
    maximize: bool = False

    def __post_init__(self) -> None:
        for name in ("lr", "momentum", "dampening", "weight_decay", "beta1", "beta2", "eps"):
            value = getattr(self, name)
            if not math.isfinite(value):
                raise WrongUseError(f"{name} is {value}, expected a finite number")
            # A dampening below 0 is torch's to allow; nothing else may be.
            if value < 0.0 and name != "dampening":
                raise WrongUseError(f"{name} is {value}, expected 0 or more")
        for name in ("beta1", "beta2"):
            if getattr(self, name) >= 1.0:
                raise WrongUseError(f"{name} is {getattr(self, name)}, expected less than 1")
        if self.nesterov and (self.momentum <= 0.0 or self.dampening != 0.0):
            raise WrongUseError("nesterov needs momentum and no dampening")

    def pack(self) -> bytes:
        """Encode one group, `HYPER_BYTES` long."""
        flags = NESTEROV * self.nesterov | MAXIMIZE * self.maximize
        return _WIRE.pack(
            self.lr,
            self.momentum,
            self.dampening,
            self.weight_decay,
            self.beta1,
            self.beta2,
            self.eps,
            flags,
        )


def pack(hypers: Iterable[Hyper]) -> bytes:
    """Encode the hyperparameters of all groups, in order."""
    return b"".join(hyper.pack() for hyper in hypers)


def unpack(data: bytes) -> list[Hyper]:
    """Parse the output of `pack`.

    Raises:
        WrongUseError: it is not valid.
    """
    if len(data) % HYPER_BYTES:
        raise WrongUseError(f"hyperparameters of {len(data)} bytes, expected {HYPER_BYTES} a group")
    hypers = []
    for lr, momentum, dampening, decay, beta1, beta2, eps, flags in _WIRE.iter_unpack(data):
        if flags not in (0.0, 1.0, 2.0, 3.0):
            raise WrongUseError(f"hyperparameters with flags {flags}, expected 0 to 3")
        bits = int(flags)
        nesterov, maximize = bool(bits & NESTEROV), bool(bits & MAXIMIZE)
        hypers.append(Hyper(lr, momentum, dampening, decay, beta1, beta2, eps, nesterov, maximize))
    return hypers


def from_torch(optimizer: str, group: Mapping[str, Any]) -> Hyper:
    """Return the hyperparameters of one of `param_groups` of a `torch.optim.Optimizer`.

    Args:
        optimizer: one of `OPTIMIZERS`.
        group: its entries besides "params"; numbers may be tensors of one item.

    Raises:
        WrongUseError: it asks for something that the service does not do.
    """
    for name in _NOT_DONE:
        if group.get(name):
            raise WrongUseError(f"{name} is not among what the hub's optimisers do")
    known = _KNOWN["adam" if optimizer.startswith("adam") else "sgd"]
    decoupled = group.get("decoupled_weight_decay")
    if decoupled and optimizer == "adam":
        raise WrongUseError("decoupled weight decay makes it AdamW", "choose adamw")
    values: dict[str, Any] = {}
    for name in known:
        if name in ("nesterov", "maximize"):
            values[name] = bool(group.get(name, False))
        elif name == "betas":
            beta1, beta2 = group.get(name, (0.9, 0.999))
            values["beta1"], values["beta2"] = float(beta1), float(beta2)
        elif name in group:
            values[name] = float(group[name])
    if optimizer == "sgd" and values.get("momentum"):
        raise WrongUseError("the service keeps no momentum", "choose the optimizer momentum")
    return Hyper(**values)


def to_torch(optimizer: str, hyper: Hyper) -> dict[str, Any]:
    """Return the entries of one of torch's `param_groups` that `from_torch` reads."""
    known = _KNOWN["adam" if optimizer.startswith("adam") else "sgd"]
    values = dataclasses.asdict(hyper)
    values["betas"] = (hyper.beta1, hyper.beta2)
    return {name: values[name] for name in known}


def optimizer_of(name: str, groups: Sequence[Mapping[str, Any]]) -> str:
    """Return which of `OPTIMIZERS` does what a torch optimiser's class of that name does.

    Args:
        name: of the class, such as "AdamW".
        groups: its `param_groups`.

    Raises:
        WrongUseError: none does.
    """
    if name == "SGD":
        return "momentum" if any(group.get("momentum") for group in groups) else "sgd"
    if name == "Adam":
        decoupled = [bool(group.get("decoupled_weight_decay")) for group in groups]
        if any(decoupled) and not all(decoupled):
            raise WrongUseError("some groups decouple weight decay and some do not")
        return "adamw" if any(decoupled) else "adam"
    if name == "AdamW":
        return "adamw"
    raise WrongUseError(f"the hub has no {name}", "it has SGD, Adam and AdamW")
