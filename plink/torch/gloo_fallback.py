"""Gloo's collectives for tensors of any memory layout.

Gloo reads and writes as many bytes as a tensor has elements, from its first element on, whatever
the strides are. Tensors that do not lie like that in memory are copied before, and back after.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor

from plink.torch import kinds
from plink.torch.executors import Notifier
from plink.torch.pieces import PieceWork
from plink.torch.staging import distinct_elements, is_plain
from plink.torch.work import NO_TIMEOUT, Reduction

_KINDS = {
    "allreduce": kinds.ALL_REDUCE,
    "allreduce_coalesced": kinds.ALL_REDUCE,
    "allgather": kinds.ALL_GATHER,
    "allgather_coalesced": kinds.ALL_GATHER,
    "all_gather_single": kinds.ALL_GATHER,
    "all_gather_single_coalesced": kinds.ALL_GATHER,
    "all_to_all_single": kinds.ALL_TO_ALL,
    "alltoall": kinds.ALL_TO_ALL,
    "broadcast": kinds.BROADCAST,
    "gather": kinds.GATHER,
    "reduce": kinds.REDUCE,
    "reduce_scatter": kinds.REDUCE_SCATTER,
    "reduce_scatter_single": kinds.REDUCE_SCATTER,
    "reduce_scatter_single_coalesced": kinds.REDUCE_SCATTER,
    "scatter": kinds.SCATTER,
}

# The caller's tensors, each with its plain copy.
Copies = Sequence[tuple[Tensor, Tensor]]


class GlooFallback:
    """A group of PyTorch's own class on Gloo, whose collectives take tensors of any layout.

    Args:
        group: the group that begins Gloo's collectives.
        notifier: waits for the end where a future is asked for.
    """

    def __init__(self, group: Any, notifier: Notifier) -> None:
        self._group = group
        self._notifier = notifier

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._group, name)
        return functools.partial(self._run, name, method) if name in _KINDS else method

    def _run(self, name: str, method: Any, first: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a collective whose first argument holds the tensors that it writes."""
        written: list[tuple[Tensor, Tensor]] = []
        first = _with_copies(first, written)
        args = tuple(_with_copies(argument, []) for argument in args)
        work = method(first, *args, **kwargs)
        if not written:
            return work
        tensors = [tensor for tensor, _ in written]
        reduction = Reduction(_KINDS[name], tensors, _CopiesStage(written), self._notifier)
        reduction.post(lambda: _GlooWork(work))
        return reduction


def _with_copies(argument: Any, copies: list[tuple[Tensor, Tensor]]) -> Any:
    """Return the argument with a copy of each tensor that Gloo cannot take; note these."""
    if isinstance(argument, list | tuple):
        return [_with_copies(member, copies) for member in argument]
    if not isinstance(argument, Tensor) or argument.layout != torch.strided or is_plain(argument):
        return argument
    tensor = argument.detach()
    copy = torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device).copy_(tensor)
    copies.append((tensor, copy))
    return copy


class _GlooWork:
    """A work of Gloo's in the place of one of the engine's."""

    posted_s = ended_s = None

    def __init__(self, work: Any) -> None:
        self._work = work

    def done(self) -> bool:
        return bool(self._work.is_completed())

    def wait(self, timeout_s: float | None = None) -> None:
        self._work.wait(NO_TIMEOUT if timeout_s is None else timedelta(seconds=timeout_s))


class _CopiesStage:
    """The stage of copies: they are copied back once Gloo's work has ended."""

    def __init__(self, copies: Copies) -> None:
        self._copies = copies
        devices = {tensor.device for tensor, _ in copies if tensor.device.type != "cpu"}
        self.devices: Sequence[torch.device] = tuple(devices)
        # Of an accelerator: the streams on which the copies were queued, and their ends.
        self._queued: list[tuple[Any, Any]] = []

    def begin(self, post: Callable[[], PieceWork]) -> PieceWork:
        """Begin Gloo's collective."""
        return post()

    def finish(self) -> None:
        """Copy back, on the streams that the wait for Gloo's work has made wait."""
        for tensor, copy in self._copies:
            elements, values = distinct_elements(tensor, copy)
            elements.copy_(values)
        streams = [torch.cuda.current_stream(device) for device in self.devices]
        self._queued = [(stream, stream.record_event()) for stream in streams]

    def join(self) -> None:
        """Let the caller's streams wait for the copies."""
        for device, (_, event) in zip(self.devices, self._queued, strict=True):
            torch.cuda.current_stream(device).wait_event(event)

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context of the streams on which a future records its events."""
        context = contextlib.ExitStack()
        for stream, _ in self._queued:
            context.enter_context(torch.cuda.stream(stream))
        return context
