"""Staging of tensors in memory that the engine reads and writes, and back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from plink.torch.pieces import JoinedWork, PieceWork, pieces_of

# Has the engine reduce a buffer of the CPU in place; None where there is only one rank.
Post = Callable[[Tensor], PieceWork | None]

_NOTHING = torch.empty(0, dtype=torch.uint8)


class Stage(Protocol):
    """Stage of an all-reduce's tensors: their way to the engine's memory and back.

    `begin` comes first, then `finish` once the all-reduce has ended well, then `join` by whoever
    waits.

    Attributes:
        is_ready: `begin` does not block.
        devices: on which the result is, but for the CPU.
    """

    is_ready: bool
    devices: Sequence[torch.device]

    @property
    def size_bytes(self) -> int:
        """Bytes of all tensors together."""

    def fuse(self, tensors: Sequence[Tensor], stages: Sequence[Stage]) -> Stage:
        """Return one stage for the tensors of several; see `fuse_stages`."""

    def begin(self, post: Post) -> PieceWork | None:
        """Pass the buffers to `post` when they are ready and return the work to wait for."""

    def finish(self) -> None:
        """Copy the result back to the caller's tensors; the copy may still be under way."""

    def join(self) -> None:
        """Make the caller's next use of its tensors wait for the result's arrival."""

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """Return the context in which a future is told that the result has arrived."""


class HostStage:
    """Stage for CPU tensors; a single contiguous tensor is reduced in place.

    Args:
        tensors: of one type.
        is_cut: into pieces, as ranks with their tensors on an accelerator cut theirs.
    """

    is_ready = True
    devices: Sequence[torch.device] = ()

    def __init__(self, tensors: Sequence[Tensor], is_cut: bool = False) -> None:
        self._tensors = tensors
        self._is_cut = is_cut
        self._host = _NOTHING
        self._is_here = False

    @property
    def size_bytes(self) -> int:
        """Bytes of all tensors together."""
        return sum(tensor.nbytes for tensor in self._tensors)

    def fuse(self, tensors: Sequence[Tensor], stages: Sequence[Stage]) -> Stage:  # noqa: ARG002
        """Return one stage for the tensors of several."""
        return HostStage(tensors, self._is_cut)

    def begin(self, post: Post) -> PieceWork | None:
        """Post the tensors as one buffer, or its pieces, and return the work to wait for."""
        self._host = flatten_all(self._tensors)
        is_alone = len(self._tensors) == 1
        self._is_here = is_alone and self._host.data_ptr() == self._tensors[0].data_ptr()
        if not self._is_cut:
            return post(self._host)
        pieces = pieces_of(self._host.numel(), self._host.element_size())
        works = [work for piece in pieces if (work := post(self._host[piece])) is not None]
        return works[0] if len(works) == 1 else JoinedWork(works)

    def finish(self) -> None:
        """Copy the result back to tensors that were not reduced in place."""
        if self._is_here:
            return
        for tensor, part in parts(self._tensors, self._host):
            if part.data_ptr() != tensor.data_ptr():
                tensor.copy_(part)

    def join(self) -> None:
        """Do nothing: `finish` has copied the result."""

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context that does nothing, as no stream is involved."""
        return contextlib.nullcontext()


def fuse_stages(tensors: Sequence[Tensor], stages: Sequence[Stage]) -> Stage:
    """Return one stage for the tensors of several stages, in their order.

    Args:
        tensors: of all stages; there may be more, which this thread's current stream computes.
        stages: at least one, each made by the thread that computes its tensors.
    """
    if len(stages) == 1 and stages[0].size_bytes == sum(tensor.nbytes for tensor in tensors):
        return stages[0]
    return stages[0].fuse(tensors, stages)


def is_plain(tensor: Tensor) -> bool:
    """Return whether a dense tensor's memory holds its elements as they are, one after another."""
    return tensor.is_contiguous() and not tensor.is_neg() and not tensor.is_conj()


def flatten(tensor: Tensor) -> Tensor:
    """Return all elements in one dimension with stride 1: a view of a plain tensor, else a copy."""
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    # With less than two elements a contiguous tensor may have any stride, which `view` would keep.
    return tensor.as_strided((tensor.numel(),), (1,), tensor.storage_offset())


def flatten_all(tensors: Sequence[Tensor]) -> Tensor:
    """Return all elements in one dimension: a view of a single plain tensor, else a copy."""
    if not tensors:
        return _NOTHING
    flat = [flatten(tensor) for tensor in tensors]
    return flat[0] if len(flat) == 1 else torch.cat(flat)


def parts(tensors: Sequence[Tensor], flat: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Return each tensor with its part of `flatten_all`; of an expanded one each element once."""
    sizes = [tensor.numel() for tensor in tensors]
    return [
        distinct_elements(tensor.detach(), part.view(tensor.shape))
        for tensor, part in zip(tensors, torch.split(flat, sizes), strict=True)
    ]


def distinct_elements(tensor: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Narrow a tensor and its new values to elements with memory of their own."""
    for dimension, stride in enumerate(tensor.stride()):
        if stride == 0 and tensor.shape[dimension] > 1:
            tensor, values = tensor.narrow(dimension, 0, 1), values.narrow(dimension, 0, 1)
    return tensor, values
