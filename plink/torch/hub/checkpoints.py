"""Conversion between the hub's optimizer state and that of PyTorch's optimizers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from plink.base.errors import WrongUseError
from plink.base.text import format_names
from plink.hub.hyper import STATES
from plink.hub.worker import Worker
from plink.torch.hub.layout import Layout

_ADAM = ("adam", "adamw")


def pull_state(worker: Worker, layout: Layout, kind: str) -> dict[Tensor, dict[str, Any]]:
    """Return the hub's state by parameter, as `Optimizer.state`; empty before the first step."""
    if not STATES[kind]:
        return {}
    steps, arrays = worker.state()
    if not steps:
        return {}
    views = {name: layout.views(arrays[name]) for name in STATES[kind]}
    state: dict[Tensor, dict[str, Any]] = {}
    for index, parameter in enumerate(layout.parameters):
        state[parameter] = {
            name: views[name][index].to(parameter.device, parameter.dtype, copy=True)
            for name in STATES[kind]
        }
        if kind in _ADAM:
            state[parameter]["step"] = torch.tensor(float(steps))
    return state


def push(worker: Worker, layout: Layout, kind: str, state: Mapping[Any, Any]) -> None:
    """Load a PyTorch optimizer's state into the hub; zeros for parameters without state.

    Raises:
        WrongUseError: the state is another optimizer's, or parameters have taken different steps.
    """
    known = STATES[kind]
    arrays = {name: np.zeros(layout.manifest.items, np.float32) for name in known}
    views = {name: layout.views(array) for name, array in arrays.items()}
    steps: set[int] = set()
    for index, parameter in enumerate(layout.parameters):
        own = {name: value for name, value in state.get(parameter, {}).items() if value is not None}
        if not own:
            continue
        wanted = {*known, "step"} if kind in _ADAM else set(known)
        if own.keys() != wanted:
            raise WrongUseError(
                f"the state of '{layout.names[index]}' has {format_names(sorted(own))}, expected "
                f"{', '.join(sorted(wanted)) or 'nothing'}",
                "it is another optimizer's",
            )
        for name in known:
            views[name][index].copy_(own[name])
        steps.add(int(own.get("step", 1)))
    if len(steps) > 1:
        raise WrongUseError(
            f"parameters have taken from {min(steps)} to {max(steps)} steps, and a hub counts one "
            "number for all"
        )
    if known:
        worker.load_state(steps.pop() if steps else 0, arrays)
