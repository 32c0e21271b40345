"""Weights of a pool's parameters, in the order of their elements in the pool."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

import torch
from torch import Tensor

from plink.base.errors import WrongUseError
from plink.torch.overlap.pool import Pool

_HALVES = (torch.float16, torch.bfloat16)


class Weights:
    """Weights that steps change: the parameters, or 32-bit copies of 16-bit parameters.

    The copy follows parameters that something else has written, such as a checkpoint: an element
    counts from then on that is not what the copy's would be rounded to.

    Args:
        pool: of their gradients.

    Raises:
        WrongUseError: a parameter has gaps in memory, or no floating-point type of 16 or 32 bits.
    """

    def __init__(self, pool: Pool) -> None:
        self._parameters = [(pool.names[i], pool.parameter(i)) for i in range(len(pool))]
        self._dtype = dtype = pool.dtype
        if dtype not in (torch.float32, *_HALVES):
            raise WrongUseError(f"parameters of {dtype} cannot be trained with CSC")
        self._flats = [_flat(parameter, name) for name, parameter in self._parameters]
        self._begins = [pool.bounds(i)[0] for i in range(len(pool))]
        self._items = pool.flat.numel()
        self.master: Tensor | None = None
        if dtype in _HALVES:
            self.master = torch.zeros(self._items, dtype=torch.float32, device=pool.flat.device)
            self.follow()

    def follow(self) -> None:
        """Take over values that something else has written to the parameters.

        Raises:
            WrongUseError: a parameter has another type or device now, or gaps in memory.
        """
        for i, (name, parameter) in enumerate(self._parameters):
            flat = self._flats[i]
            if (parameter.dtype, parameter.device) != (self._dtype, flat.device):
                raise WrongUseError(
                    f"the parameter '{name}' is {parameter.dtype} on {parameter.device}, and was "
                    f"{self._dtype} on {flat.device} when SparseSGD was made",
                    "convert the module before",
                )
            if parameter.data_ptr() != flat.data_ptr():
                self._flats[i] = _flat(parameter, name)
        if self.master is None:
            return
        for where, weights in self._pieces(slice(0, self._items)):
            master = self.master[where]
            is_kept = weights == master.to(self._dtype)
            master.copy_(torch.where(is_kept, master, weights.float()))

    def write(self) -> None:
        """Write the 32-bit copies back to all 16-bit parameters."""
        self._give(slice(0, self._items))

    def add(self, where: slice, steps: Tensor, factor: float) -> None:
        """Add steps times a factor to a range of elements, rounded as PyTorch's SGD does.

        Args:
            where: of the pool.
            steps: (n,), of these elements.
            factor: of the steps.
        """
        if self.master is not None:
            self.master[where].add_(steps, alpha=factor)
            self._give(where)
            return
        for piece, weights in self._pieces(where):
            weights.add_(steps[piece.start - where.start : piece.stop - where.start], alpha=factor)

    def added_to(self, gradient: Tensor, where: slice, decay: float) -> None:
        """Add a range of weights, times a factor, to the gradient of just these elements."""
        if self.master is not None:
            gradient.add_(self.master[where], alpha=decay)
            return
        for piece, weights in self._pieces(where):
            gradient[piece.start - where.start : piece.stop - where.start].add_(
                weights, alpha=decay
            )

    def _give(self, where: slice) -> None:
        if self.master is not None:
            for piece, weights in self._pieces(where):
                weights.copy_(self.master[piece])

    def _pieces(self, where: slice) -> Iterator[tuple[slice, Tensor]]:
        """Yield the parts of parameters in a range: their slices of the pool, and views of them."""
        first = bisect.bisect_right(self._begins, where.start) - 1
        for begin, flat in zip(self._begins[first:], self._flats[first:], strict=True):
            if begin >= where.stop:
                return
            start, stop = max(where.start, begin), min(where.stop, begin + flat.numel())
            if start < stop:
                yield slice(start, stop), flat[start - begin : stop - begin]


def _flat(parameter: Tensor, name: str) -> Tensor:
    """Return a parameter's elements in memory order, which is how its gradient lies in the pool."""
    parameter = parameter.detach()
    if torch.empty_like(parameter, device="meta").stride() != parameter.stride():
        raise WrongUseError(
            f"the parameter '{name}' has gaps in memory", "make it of a tensor that is contiguous"
        )
    return parameter.as_strided((parameter.numel(),), (1,), parameter.storage_offset())
