"""Observation of the steps of PyTorch's optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook
from torch.utils.hooks import RemovableHandle


def follow_steps(step: Callable[[int], None]) -> RemovableHandle:
    """Call `step` after every step of every optimizer, until the handle is removed.

    Args:
        step: is given what tells optimizers apart.
    """

    def stepped(optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        step(id(optimizer))

    return register_optimizer_step_post_hook(stepped)
