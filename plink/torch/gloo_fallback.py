"""Gloo's collectives for tensors of any memory layout.

Gloo reads and writes as many bytes as a tensor has elements, from its first element on, whatever
the strides are. Tensors that do not lie like that in memory are copied before, and back after.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor
from torch.distributed import ReduceOp

from plink.torch import kinds
from plink.torch.executors import Notifier, SerialExecutor
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

# Whose elements are as many on all ranks: 0 for the first argument, 1 for the second.
_ALIKE = dict.fromkeys(("allreduce", "allreduce_coalesced", "broadcast", "reduce", "scatter"), 0)
_ALIKE |= {name: 1 for name in _KINDS if name.startswith(("allgather", "all_gather", "gather"))}
_ALIKE |= {name: 1 for name in _KINDS if name.startswith("reduce_scatter")}

# The caller's tensors, each with its plain copy.
Copies = Sequence[tuple[Tensor, Tensor]]


class GlooFallback:
    """Group of PyTorch's own class on Gloo, whose collectives take tensors of any layout.

    Gloo takes the bytes of another type for its own, and may end the process where sizes differ. So
    ranks compare what they call before, in a barrier on the engine.

    Args:
        group: the group that begins Gloo's collectives.
        notifier: waits for the end where a future is asked for.
        compare: begins that barrier with what this rank calls; None where there is no other rank.
    """

    def __init__(
        self, group: Any, notifier: Notifier, compare: Callable[[str], Reduction] | None
    ) -> None:
        self._group = group
        self._notifier = notifier
        self._compare = compare
        self._starter = SerialExecutor("plink-gloo")

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._group, name)
        return functools.partial(self._run, name, method) if name in _KINDS else method

    @property
    def is_idle(self) -> bool:
        """Whether all collectives that were called have begun."""
        return self._starter.is_idle

    def end(self) -> None:
        """Wait until all collectives have begun; to be called after the engine's end."""
        self._starter.end()

    def _run(self, name: str, method: Any, first: Any, *args: Any, **kwargs: Any) -> Any:
        """Begin a Gloo collective, after a comparison with other ranks, and return its work."""
        called = _describe_call(name, [first, *args])
        written: list[tuple[Tensor, Tensor]] = []
        given = _with_copies(first, written)
        args = tuple(_with_copies(argument, []) for argument in args)
        tensors = list(_tensors(first))
        stage = _CopiesStage(tensors or list(_tensors(args)), written)
        work = Reduction(_KINDS[name], tensors, stage, self._notifier)

        def post() -> None:
            with stage.callers_streams():
                work.post(lambda: _GlooWork(method(given, *args, **kwargs)))

        if self._compare is None:
            post()
            return work
        same = self._compare(called)

        def begin() -> None:
            try:
                same.wait()
                post()
            except (RuntimeError, ValueError, TypeError) as error:
                work.refuse(str(error).removeprefix("plink: "))

        self._starter.submit(begin)
        return work


def _describe_call(name: str, arguments: Sequence[Any]) -> str:
    """Return a text of what all ranks must call alike, for the comparison and its errors."""
    words = [name]
    for argument in arguments:
        op = getattr(argument, "reduceOp", argument)
        if isinstance(op, ReduceOp | ReduceOp.RedOpType):
            # An object of PyTorch's own, whose text has its address, or the value that it holds.
            words.append(str(getattr(op, "op", op)))
        if (root := getattr(argument, "rootRank", None)) is not None:
            words.append(f"root {root}")
    alike = _ALIKE.get(name)
    if alike is None:
        types = {str(tensor.dtype) for tensor in _tensors(arguments)}
        return " ".join([*words, *sorted(types)])
    tensors = _tensors(arguments[alike]) if len(arguments) > alike else ()
    words += [f"{tensor.dtype}{[tensor.numel()]} {tensor.layout}" for tensor in tensors]
    return " ".join(words)


def _tensors(argument: Any) -> Iterator[Tensor]:
    if isinstance(argument, Tensor):
        yield argument
    elif isinstance(argument, list | tuple):
        for member in argument:
            yield from _tensors(member)


def _with_copies(argument: Any, copies: list[tuple[Tensor, Tensor]]) -> Any:
    """Return the argument with copies of tensors that Gloo cannot take, noted in `copies`."""
    if isinstance(argument, list | tuple):
        return [_with_copies(member, copies) for member in argument]
    if not isinstance(argument, Tensor) or argument.layout != torch.strided or is_plain(argument):
        return argument
    tensor = argument.detach()
    copy = torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device).copy_(tensor)
    copies.append((tensor, copy))
    return copy


class _GlooWork:
    """Gloo's work, with the interface of the engine's works."""

    posted_s = ended_s = None

    def __init__(self, work: Any) -> None:
        self._work = work

    def done(self) -> bool:
        return bool(self._work.is_completed())

    def wait(self, timeout_s: float | None = None) -> None:
        self._work.wait(NO_TIMEOUT if timeout_s is None else timedelta(seconds=timeout_s))


class _CopiesStage:
    """Stage of tensors that Gloo reads and writes, some of them as copies.

    Args:
        tensors: the caller's.
        copies: of those that Gloo cannot take.
    """

    def __init__(self, tensors: Sequence[Tensor], copies: Copies) -> None:
        self._copies = copies
        devices = {tensor.device for tensor in tensors if tensor.device.type != "cpu"}
        self.devices: Sequence[torch.device] = tuple(devices)
        self._callers = [torch.cuda.current_stream(device) for device in self.devices]
        # Of an accelerator: the streams on which the copies were queued, and their ends.
        self._queued: list[tuple[Any, Any]] = []

    def callers_streams(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context of the streams on which the caller computed the tensors."""
        context = contextlib.ExitStack()
        for stream in self._callers:
            context.enter_context(torch.cuda.stream(stream))
        return context

    def begin(self, post: Callable[[], PieceWork]) -> PieceWork:
        """Begin Gloo's collective by calling `post`."""
        return post()

    def finish(self) -> None:
        """Copy results back to the caller's tensors, on the streams that wait for Gloo's work."""
        for tensor, copy in self._copies:
            elements, values = distinct_elements(tensor, copy)
            elements.copy_(values)
        streams = [torch.cuda.current_stream(device) for device in self.devices]
        self._queued = [(stream, stream.record_event()) for stream in streams]

    def join(self) -> None:
        """Make the caller's streams wait for the copies back."""
        for device, (_, event) in zip(self.devices, self._queued, strict=True):
            torch.cuda.current_stream(device).wait_event(event)

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context of the streams on which a future records its events."""
        context = contextlib.ExitStack()
        for stream, _ in self._queued:
            context.enter_context(torch.cuda.stream(stream))
        return context
