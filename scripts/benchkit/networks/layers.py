"""Parameters of single layers, from which networks are put together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """One tensor of a network.

    Args:
        name: as in the library that the architecture's function names.
        shape: in elements.
        multiply_adds: that a forward pass of one sample does with it; 0 for biases, norms and
            tables in which rows are only looked up.
    """

    name: str
    shape: tuple[int, ...]
    multiply_adds: int = 0

    @property
    def items(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)


def scale_lengths(parameters: Sequence[Parameter], scale: float) -> list[int]:
    """The length of every tensor times `scale`, one at least."""
    return [max(1, round(parameter.items * scale)) for parameter in parameters]


def convolution(
    name: str, inputs: int, outputs: int, kernel: int | tuple[int, int], side: int, *, bias: bool
) -> Iterator[Parameter]:
    """A kernel, square where it is one number, over an output of side x side."""
    height, width = (kernel, kernel) if isinstance(kernel, int) else kernel
    shape = (outputs, inputs, height, width)
    yield Parameter(f"{name}.weight", shape, math.prod(shape) * side * side)
    if bias:
        yield Parameter(f"{name}.bias", (outputs,))


def normed_convolution(
    name: str, inputs: int, outputs: int, kernel: int | tuple[int, int], side: int
) -> Iterator[Parameter]:
    """A convolution without bias and the normalisation that follows it."""
    yield from convolution(name, inputs, outputs, kernel, side, bias=False)
    yield from norm(f"{name}.norm", outputs)


def norm(name: str, width: int) -> Iterator[Parameter]:
    """A normalisation's weight and bias."""
    yield Parameter(f"{name}.weight", (width,))
    yield Parameter(f"{name}.bias", (width,))


def linear(name: str, inputs: int, outputs: int, positions: int = 1) -> Iterator[Parameter]:
    """A full connection, applied at so many positions of a sample."""
    yield Parameter(f"{name}.weight", (outputs, inputs), outputs * inputs * positions)
    yield Parameter(f"{name}.bias", (outputs,))
