"""Buffers of collectives that read from one buffer and write to another."""

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
    """Source and result tensors of one collective.

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
        """Return the bytes of the whole buffer if every rank has the same, else 0."""
        if collective in (REDUCE_SCATTER, BROADCAST, REDUCE):
            return sum(tensor.nbytes for tensor in self.sources)
        if collective == ALL_GATHER:
            return sum(tensor.nbytes for tensor in self.results)
        return 0

    @property
    def dtype(self) -> torch.dtype:
        """Type of the pair's tensors; uint8 if there are none."""
        tensors = self.tensors
        return tensors[0].dtype if tensors else torch.uint8

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors of the pair, sources first."""
        return [*self.sources, *([] if self.is_in_place else self.results)]


class HostPairs:
    """Stage for pairs on the CPU, which uses single contiguous tensors in place."""

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
        """Size of what this rank contributes, in bytes."""
        return sum(source.nbytes for source in self._sources)

    def begin(self, post: PostPair) -> PieceWork | None:
        """Post a collective for each pair and return one work for all of them."""
        return _post_pairs(post, self._sources, self._results)

    def finish(self) -> None:
        """Copy results that were received in buffers of their own to the caller's tensors."""
        for pair, result in zip(self._pairs, self._results, strict=True):
            for tensor, part in parts(pair.results, result):
                if part.data_ptr() != tensor.data_ptr():
                    tensor.copy_(part)

    def join(self) -> None:
        """Do nothing: `finish` has copied the results."""

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context that does nothing, as no stream is involved."""
        return contextlib.nullcontext()


class AcceleratorPairs:
    """Stage for pairs on an accelerator, which go through host memory.

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
        """Size of what this rank contributes, in bytes."""
        return sum(source.nbytes for source in self._sources)

    def begin(self, post: PostPair) -> PieceWork | None:
        """Wait for the copies to the host, then post a collective for each pair."""
        self._copied.synchronize()
        return _post_pairs(post, self._sources, self._results)

    def finish(self) -> None:
        """Queue the copies of the results from the host to the accelerator."""
        with self._runtime.stream(self._stream):
            for pair, result in zip(self._pairs, self._results, strict=True):
                for tensor, part in parts(pair.results, result):
                    tensor.copy_(part, non_blocking=True)
            self._copied = self._stream.record_event()

    def join(self) -> None:
        """Make the caller's current stream wait for the copies, without blocking the caller."""
        self._runtime.current_stream(self._device).wait_event(self._copied)

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context of the stream that copies, on which a future records its event."""
        context: contextlib.AbstractContextManager[Any] = self._runtime.stream(self._stream)
        return context


def _in_place(results: Sequence[Tensor]) -> Tensor | None:
    """Return the caller's own memory as a flat tensor if it is one contiguous tensor, else None."""
    if len(results) == 1 and is_plain(results[0]):
        return flatten(results[0])
    return None


def _collide(source: Tensor, result: Tensor, place_bytes: int | None) -> bool:
    """Return whether tensors share memory, except where the smaller lies at its place."""
    begins = source.data_ptr(), result.data_ptr()
    if begins[0] + source.nbytes <= begins[1] or begins[1] + result.nbytes <= begins[0]:
        return False
    inner, outer = sorted((source, result), key=lambda tensor: tensor.nbytes)
    return inner.data_ptr() - outer.data_ptr() != place_bytes


def _room(results: Sequence[Tensor], allocate: Callable[[int], Tensor]) -> Tensor:
    """Allocate as much memory as all results take together, as one tensor."""
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
