"""Staging of an accelerator's tensors through pinned host memory, piece by piece.

Three things go on at the same time: later pieces are copied to the host, the engine reduces those
that have arrived, and earlier ones are copied back.

What waits for what:

- copies to the host come after all that the caller had queued when it began the collective: an
  event on the caller's stream (not the stream itself, on which later work would be waited for);
- the engine begins a piece when its copy has ended: the thread that begins collectives waits;
- a piece is copied back when the engine's work has ended, by the thread that brings pieces home;
- a buffer is used again when the copy back has read it: the event that the ring keeps;
- what the caller queues after `wait` comes after the last copy back: its stream waits, it does not.

No rank can wait for another in a circle: a rank that waits for a buffer has posted all pieces that
hold one, or posts them before it waits; every posted piece ends once all ranks have posted it, and
all post the same pieces in the same order.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from plink.base.errors import PlinkError
from plink.torch.executors import SerialExecutor
from plink.torch.pieces import ComingWork, PieceWork, pieces_of
from plink.torch.ring import Ring, pinned_memory
from plink.torch.staging import Post, Stage, flatten_all, parts

# Two on their way to the host, what the engine has in flight, two on their way back.
SLOTS = 8
_COPIED_AHEAD = 2


class Lane:
    """Copy streams and pinned buffers that a group's collectives on one device share.

    Args:
        runtime: the device's streams and events: `torch.cuda`, or what has the same functions.
        down, up: streams for the copies to the host, and back.
        homebound: brings pieces home, in the order in which they began.
        allocate: host memory of so many bytes.
    """

    def __init__(
        self,
        runtime: Any,
        down: Any,
        up: Any,
        homebound: SerialExecutor,
        allocate: Callable[[int], Tensor] = pinned_memory,
    ) -> None:
        self.runtime = runtime
        self.down, self.up = down, up
        self.homebound = homebound
        self.ring = Ring(SLOTS, allocate)


class AcceleratorStage:
    """Stage for tensors on an accelerator: copies to the host and back beside the caller's work.

    Args:
        tensors: of one type, on one device.
        lane: of that device.
        is_cut: into pieces; else the tensors are copied, reduced and copied back as a whole.
        computed: events after which the tensors hold their values; None for all that this thread
            has queued on its current stream.
    """

    is_ready = False

    def __init__(
        self,
        tensors: Sequence[Tensor],
        lane: Lane,
        is_cut: bool = True,
        computed: Sequence[Any] | None = None,
    ) -> None:
        self._tensors = tensors
        self._lane = lane
        self._is_cut = is_cut
        self._device = tensors[0].device
        self.devices: Sequence[torch.device] = (self._device,)
        if computed is None:
            computed = [lane.runtime.current_stream(self._device).record_event()]
        self._computed = computed
        self._arrived: Any = None
        # The allocator must not give their memory away while the copies still use it.
        for tensor in tensors:
            tensor.record_stream(lane.down)
            tensor.record_stream(lane.up)

    @property
    def size_bytes(self) -> int:
        """Bytes of all tensors together."""
        return sum(tensor.nbytes for tensor in self._tensors)

    def fuse(self, tensors: Sequence[Tensor], stages: Sequence[Stage]) -> Stage:
        """Return a stage for `tensors` that waits for what computes the tensors of all stages."""
        computed = [
            event
            for stage in stages
            if isinstance(stage, AcceleratorStage)
            for event in stage._computed
        ]
        if len(tensors) > sum(
            len(stage._tensors) for stage in stages if isinstance(stage, AcceleratorStage)
        ):
            computed.append(self._lane.runtime.current_stream(self._device).record_event())
        fused = AcceleratorStage(tensors, self._lane, self._is_cut, computed)
        fused.devices = self.devices
        return fused

    def begin(self, post: Post) -> PieceWork:
        """Copy pieces to the host and post each as it arrives."""
        lane, work = self._lane, ComingWork()
        for event in self._computed:
            lane.down.wait_event(event)
        with lane.runtime.stream(lane.down):
            flat = flatten_all(self._tensors)
        flat.record_stream(lane.up)
        whole = (slice(0, flat.numel()),)
        pieces = pieces_of(flat.numel(), flat.element_size()) if self._is_cut else whole
        try:
            self._send(flat, pieces, post, work)
        except (PlinkError, RuntimeError) as error:
            work.fail(error)
        lane.homebound.submit(lambda: self._arrive(flat, work))
        return work

    def finish(self) -> None:
        """Do nothing: all copies back are queued when the work of `begin` ends."""

    def join(self) -> None:
        """Make the caller's current stream wait for the copies back; the caller goes on."""
        self._lane.runtime.current_stream(self._device).wait_event(self._arrived)

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context of the stream that copies back, on which a future records its event."""
        context: contextlib.AbstractContextManager[Any] = self._lane.runtime.stream(self._lane.up)
        return context

    def _send(self, flat: Tensor, pieces: Iterable[slice], post: Post, work: ComingWork) -> None:
        ring = self._lane.ring
        waiting = deque(flat[piece] for piece in pieces)
        copied: deque[tuple[Tensor, Tensor, Any]] = deque()
        try:
            while waiting or copied:
                # What has been copied is not kept from the others by waiting for a buffer.
                may_copy = not copied or (len(copied) < _COPIED_AHEAD and ring.has_free)
                if waiting and may_copy:
                    copied.append(self._start_copy(waiting.popleft()))
                else:
                    self._post(*copied[0], post, work)
                    copied.popleft()
        finally:
            for _, buffer, event in copied:
                ring.give_back(buffer, event)

    def _start_copy(self, piece: Tensor) -> tuple[Tensor, Tensor, Any]:
        """Start a piece's copy to the host; return the piece, its buffer and the copy's event."""
        lane = self._lane
        buffer = lane.ring.take(piece.nbytes)
        try:
            with lane.runtime.stream(lane.down):
                _as(piece, buffer).copy_(piece, non_blocking=True)
            return piece, buffer, lane.down.record_event()
        except RuntimeError:
            lane.ring.give_back(buffer)
            raise

    def _post(
        self, piece: Tensor, buffer: Tensor, copied: Any, post: Post, work: ComingWork
    ) -> None:
        copied.synchronize()
        begun = post(_as(piece, buffer))
        self._lane.homebound.submit(lambda: self._bring_home(piece, buffer, begun, work))

    def _bring_home(
        self, piece: Tensor, buffer: Tensor, begun: PieceWork | None, work: ComingWork
    ) -> None:
        lane, read = self._lane, None
        try:
            if begun is not None:
                begun.wait()
            with lane.runtime.stream(lane.up):
                piece.copy_(_as(piece, buffer), non_blocking=True)
            read = lane.up.record_event()
        except (PlinkError, RuntimeError) as error:
            work.fail(error)
        lane.ring.give_back(buffer, read)

    def _arrive(self, flat: Tensor, work: ComingWork) -> None:
        lane = self._lane
        try:
            with lane.runtime.stream(lane.up):
                for tensor, part in parts(self._tensors, flat):
                    if part.data_ptr() != tensor.data_ptr():
                        tensor.copy_(part, non_blocking=True)
            self._arrived = lane.up.record_event()
        except RuntimeError as error:
            work.fail(error)
        work.end()


def _as(piece: Tensor, buffer: Tensor) -> Tensor:
    """Return the part of a buffer that holds a piece, in the piece's type."""
    return buffer[: piece.nbytes].view(piece.dtype)
