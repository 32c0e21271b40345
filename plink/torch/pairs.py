"""Buffers of collectives that read one and write another."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from plink.plans.names import ALL_GATHER, BROADCAST, REDUCE, REDUCE_SCATTER
from plink.torch.accelerator import Lane
from plink.torch.pieces import JoinedWork, PieceWork
from plink.torch.ring import pinned_memory
from plink.torch.staging import flatten, flatten_all, is_plain, parts

# Begins a collective from the first buffer to the second; None where there is only one rank.
PostPair = Callable[[Tensor, Tensor], PieceWork | None]


class Pair:
    """The tensors of one collective.

    Args:
        sources: what this rank contributes, one after another.
        results: what it gets, one after another; None where the collective is in place.
        place_bytes: where the smaller buffer may lie in the larger; elsewhere none may.
    """

    def __init__(
        self,
        sources: Sequence[Tensor],
        results: Sequence[Tensor] | None,
        place_bytes: int | None = None,
    ) -> None:
        self.place_bytes = place_bytes
        self.sources = sources
        self.results = sources if results is None else results
        self.is_in_place = results is None

    def whole_bytes(self, collective: str) -> int:
        """The size of the whole buffer where it is the same on every rank, else 0."""
        if collective in (REDUCE_SCATTER, BROADCAST, REDUCE):
            return sum(tensor.nbytes for tensor in self.sources)
        if collective == ALL_GATHER:
            return sum(tensor.nbytes for tensor in self.results)
        return 0

    @property
    def dtype(self) -> torch.dtype:
        """Return the type of its tensors; bytes where it has none."""
        tensors = self.tensors
        return tensors[0].dtype if tensors else torch.uint8

    @property
    def tensors(self) -> list[Tensor]:
        """All of them."""
        return [*self.sources, *([] if self.is_in_place else self.results)]


class HostPairs:
    """Pairs on the CPU. What is one contiguous tensor is used where it is."""

    is_ready = True
    devices: Sequence[torch.device] = ()

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._pairs = pairs
        self._sources = [flatten_all(pair.sources) for pair in pairs]
        self._results = []
        for index, pair in enumerate(pairs):
            source = self._sources[index]
            own = source if pair.is_in_place else _in_place(pair.results)
            self._results.append(_room(pair.results, _pageable_memory) if own is None else own)
            if own is not None and not pair.is_in_place and _collide(source, own, pair.place_bytes):
                # The result would overwrite what is yet to be sent.
                self._sources[index] = source.clone()

    @property
    def size_bytes(self) -> int:
        """Bytes that this rank contributes."""
        return sum(source.nbytes for source in self._sources)

    def begin(self, post: PostPair) -> PieceWork | None:
        """Do nothing: the tensors are in host memory."""
        return _post_pairs(post, self._sources, self._results)

    def finish(self) -> None:
        """Copy what was received elsewhere."""
        for pair, result in zip(self._pairs, self._results, strict=True):
            for tensor, part in parts(pair.results, result):
                if part.data_ptr() != tensor.data_ptr():
                    tensor.copy_(part)

    def join(self) -> None:
        """`finish` left nothing to do."""

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """Any context."""
        return contextlib.nullcontext()


class AcceleratorPairs:
    """Pairs on an accelerator, which go by memory of the host.

    Args:
        pairs: on one device.
        lane: of that device.
        allocate: host memory of so many bytes.
    """

    is_ready = False

    def __init__(
        self, pairs: Sequence[Pair], lane: Lane, allocate: Callable[[int], Tensor] = pinned_memory
    ) -> None:
        self._pairs = pairs
        self._runtime = lane.runtime
        self._stream = lane.down
        tensors = [tensor for pair in pairs for tensor in pair.tensors]
        self._device = tensors[0].device
        self.devices: Sequence[torch.device] = (self._device,)
        self._sources: list[Tensor] = []
        self._results: list[Tensor] = []
        # What the caller has queued so far computes the tensors.
        self._stream.wait_event(self._runtime.current_stream(self._device).record_event())
        with self._runtime.stream(self._stream):
            for pair in pairs:
                flat = flatten_all(pair.sources)
                source = allocate(flat.nbytes)[: flat.nbytes].view(flat.dtype)
                self._sources.append(source.copy_(flat, non_blocking=True))
                flat.record_stream(self._stream)
                self._results.append(source if pair.is_in_place else _room(pair.results, allocate))
            self._copied = self._stream.record_event()
        # The allocator must not give their memory away while the stream still uses it.
        for tensor in tensors:
            tensor.record_stream(self._stream)

    @property
    def size_bytes(self) -> int:
        """Bytes that this rank contributes."""
        return sum(source.nbytes for source in self._sources)

    def begin(self, post: PostPair) -> PieceWork | None:
        """Wait for the copies to the host first."""
        self._copied.synchronize()
        return _post_pairs(post, self._sources, self._results)

    def finish(self) -> None:
        """Queue the copies from the host."""
        with self._runtime.stream(self._stream):
            for pair, result in zip(self._pairs, self._results, strict=True):
                for tensor, part in parts(pair.results, result):
                    tensor.copy_(part, non_blocking=True)
            self._copied = self._stream.record_event()

    def join(self) -> None:
        """The caller's stream waits, the caller does not."""
        self._runtime.current_stream(self._device).wait_event(self._copied)

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """A future records an event on the current stream."""
        context: contextlib.AbstractContextManager[Any] = self._runtime.stream(self._stream)
        return context


def _in_place(results: Sequence[Tensor]) -> Tensor | None:
    """The user's own memory, where it is one contiguous tensor."""
    if len(results) == 1 and is_plain(results[0]):
        return flatten(results[0])
    return None


def _collide(source: Tensor, result: Tensor, place_bytes: int | None) -> bool:
    """Whether they share memory otherwise than in that the smaller lies at its place."""
    begins = source.data_ptr(), result.data_ptr()
    if begins[0] + source.nbytes <= begins[1] or begins[1] + result.nbytes <= begins[0]:
        return False
    inner, outer = sorted((source, result), key=lambda tensor: tensor.nbytes)
    return inner.data_ptr() - outer.data_ptr() != place_bytes


def _room(results: Sequence[Tensor], allocate: Callable[[int], Tensor]) -> Tensor:
    """Allocate as much host memory as the results have together."""
    if not results:
        return torch.empty(0, dtype=torch.uint8)
    size_bytes = sum(tensor.nbytes for tensor in results)
    return allocate(size_bytes)[:size_bytes].view(results[0].dtype)


def _pageable_memory(size_bytes: int) -> Tensor:
    return torch.empty(size_bytes, dtype=torch.uint8)


def _post_pairs(
    post: PostPair, sources: Sequence[Tensor], results: Sequence[Tensor]
) -> PieceWork | None:
    begun = [post(source, result) for source, result in zip(sources, results, strict=True)]
    works = [work for work in begun if work is not None]
    if not works:
        return None
    return works[0] if len(works) == 1 else JoinedWork(works)
