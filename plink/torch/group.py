"""Process group with collectives on the engine, and on Gloo those that the engine lacks."""

from __future__ import annotations

import atexit
import contextlib
import time
import weakref
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor
from torch.distributed import (
    AllreduceCoalescedOptions,
    AllreduceOptions,
    DistBackendError,
    ReduceOp,
)
from torch.distributed.distributed_c10d import Store

from plink.autotune.ranks.rank import TunedRank
from plink.base.errors import PlinkError
from plink.engine import Engine, Statistics
from plink.engine import Work as EngineWork
from plink.torch.accelerator import AcceleratorStage, Lane
from plink.torch.buffers import Begin
from plink.torch.compiler import uncompiled
from plink.torch.executors import Notifier, SerialExecutor
from plink.torch.gloo import LateGloo
from plink.torch.gloo_beside import GlooBeside
from plink.torch.kinds import ALL_REDUCE, Kind
from plink.torch.layouts import layout_of
from plink.torch.messages import MessageWork
from plink.torch.named.driver import Machine
from plink.torch.named.negotiation import Negotiation
from plink.torch.named.unnamed import unnamed_request
from plink.torch.named.works import Begun
from plink.torch.pairs import AcceleratorPairs, HostPairs, Pair
from plink.torch.pieces import PieceWork
from plink.torch.points import BalancePoints
from plink.torch.reductions import engine_op, options_of
from plink.torch.staging import HostStage, Stage
from plink.torch.steps import follow_steps
from plink.torch.work import NO_TIMEOUT, Reduction
from plink.training.timeline.recorder import Recorder

# A group that ends waits so long for what some rank has not joined.
_GRACE_S = 1.0
_LOOK_S = 0.001

_open: weakref.WeakSet[PlinkGroup] = weakref.WeakSet()


class PlinkGroup(GlooBeside):
    """Process group of the backend `plink`, which `init_process_group` and `new_group` make.

    Args:
        store: PyTorch's, with keys of this group alone.
        rank: in the group.
        ranks: of the group.
        gloo: over the same ranks, made when something first needs it.
        engine: over the same ranks; None where there is one rank.
        tuned: what follows the engine's plan; None where it stays.
        is_cut: buffers are reduced in pieces, on all ranks or on none.
        machine: by which ranks agree on the order of their collectives; None where they begin the
            same ones in the same order.
        in_flight: how many collectives the engine runs at a time.
        recorder: of the timeline of what they agree on; None where nobody asked.
    """

    def __init__(
        self,
        store: Store,
        rank: int,
        ranks: int,
        gloo: LateGloo,
        engine: Engine | None,
        *,
        tuned: TunedRank | None = None,
        is_cut: bool = False,
        machine: Machine | None = None,
        in_flight: int,
        recorder: Recorder | None = None,
    ) -> None:
        self._notifier = Notifier()
        super().__init__(rank, ranks, gloo, self._notifier)
        self._store = store
        self._engine = engine
        self._tuned = tuned
        self._points = None if engine is None else BalancePoints(engine)
        self._steps = None if tuned is None else follow_steps(tuned.step)
        self._starter = SerialExecutor("plink-starter")
        self._homebound = SerialExecutor("plink-homebound")
        self._is_cut = is_cut
        self._lanes: dict[torch.device, Lane] = {}
        self._recorder = recorder
        self.in_flight = in_flight
        self.negotiation: Negotiation | None = None
        if machine is not None:
            self.negotiation = Negotiation(
                machine,
                engine,
                starter=self._starter,
                notifier=self._notifier,
                stage=self._stage,
                begin=self._begin,
                in_flight=in_flight,
                recorder=recorder,
            )
        if engine is not None:
            # The thread that waits for Gloo to be needed keeps it from ending with the group.
            weakref.finalize(self, engine.close)
        _open.add(self)

    def getBackendName(self) -> str:  # noqa: N802 - PyTorch's
        """Return the name under which the backend is registered."""
        return "plink"

    def get_group_store(self) -> Store:
        """Return the group's store, whose keys are this group's alone."""
        return self._store

    @uncompiled
    def allreduce(
        self,
        tensors: Tensor | list[Tensor],
        opts: Any = ReduceOp.SUM,
        timeout: timedelta | None = None,
        *,
        op: Any = None,
    ) -> Any:
        """Begin to reduce one tensor in place; a type or operation that the engine lacks, by Gloo.

        Args:
            tensors: one.
            opts: `AllreduceOptions`, or the operation.
            timeout: of the work's `wait`.
            op: the operation, under PyTorch's other name for it.
        """
        tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
        opts = options_of(AllreduceOptions, opts if op is None else op)
        if timeout is not None:
            opts.timeout = timeout
        name = engine_op(tensors, opts)
        if name is None or len(tensors) != 1:
            return self._plain.allreduce(tensors, opts)
        return self._reduce(tensors, name, opts.timeout)

    @uncompiled
    def allreduce_coalesced(self, tensors: list[Tensor], opts: Any = ReduceOp.SUM) -> Any:
        """Begin to reduce tensors of one type in place, as one buffer."""
        opts = options_of(AllreduceCoalescedOptions, opts)
        op = engine_op(tensors, opts)
        if op is None:
            return self._plain.allreduce_coalesced(tensors, opts)
        return self._reduce(tensors, op, opts.timeout)

    def statistics(self) -> Statistics | None:
        """Return the engine's statistics; None with one rank."""
        return None if self._engine is None else self._engine.statistics()

    def failure(self) -> DistBackendError | None:
        """Return an error if the engine has failed or is closed; None while it runs."""
        try:
            if self._engine is not None:
                self._engine.check()
        except PlinkError as error:
            return DistBackendError(f"plink: {error}")
        return None

    @property
    def plan_number(self) -> int:
        """Number of the plan in force, as the autotuner counts plans; 0 for the first."""
        return 0 if self._tuned is None else self._tuned.plan_number

    @property
    def is_plan_on_trial(self) -> bool:
        """Whether the plan in force is a new one that the autotuner has yet to judge."""
        return self._tuned is not None and self._tuned.is_judging

    def schedule_changed(self) -> None:
        """Tell the autotuner that iterations from here on differ from those before.

        All ranks call it between the same two collectives, none of which is under way.
        """
        if self._tuned is not None:
            self._tuned.void_window()

    def iteration(self) -> None:
        """Tell the autotuner, if there is one, that an iteration ends here."""
        if self._tuned is not None:
            self._tuned.mark()

    def shutdown(self) -> None:
        """End the group's engine and threads; `destroy_process_group` calls this."""
        self.end()
        super().shutdown()

    def abort(self) -> None:
        """End the group at once; what is pending fails, also on ranks that wait for this one."""
        self._end()
        super().abort()

    def end(self) -> None:
        """End the group's engine and threads, once the autotuner's pending votes are over.

        A vote that one rank leaves unfinished would fail what others still wait for.
        """
        if self._tuned is not None:
            self._tuned.settle()
        self._drain()
        self._end()

    @property
    def _is_begun(self) -> bool:
        """Whether all called collectives are handed over to the engine or to Gloo."""
        is_idle = self._starter.is_idle and self._fallback.is_idle
        return is_idle and not self._gloo.is_connecting

    def _drain(self) -> None:
        """Wait for pending work while it makes progress, as other ranks may have joined it."""
        # Not by the clock, which goes on while this process is stopped.
        for _ in range(round(_GRACE_S / _LOOK_S)):
            if self._is_begun:
                break
            time.sleep(_LOOK_S)
        if self._engine is not None:
            self._engine.drain(_GRACE_S)

    def _end(self) -> None:
        _open.discard(self)
        if self._steps is not None:
            self._steps.remove()
        if self.negotiation is not None:
            self.negotiation.close()
        self._gloo.begin_end()
        if self._engine is not None:
            self._engine.close()
        # The starter may be paused.
        if self._tuned is not None:
            self._tuned.go_on()
        self._gloo.end()
        self._starter.end()
        self._fallback.end()
        self._homebound.end()
        # After the threads that call it.
        if self._tuned is not None:
            self._tuned.close()
        self._notifier.end()
        if self._recorder is not None:
            self._recorder.close()

    def _reduce(self, tensors: list[Tensor], op: str, timeout: timedelta) -> Reduction:
        self._begun += 1
        stage, tuned, points = self._stage(tensors), self._tuned, self._points
        work = Reduction(ALL_REDUCE, tensors, stage, self._notifier, max(timeout, NO_TIMEOUT))

        layout = layout_of([tensor.numel() for tensor in tensors])

        def begin(host: Tensor) -> EngineWork | None:
            return self._begin(host, op, 0 if self.negotiation is not None else layout)

        if self.negotiation is not None:
            device = tensors[0].device.type
            sizes_bytes = [tensor.nbytes for tensor in tensors]
            self.negotiation.announce_unnamed(
                lambda name: unnamed_request(
                    name, ALL_REDUCE, tensors[0].dtype, sizes_bytes, op=op, device=device
                ),
                Begun(lambda: work.post(begin), work),
            )
            return work
        # The engine's collectives are numbered as they come, the same on all ranks.
        would_wait = (tuned is not None and tuned.would_wait(stage.size_bytes)) or (
            points is not None and points.would_wait(stage.size_bytes)
        )
        if stage.is_ready and self._starter.is_idle and not would_wait:
            work.post(begin)
        else:
            self._starter.submit(lambda: work.post(begin))
        return work

    def _begin(self, host: Tensor, op: str, layout: int = 0) -> EngineWork | None:
        """Begin an all-reduce of a host buffer; return its work, or None if this rank is alone."""
        if self._engine is None:
            return None
        dtype = str(host.dtype).removeprefix("torch.")
        begun = self._engine.allreduce(host.view(torch.uint8).numpy(), op, dtype, layout=layout)
        if self._tuned is not None:
            self._tuned.after(host.nbytes, begun)
        if self._points is not None:
            self._points.after(host.nbytes)
        return begun

    def run_pairs(
        self,
        kind: Kind,
        pairs: Sequence[Pair],
        begin: Begin,
        timeout: timedelta,
        *,
        op: str = "",
        root: int = -1,
    ) -> Reduction:
        """Begin a collective on each pair of buffers and return one work for all of them.

        Args:
            kind: which collective it is.
            pairs: the tensors of each.
            begin: begins one on the engine.
            timeout: of the work's `wait`.
            op: the operation, empty where nothing is reduced.
            root: the collective's, -1 where it has none.
        """
        self._begun += kind.is_ordered
        engine, tuned, points = self._engine, self._tuned, self._points
        sizes_bytes = [pair.whole_bytes(kind.collective) for pair in pairs]
        remaining = iter(sizes_bytes)
        dtypes = iter([pair.dtype for pair in pairs])
        tensors = [tensor for pair in pairs for tensor in pair.tensors]
        stage: HostPairs | AcceleratorPairs
        if not tensors or tensors[0].device.type == "cpu":
            stage = HostPairs(pairs)
        else:
            stage = AcceleratorPairs(pairs, self._lane(tensors[0].device))
        results = [tensor for pair in pairs for tensor in pair.results]
        work = Reduction(kind, results, stage, self._notifier, max(timeout, NO_TIMEOUT))

        def post(source: Tensor, result: Tensor) -> PieceWork | None:
            if engine is not None:
                begun = begin(engine, source, result, next(dtypes))
                # Messages are not the same on all ranks, and points must be.
                if kind.is_ordered:
                    own_bytes = next(remaining, 0)
                    if tuned is not None:
                        tuned.after(own_bytes, begun, kind.collective)
                    if points is not None:
                        points.after(own_bytes)
                return begun
            if result is not source and result.numel():
                result.copy_(source)
            return None

        size_bytes = sum(sizes_bytes)
        if self.negotiation is not None and kind.is_ordered:
            self.negotiation.announce_unnamed(
                lambda name: unnamed_request(
                    name, kind, pairs[0].dtype, [size_bytes], op=op, root=root
                ),
                Begun(lambda: work.post(post), work),
            )
            return work
        would_wait = kind.is_ordered and (
            (tuned is not None and tuned.would_wait(size_bytes))
            or (points is not None and points.would_wait(size_bytes))
        )
        if stage.is_ready and self._starter.is_idle and not would_wait:
            work.post(post)
        else:
            self._starter.submit(lambda: work.post(post))
        return work

    def message_at_hand(
        self, kind: Kind, tensor: Tensor, peer: int | None, tag: int
    ) -> MessageWork | None:
        """Begin a message from or to a tensor's own memory and return its work.

        None where one begun before has still to be brought to the host.
        """
        if self._engine is None or not self._starter.is_idle:
            return None
        engine, notifier = self._engine, self._notifier
        return MessageWork(
            kind,
            tensor,
            peer,
            tag,
            engine=engine,
            notifier=notifier,
            timeout=self.message_timeout,
        )

    def _lane(self, device: torch.device) -> Lane:
        if device not in self._lanes:
            down, up = torch.cuda.Stream(device), torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            self._homebound.start()
            self._lanes[device] = Lane(torch.cuda, down, up, self._homebound)
        return self._lanes[device]

    def _stage(self, tensors: list[Tensor]) -> Stage:
        device = tensors[0].device
        if device.type == "cpu":
            return HostStage(tensors, self._is_cut)
        return AcceleratorStage(tensors, self._lane(device), self._is_cut)


@atexit.register
def _close_all() -> None:
    # Before the interpreter ends: a thread that comes back from native code later would abort it.
    for group in list(_open):
        with contextlib.suppress(PlinkError):
            group.end()
