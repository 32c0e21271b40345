"""Hyperparameters of each parameter group, which an optimiser gets with every step.

On the wire a group is eight float64, little-endian, so that nothing is rounded on the way: lr,
momentum, dampening, weight decay, beta1, beta2, eps, and flags as a whole number.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import asdict

from plink.base.errors import WrongUseError
from plink.formats.limits import Complete
from plink.formats.structs import check_members

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


_LARGEST = 1.7e308
Number = Annotated[float, Meta(ge=0, le=_LARGEST)]
Decay = Annotated[float, Meta(ge=0, lt=1)]


class Hyper(Complete, frozen=True, forbid_unknown_fields=True):
    """Hyperparameters of one group, named as in `torch.optim`; optimisers read those they know.

    Attributes:
        lr: learning rate
        momentum: factor of the momentum
        dampening: share of the gradient that the momentum leaves out; may be negative, as in torch
        weight_decay: factor of the weight decay
        beta1, beta2: decay of the running means of Adam
        eps: term of Adam's denominator
        nesterov: whether the momentum is Nesterov's
        maximize: whether the values go up the gradients

    Raises:
        WrongUseError: one of them is not finite, or outside its limits.
    """

    lr: Number = 0.0
    momentum: Number = 0.0
    dampening: Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)] = 0.0
    weight_decay: Number = 0.0
    beta1: Decay = 0.9
    beta2: Decay = 0.999
    eps: Number = 1e-8
    nesterov: bool = False
    maximize: bool = False

    def __post_init__(self) -> None:
        check_members(self)
        if self.nesterov and (self.momentum <= 0.0 or self.dampening != 0.0):
            raise WrongUseError("nesterov needs momentum and no dampening")

    def pack(self) -> bytes:
        """Encode these hyperparameters in `HYPER_BYTES` bytes."""
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
    values = asdict(hyper)
    values["betas"] = (hyper.beta1, hyper.beta2)
    return {name: values[name] for name in known}


def optimizer_of(name: str, groups: Sequence[Mapping[str, Any]]) -> str:
    """Return the member of `OPTIMIZERS` that does what a class of `torch.optim` does.

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
