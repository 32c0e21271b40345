"""Negotiation, on one rank, of the order in which all ranks run collectives by name."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.distributed import DistBackendError
from torch.nn import Parameter

from plink.engine import Engine
from plink.torch.executors import Notifier, SerialExecutor
from plink.torch.kinds import ALL_REDUCE
from plink.torch.named.driver import Machine
from plink.torch.named.iterations import Iterations
from plink.torch.named.running import driver_of
from plink.torch.named.scaling import ScaledStage
from plink.torch.named.works import Begun, NamedWork
from plink.torch.pieces import PieceWork
from plink.torch.staging import Stage, fuse_stages
from plink.torch.work import Reduction
from plink.training.control.actions import (
    Action,
    AllJoined,
    Batch,
    FailAll,
    Refuse,
    RefuseHere,
    Release,
)
from plink.training.control.events import Announced, Done, Joined
from plink.training.control.graphed import Graphed
from plink.training.control.own import Own
from plink.training.control.requests import UNNAMED, Request
from plink.training.timeline.recorder import Recorder

# Names come again, so that ranks know them from before; no program has so many pending.
_MOST_UNNAMED = 4096
_ENDED = "this rank's process group has ended"


class Negotiation:
    """Negotiation of a rank: an announced collective begins once all ranks have announced it.

    Args:
        machine: of this rank.
        engine: of this rank; None where there is no other.
        starter: begins collectives one after the other.
        notifier: awaits them.
        stage: brings tensors to where the engine reads and writes them.
        begin: hands a buffer to the engine.
        in_flight: how many the engine runs at a time; what begins later only waits there.
        recorder: notes what becomes of each collective; None where nobody asked.
    """

    def __init__(
        self,
        machine: Machine,
        engine: Engine | None,
        *,
        starter: SerialExecutor,
        notifier: Notifier,
        stage: Callable[[list[Tensor]], Stage],
        begin: Callable[[Tensor, str], PieceWork | None],
        in_flight: int,
        recorder: Recorder | None = None,
    ) -> None:
        self._recorder = recorder
        self._starter = starter
        self._notifier = notifier
        self._stage = stage
        self._begin = begin
        self._in_flight = in_flight
        self._lock = threading.Lock()
        self._own = Own()
        self._pending: dict[str, NamedWork | Begun] = {}
        self._unnamed = 0
        # Released, and not ended on this rank.
        self._under_way = 0
        # Of `_pending`, what the machine has not been told of.
        self._held: list[Request] = []
        # Why nothing more can be announced.
        self._ended = ""
        self._joining: _Joining | None = None
        # The driver's thread uses them, also while the interpreter ends and starts no more threads.
        starter.start()
        notifier.start()
        # The thread that waits for what is wanted keeps neither this nor the group from ending.
        do = weakref.WeakMethod(self._do)
        self._driver = driver_of(machine, engine, lambda action: _act(do(), action))
        weakref.finalize(self, self._driver.close, _ENDED)
        self._iterations: Iterations | None = None
        if isinstance(machine, Graphed):
            self._iterations = Iterations(machine, self._driver.tell)

    def announce(
        self,
        requests: Sequence[Request],
        works: Sequence[NamedWork],
        *,
        may_be_held: bool = False,
        is_of_iteration: bool = True,
    ) -> None:
        """Announce requests, which begin when all ranks have announced them.

        Args:
            requests: of one call.
            works: of each.
            may_be_held: while the engine has enough to do on this rank others hear nothing of them,
                so that more share a buffer. That has begun on all ranks, or will, and needs nothing
                that is held to end.
            is_of_iteration: every iteration has them; others are no part of a learnt graph.

        Raises:
            DistBackendError: a name is pending already, or this rank has joined; none is announced.
        """
        for work in works:
            work.stage = work.stage or self._stage(work.tensors)
        with self._lock:
            if refusal := self._own.announce(tuple(requests), self._ended):
                raise DistBackendError(f"plink: {refusal.text}")
            for request, work in zip(requests, works, strict=True):
                self._pending[request.name] = work
                if self._iterations is not None and is_of_iteration:
                    work.watch(self._iterations)
            self._hold(requests, is_of_iteration)
            # What shares a buffer is known where iterations are followed.
            if self._iterations is not None or not may_be_held or self._under_way < self._in_flight:
                self._announce_held()

    def stage(self, tensors: list[Tensor]) -> Stage:
        """Return a stage of what this thread has computed, or queued on its current stream."""
        return self._stage(tensors)

    def announce_unnamed(self, request_of: Callable[[str], Request], begun: Begun) -> None:
        """Announce a collective by its count: it begins when all ranks have announced as many."""
        with self._lock:
            request = request_of(f"{UNNAMED}{self._unnamed % _MOST_UNNAMED}")
            if refusal := self._own.announce((request,), self._ended):
                begun.refuse(refusal.text)
                return
            self._unnamed += 1
            self._pending[request.name] = begun
            self._hold([request])
            self._announce_held()

    def join(self) -> int:
        """Contribute zeros until all ranks have joined; return the rank that joined last.

        Raises:
            DistBackendError: a rank is lost, or has joined already.
        """
        with self._lock:
            if refusal := self._own.join(self._ended):
                raise DistBackendError(f"plink: {refusal.text}")
            joining = self._joining = _Joining()
            if self._recorder is not None:
                self._recorder.joined()
            self._announce_held()
            self._driver.tell(Joined())
        return joining.wait()

    def learn(self, root: Tensor, sources: Mapping[str, Sequence[Parameter]]) -> None:
        """Record that gradients are about to be computed backward; for the mode `graph`.

        Args:
            root: such as a loss.
            sources: whose gradients are reduced, by the name of what reduces them.
        """
        if self._iterations is not None:
            self._iterations.learn(root, sources)

    def end_iteration(self) -> None:
        """Record that all gradients of an iteration are announced and reduced."""
        if self._iterations is not None:
            with self._lock:
                self._iterations.end()

    def close(self) -> None:
        """End the thread; pending collectives fail."""
        with self._lock:
            self._ended = _ENDED
        self._driver.close(_ENDED)

    def _do(self, action: Action) -> None:
        """Carry out an action of the machine, in the driver's thread."""
        if isinstance(action, Release):
            for batch in action.batches:
                self._release(batch)
        elif isinstance(action, Refuse):
            self._refuse([action.name], action.text)
        elif isinstance(action, RefuseHere):
            self._refuse(action.names, action.text)
            if not action.names:
                with self._lock:
                    self._own.begin_anew()
                self._end_joining(None, action.text)
        elif isinstance(action, AllJoined):
            with self._lock:
                self._own.begin_anew()
                # Who had joined has not counted those of the others.
                self._unnamed = 0
            if self._recorder is not None:
                self._recorder.all_joined(action.last)
            self._end_joining(action.last, "")
        elif isinstance(action, FailAll):
            with self._lock:
                self._held.clear()
                names = list(self._pending)
            self._refuse(names, action.text)
            self._end_joining(None, action.text)

    def _take(self, names: Sequence[str]) -> list[NamedWork | Begun | None]:
        with self._lock:
            for name in names:
                self._own.forget(name)
            return [self._pending.pop(name, None) for name in names]

    def _refuse(self, names: Sequence[str], text: str) -> None:
        if self._recorder is not None:
            self._recorder.refused(names)
        for work in self._take(names):
            if work is not None:
                work.refuse(text)

    def _release(self, batch: Batch) -> None:
        number = -1 if self._recorder is None else self._recorder.agreed(batch.requests)
        works = self._take([request.name for request in batch.requests])
        if isinstance(first := works[0], Begun):
            # It is alone: what has no name shares no buffer.
            self._run(number, first.begin, first.work)
            return
        if batch.requests[0].kind != ALL_REDUCE.collective:
            if self._recorder is not None:
                self._recorder.ended(number)
            self._driver.tell(Done())
            return
        named = [work for work in works if isinstance(work, NamedWork)]
        # Those of a rank that has joined need no accelerator, but to share a buffer with others.
        device = named[0].tensors[0].device if named else torch.device("cpu")
        tensors: list[Tensor] = []
        for request, work in zip(batch.requests, works, strict=True):
            tensors += work.tensors if isinstance(work, NamedWork) else _zeros(request, device)
        request = batch.requests[0]
        stages = [work.stage for work in named if work.stage is not None]
        stage = fuse_stages(tensors, stages) if stages else self._stage(tensors)
        if (request.prescale, request.postscale) != (1.0, 1.0):
            stage = ScaledStage(stage, request.prescale, request.postscale)
        reduction = Reduction(ALL_REDUCE, tensors, stage, self._notifier)
        for work in works:
            if isinstance(work, NamedWork):
                work.stage = None
                work.release(reduction)
        begin = self._begin
        self._run(number, lambda: reduction.post(lambda host: begin(host, request.op)), reduction)

    def _run(self, number: int, begin: Callable[[], None], work: Reduction) -> None:
        await_end = work.end
        if (recorder := self._recorder) is not None:
            begin = _after(lambda: recorder.begun(number), begin)
            await_end = _after(work.end, lambda: recorder.ended(number))
        with self._lock:
            self._under_way += 1
        self._starter.submit(begin)
        self._notifier.submit(await_end, self._end)

    def _end(self) -> None:
        """Record that a batch has ended."""
        with self._lock:
            self._under_way -= 1
            self._driver.tell(Done())
            if self._under_way < self._in_flight:
                self._announce_held()

    def _hold(self, requests: Sequence[Request], is_of_iteration: bool = True) -> None:
        """Record announced requests; `_announce_held` tells the machine of them."""
        if self._iterations is not None and is_of_iteration:
            self._iterations.announce(requests)
        if self._recorder is not None:
            self._recorder.announced(requests)
        self._held.extend(requests)

    def _announce_held(self) -> None:
        """Tell the machine of the held requests; the caller holds the lock."""
        if self._held:
            held, self._held = tuple(self._held), []
            self._driver.tell(Announced(held))

    def _end_joining(self, last: int | None, text: str) -> None:
        joining, self._joining = self._joining, None
        if joining is not None:
            joining.end(last, text)


class _Joining:
    """Wait of a rank that has joined until all others have."""

    def __init__(self) -> None:
        self._is_over = threading.Event()
        self._last: int | None = None
        self._text = ""

    def end(self, last: int | None, text: str) -> None:
        self._last, self._text = last, text
        self._is_over.set()

    def wait(self) -> int:
        self._is_over.wait()
        if self._last is None:
            raise DistBackendError(f"plink: {self._text}")
        return self._last


def _act(do: Callable[[Action], None] | None, action: Action) -> None:
    if do is not None:
        do(action)


def _after(first: Callable[[], None], then: Callable[[], None]) -> Callable[[], None]:
    def both() -> None:
        first()
        then()

    return both


def _zeros(request: Request, device: torch.device) -> list[Tensor]:
    """Return the zeros that a rank which has joined contributes to a request."""
    return [
        torch.zeros(tensor.shape, dtype=getattr(torch, tensor.dtype), device=device)
        for tensor in request.tensors
    ]
