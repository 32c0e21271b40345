"""A tensor's way to memory that the engine reads and writes, and back."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor


class Stage(Protocol):
    """One all-reduce's buffer. `ready`, then `finish` once, then `join` by whoever waits.

    Attributes:
        host: contiguous, on the CPU; the engine reduces it.
        is_ready: `ready` returns at once.
        devices: on which the result is, but for the CPU.
    """

    host: Tensor
    is_ready: bool
    devices: Sequence[torch.device]

    def ready(self) -> None:
        """Returns when `host` holds this rank's contribution."""

    def finish(self) -> None:
        """Take the result from `host` to where the user has it; it may still be on its way."""

    def join(self) -> None:
        """What the caller does next with the user's tensors comes after the result's arrival."""

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """A context in which a future is told that the result is there."""


class HostStage:
    """Holds tensors on the CPU. A contiguous one is reduced in place."""

    is_ready = True
    devices: Sequence[torch.device] = ()

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._tensors = tensors
        self.host = _joined(tensors)

    def ready(self) -> None:
        """Nothing is on its way."""

    def finish(self) -> None:
        """Copy what was copied back."""
        for tensor, part in _parts(self._tensors, self.host):
            if part.data_ptr() != tensor.data_ptr():
                _copy(part, tensor)

    def join(self) -> None:
        """`finish` left nothing to do."""

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """Any context."""
        return contextlib.nullcontext()


class AcceleratorStage:
    """Takes tensors on a GPU through pinned memory, on a stream beside the caller's.

    Args:
        tensors: on one device.
        runtime: the device's streams and events: `torch.cuda`, or what has the same functions.
        stream: for the copies.
        pinned: whether the host buffer is page-locked, without which copies block.
    """

    is_ready = False

    def __init__(
        self, tensors: Sequence[Tensor], runtime: Any, stream: Any, pinned: bool = True
    ) -> None:
        self._tensors = tensors
        self._runtime = runtime
        self._stream = stream
        self._device = tensors[0].device
        self.devices: Sequence[torch.device] = (self._device,)
        # What the caller has queued so far computes the tensors.
        stream.wait_stream(runtime.current_stream(self._device))
        with runtime.stream(stream):
            flat = _joined(tensors)
            self.host = torch.empty(flat.shape, dtype=flat.dtype, pin_memory=pinned)
            self.host.copy_(flat, non_blocking=True)
            self._copied = stream.record_event()
        # The allocator must not give their memory away while the stream still uses it.
        for tensor in (flat, *tensors):
            tensor.record_stream(stream)

    def ready(self) -> None:
        """Wait for the copy to the host."""
        self._copied.synchronize()

    def finish(self) -> None:
        """Queue the copy from the host."""
        with self._runtime.stream(self._stream):
            for tensor, part in _parts(self._tensors, self.host):
                _copy(part, tensor, non_blocking=True)
            self._copied = self._stream.record_event()

    def join(self) -> None:
        """The caller's stream waits, the caller does not."""
        self._runtime.current_stream(self._device).wait_event(self._copied)

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """A future records an event on the current stream."""
        context: contextlib.AbstractContextManager[Any] = self._runtime.stream(self._stream)
        return context


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    """All elements in one dimension: a view of a single contiguous tensor, else a copy."""
    flat = [tensor.detach().resolve_neg().reshape(-1).contiguous() for tensor in tensors]
    return flat[0] if len(flat) == 1 else torch.cat(flat)


def _parts(tensors: Sequence[Tensor], host: Tensor) -> list[tuple[Tensor, Tensor]]:
    sizes = [tensor.numel() for tensor in tensors]
    return [
        (tensor.detach(), part.view(tensor.shape))
        for tensor, part in zip(tensors, torch.split(host, sizes), strict=True)
    ]


def _copy(part: Tensor, tensor: Tensor, non_blocking: bool = False) -> None:
    """Copy into a tensor; where it was expanded, each of its elements once."""
    for dimension, stride in enumerate(tensor.stride()):
        if stride == 0:
            part, tensor = part.narrow(dimension, 0, 1), tensor.narrow(dimension, 0, 1)
    tensor.copy_(part, non_blocking=non_blocking)
