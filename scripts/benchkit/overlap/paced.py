"""Published networks whose computing takes time but hardly a processor, as on an accelerator."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter as Trained

from benchkit.networks import NETWORKS, Parameter, scale_lengths
from plink.training.overlap.profile import Profile

# Layers are computed so many together at most, which spares a processor that all ranks share what
# each costs the interpreter.
MOST_STAGES = 40
# Sums of ranks are exact in 32-bit floats.
UNIT = 0.25


@dataclass(frozen=True)
class Pace:
    """How long a network computes.

    Args:
        forward_s: all of a forward pass.
        backward_s: all of a backward pass; each stage's share is that of its multiply-adds.
    """

    forward_s: float
    backward_s: float


@dataclass
class _Stage:
    """Some layers of a network: their gradients are there so long after the backward pass began."""

    parameters: list[Trained]
    gradients: list[Tensor]
    ready_s: float


class _Clock:
    """The accelerator's: what it computes goes on while the processor does something else."""

    def __init__(self) -> None:
        self._began_s = 0.0

    def start(self) -> None:
        self._began_s = time.perf_counter()

    def wait_until(self, after_s: float) -> None:
        left_s = self._began_s + after_s - time.perf_counter()
        if left_s > 0.0:
            time.sleep(left_s)


class _Begin(torch.autograd.Function):
    """The identity; the backward pass begins here."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, clock: _Clock) -> Tensor:
        ctx.clock = clock
        return inputs.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        ctx.clock.start()
        return gradients[0], None


class _Compute(torch.autograd.Function):
    """The identity, whose parameters have given gradients."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, clock: _Clock, stage: _Stage, *_: Tensor) -> Tensor:
        ctx.clock, ctx.stage = clock, stage
        return inputs.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        ctx.clock.wait_until(ctx.stage.ready_s)
        return gradients[0], None, None, *ctx.stage.gradients


class Paced(nn.Module):
    """The parameters of a published network, in stages of its layers.

    Every gradient is a constant, (rank + 1) * `UNIT`.

    Args:
        network: one of `NETWORKS`.
        scale: of the length of each tensor.
        pace: of computing.
        rank: of this process.
    """

    def __init__(self, network: str, scale: float, pace: Pace, rank: int) -> None:
        super().__init__()
        described = list(NETWORKS[network]())
        lengths = scale_lengths(described, scale)
        self.all = nn.ParameterList(torch.zeros(n) for n in lengths)
        self._pace = pace
        self._clock = _Clock()
        self._stages = [
            _Stage(
                [self.all[i] for i in places],
                [torch.full((lengths[i],), (rank + 1) * UNIT) for i in places],
                ready_s,
            )
            for places, ready_s in _stages_with_times(described, pace.backward_s)
        ]

    def forward(self, inputs: Tensor) -> Tensor:
        """A number that depends on all parameters."""
        time.sleep(self._pace.forward_s)
        for stage in self._stages:
            inputs = _Compute.apply(inputs, self._clock, stage, *stage.parameters)  # type: ignore[no-untyped-call]
        given: Tensor = _Begin.apply(inputs, self._clock)  # type: ignore[no-untyped-call]
        return given

    def is_average(self, ranks: int) -> bool:
        """Whether all gradients are the averages of so many ranks."""
        expected = UNIT * (ranks + 1) / 2
        return all(
            one.grad is not None and one.grad[0] == one.grad[-1] == expected for one in self.all
        )


def profile_of(network: str, scale: float, pace: Pace) -> Profile:
    """When its gradients are ready, in the reverse order of its parameters."""
    described = list(NETWORKS[network]())
    lengths = scale_lengths(described, scale)
    ready_s = {
        i: at_s for places, at_s in _stages_with_times(described, pace.backward_s) for i in places
    }
    order = range(len(described) - 1, -1, -1)
    return Profile(
        tuple(f"all.{i}" for i in order),
        tuple(4 * lengths[i] for i in order),
        tuple(ready_s[i] for i in order),
    )


def _stages_with_times(
    described: Sequence[Parameter], backward_s: float
) -> list[tuple[list[int], float]]:
    """The parameters of each stage of layers, and when they are ready in a backward pass.

    A layer has a matrix, a table or a kernel, and all that follows up to the next.
    """
    layers: list[list[int]] = []
    for i, parameter in enumerate(described):
        if len(parameter.shape) > 1 or not layers:
            layers.append([])
        layers[-1].append(i)
    at_once = -(-len(layers) // MOST_STAGES)
    stages = [list(chain(*layers[i : i + at_once])) for i in range(0, len(layers), at_once)]
    work = [sum(described[i].multiply_adds for i in places) for places in stages]
    done = list(accumulate(reversed(work)))[::-1]
    return [
        (places, backward_s * until / done[0]) for places, until in zip(stages, done, strict=True)
    ]
