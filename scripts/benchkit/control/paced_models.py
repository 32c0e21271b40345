"""Models whose computing takes time but hardly a processor, as beside an accelerator."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from benchkit.gradients import FORWARD_SHARE
from benchkit.networks import NETWORKS, scale_lengths


class _Pace(torch.autograd.Function):
    """The identity, which takes so long forward and so long backward."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, forward_s: float, backward_s: float) -> Tensor:
        ctx.backward_s = backward_s
        time.sleep(forward_s)
        return inputs.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        time.sleep(ctx.backward_s)
        return gradients[0], None, None


def pace(inputs: Tensor, seconds: float) -> Tensor:
    """The same, after a share of `seconds` forward, and of the rest backward."""
    forward_s = seconds * FORWARD_SHARE
    given: Tensor = _Pace.apply(inputs, forward_s, seconds - forward_s)  # type: ignore[no-untyped-call]
    return given


class Branchy(nn.Module):
    """Branches beside each other, whose gradients come in the reverse of the order in which they
    ran.

    Args:
        branches: how many.
        width: of their layers, two each.
        seconds: that all take together, forward and backward.
    """

    def __init__(self, branches: int, width: int, seconds: float) -> None:
        super().__init__()
        self.branches = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width))
            for _ in range(branches)
        )
        self._seconds = seconds / branches

    def forward(self, inputs: Tensor, order: Sequence[int]) -> Tensor:
        """The mean of all branches, which run in this order."""
        outputs = {i: pace(self.branches[i](inputs), self._seconds) for i in order}
        # Added up alike whatever the order, so that it changes no loss.
        return torch.stack([outputs[i] for i in range(len(outputs))]).mean(0)


class Layered(nn.Module):
    """Layers in a row, of which there are only the parameters of a published network.

    Args:
        network: one of `NETWORKS`.
        scale: of the length of each of its tensors.
        seconds: that all take together, each as it has multiply-adds.
    """

    def __init__(self, network: str, scale: float, seconds: float) -> None:
        super().__init__()
        parameters = list(NETWORKS[network]())
        whole = sum(one.multiply_adds for one in parameters)
        self.all = nn.ParameterList(torch.randn(n) for n in scale_lengths(parameters, scale))
        self._seconds = [seconds * one.multiply_adds / whole for one in parameters]

    def forward(self, inputs: Tensor, order: Sequence[int]) -> Tensor:  # noqa: ARG002
        """Each layer adds the mean of its parameters."""
        for parameter, seconds in zip(self.all, self._seconds, strict=True):
            inputs = torch.tanh(inputs) + parameter.mean()
            if seconds:
                inputs = pace(inputs, seconds)
        return inputs
