"""Support of PyTorch's optimizers by a hub: which of them, with which options."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim import Optimizer

from plink.base.errors import WrongUseError
from plink.hub import hyper
from plink.hub.hyper import Hyper

# Exactly these: one derived from them may step otherwise.
_CLASSES: dict[type[Optimizer], str] = {
    torch.optim.SGD: "SGD",
    torch.optim.Adam: "Adam",
    torch.optim.AdamW: "AdamW",
}
# What would have the hub do something else than the optimizer.
_REFUSED = ("amsgrad", "maximize", "differentiable")


def kind_of(optimizer: Optimizer) -> str:
    """Return the hub's name of an optimizer: `momentum` for SGD whose momentum is not 0.

    Raises:
        WrongUseError: the hub has none like it.
    """
    if type(optimizer) not in _CLASSES:
        raise WrongUseError(
            f"the hub has no {type(optimizer).__name__}", "it has SGD, Adam and AdamW"
        )
    if any(optimizer.state.values()):
        raise WrongUseError(
            f"the {type(optimizer).__name__} has taken steps already, of which the hub knows none",
            "give it new, and load its state_dict into what hub.optimizer() returns",
        )
    return hyper.optimizer_of(_CLASSES[type(optimizer)], optimizer.param_groups)


def hyper_of(kind: str, groups: list[dict[str, Any]]) -> list[Hyper]:
    """Return the hyperparameters of each group for the next step.

    Raises:
        WrongUseError: an option is set that the hub does not have.
    """
    for group in groups:
        for name in _REFUSED:
            if group.get(name):
                raise WrongUseError(
                    f"{name} is set, which the hub's optimizers do not have", f"{name}=False"
                )
    return [hyper.from_torch(kind, group) for group in groups]
