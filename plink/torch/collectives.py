"""Collectives of a group that run on the engine, except all-reduce."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

from torch import Tensor
from torch.distributed import ProcessGroup

from plink.engine import Engine
from plink.torch import kinds
from plink.torch.buffers import Begin, on_bytes, on_numbers
from plink.torch.compiler import uncompiled
from plink.torch.kinds import Kind
from plink.torch.messages import awaited_text, is_at_hand
from plink.torch.pairs import Pair
from plink.torch.pieces import PieceWork
from plink.torch.reductions import engine_op
from plink.torch.shapes import (
    can_gather,
    can_move,
    check_sizes,
    is_listed,
    is_nested,
    shares,
    size_bytes,
    split_bytes,
)
from plink.torch.work import NO_TIMEOUT

_BYTES = "uint8"


class EngineCollectives(ProcessGroup):
    """Base class of `PlinkGroup` with the engine's collectives other than all-reduce.

    What only moves numbers takes every type; what reduces takes what the engine's all-reduce does.
    All else is Gloo's. Which it is depends on the call alone, so that all ranks choose alike.
    """

    @property
    def _plain(self) -> Any:
        """Group on Gloo, for collectives that the engine lacks."""
        raise NotImplementedError

    def run_pairs(
        self,
        kind: Kind,
        pairs: Sequence[Pair],
        begin: Begin,
        timeout: timedelta,
        *,
        op: str = "",
        root: int = -1,
    ) -> Any:
        """Begin a collective on each pair of buffers and return one work for all of them."""
        raise NotImplementedError

    @property
    def message_timeout(self) -> timedelta:
        """Longest time to wait for a message."""
        raise NotImplementedError

    def message_at_hand(self, kind: Kind, tensor: Tensor, peer: int | None, tag: int) -> Any:
        """Begin a message from or to a tensor's own memory and return its work.

        None where something else has to be done before.
        """
        raise NotImplementedError

    @uncompiled
    def broadcast(self, tensors: Any, opts: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Begin to copy the tensor of rank `opts.rootRank` to all ranks."""
        if args or kwargs or not is_listed(tensors) or not can_move(tensors):
            return self._plain.broadcast(*_without_none(tensors, opts), *args, **kwargs)
        root = opts.rootRank

        def begin(engine: Engine, source: Any, _result: Any, code: int) -> PieceWork:
            return engine.broadcast(source, root, dtype=_BYTES, layout=code)

        return self.run_pairs(
            kinds.BROADCAST, [Pair(tensors, None)], on_bytes(begin), opts.timeout, root=root
        )

    @uncompiled
    def reduce(self, tensors: Any, opts: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Begin to reduce one tensor into that of rank `opts.rootRank`."""
        op = engine_op(tensors, opts) if is_listed(tensors) and opts is not None else None
        if args or kwargs or op is None or len(tensors) != 1:
            return self._plain.reduce(*_without_none(tensors, opts), *args, **kwargs)
        root = opts.rootRank

        def begin(engine: Engine, source: Any, _result: Any, dtype: str) -> PieceWork:
            return engine.reduce(source, root, op, dtype=dtype)

        pairs = [Pair(tensors, None)]
        return self.run_pairs(
            kinds.REDUCE, pairs, on_numbers(begin), opts.timeout, op=op, root=root
        )

    @uncompiled
    def allgather(self, outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Begin to bring each rank's tensor to all ranks; sizes may differ by rank."""
        if kwargs or not is_nested(outputs) or not can_gather(outputs, inputs):
            return self._plain.allgather(outputs, inputs, *args, **kwargs)
        return self._gather_all([Pair(inputs, outputs[0])], _timeout(args))

    @uncompiled
    def allgather_coalesced(self, output_lists: Any, input_list: Any, *args: Any) -> Any:
        """Begin several all-gathers; `output_lists` has a list of all tensors for each rank."""
        if not can_move([tensor for row in output_lists for tensor in row] + list(input_list)):
            return self._plain.allgather_coalesced(output_lists, input_list, *args)
        pairs = [
            Pair([source], [row[i] for row in output_lists]) for i, source in enumerate(input_list)
        ]
        return self._gather_all(pairs, _timeout(args))

    @uncompiled
    def all_gather_single(self, output: Tensor, source: Tensor, *args: Any) -> Any:
        """Begin to bring each rank's tensor to all ranks, into one tensor."""
        return self.all_gather_single_coalesced([output], [source], *args)

    @uncompiled
    def all_gather_single_coalesced(self, outputs: Any, inputs: Any, *args: Any) -> Any:
        """Begin several all-gathers, each into one tensor."""
        if not can_move([*outputs, *inputs]):
            return self._plain.all_gather_single_coalesced(outputs, inputs, *args)
        for output, source in zip(outputs, inputs, strict=True):
            check_sizes("all-gather", output, source, self.size())
        rank = self.rank()
        pairs = [
            Pair([source], [output], rank * source.nbytes)
            for output, source in zip(outputs, inputs, strict=True)
        ]
        return self._gather_all(pairs, _timeout(args))

    def _gather_all(self, pairs: Sequence[Pair], timeout: timedelta) -> Any:
        ranks = self.size()
        counts = [shares(pair.results, ranks) for pair in pairs]
        for pair, of_rank in zip(pairs, counts, strict=True):
            if size_bytes(pair.sources) != of_rank[self.rank()]:
                raise ValueError("an all-gather's input and its place in the output differ in size")
        remaining = iter(counts)

        def begin(engine: Engine, source: Any, result: Any, code: int) -> PieceWork:
            return engine.all_gather(source, result, next(remaining), dtype=_BYTES, layout=code)

        return self.run_pairs(kinds.ALL_GATHER, pairs, on_bytes(begin), timeout)

    @uncompiled
    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None, *args: Any) -> Any:
        """Begin to reduce a tensor for each rank, of any size; each rank gets its own."""
        fits = not args and opts is not None and is_nested(inputs) and len(outputs) == 1
        op = engine_op([*inputs[0], *outputs], opts) if fits else None
        if op is None:
            return self._plain.reduce_scatter(*_without_none(outputs, inputs, opts), *args)
        return self._scatter_sums([Pair(inputs[0], outputs)], op, opts.timeout)

    @uncompiled
    def reduce_scatter_single(self, output: Tensor, source: Tensor, opts: Any = None) -> Any:
        """Begin to reduce one tensor, of which each rank gets an equal part."""
        op = engine_op([output, source], opts) if opts is not None else None
        if op is None:
            return self._plain.reduce_scatter_single(*_without_none(output, source, opts))
        check_sizes("reduce-scatter", source, output, self.size())
        pair = Pair([source], [output], self.rank() * output.nbytes)
        return self._scatter_sums([pair], op, opts.timeout)

    @uncompiled
    def reduce_scatter_single_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """Begin several reduce-scatters, each of one tensor."""
        op = engine_op([*outputs, *inputs], opts) if opts is not None else None
        if op is None:
            return self._plain.reduce_scatter_single_coalesced(
                *_without_none(outputs, inputs, opts)
            )
        for output, source in zip(outputs, inputs, strict=True):
            check_sizes("reduce-scatter", source, output, self.size())
        rank = self.rank()
        pairs = [
            Pair([source], [output], rank * output.nbytes)
            for output, source in zip(outputs, inputs, strict=True)
        ]
        return self._scatter_sums(pairs, op, opts.timeout)

    def _scatter_sums(self, pairs: Sequence[Pair], op: str, timeout: timedelta) -> Any:
        ranks = self.size()
        counts = [
            [size // pair.results[0].element_size() for size in shares(pair.sources, ranks)]
            for pair in pairs
        ]
        for pair, of_rank in zip(pairs, counts, strict=True):
            if pair.results[0].numel() != of_rank[self.rank()]:
                raise ValueError(
                    "a reduce-scatter's output and its part of the input differ in size"
                )
        remaining = iter(counts)

        def begin(engine: Engine, source: Any, result: Any, dtype: str) -> PieceWork:
            return engine.reduce_scatter(source, result, op, next(remaining), dtype=dtype)

        return self.run_pairs(kinds.REDUCE_SCATTER, pairs, on_numbers(begin), timeout, op=op)

    @uncompiled
    def gather(self, outputs: Any, inputs: Any, opts: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Begin to bring each rank's tensor to rank `opts.rootRank`."""
        fits = not (args or kwargs) and opts is not None and is_listed(inputs)
        if not fits or not can_gather(outputs, inputs):
            return self._plain.gather(*_without_none(outputs, inputs, opts), *args, **kwargs)
        root = opts.rootRank
        results = outputs[0] if outputs else []
        counts = shares(results, self.size()) if self.rank() == root else None

        def begin(engine: Engine, source: Any, result: Any, code: int) -> PieceWork:
            return engine.gather(source, result, root, counts, dtype=_BYTES, layout=code)

        pairs = [Pair(inputs, results)]
        return self.run_pairs(kinds.GATHER, pairs, on_bytes(begin), opts.timeout, root=root)

    @uncompiled
    def scatter(
        self, outputs: Any, inputs: Any, opts: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        """Begin to bring each rank its tensor from rank `opts.rootRank`."""
        fits = not (args or kwargs) and opts is not None and is_listed(outputs)
        if not fits or not can_gather(inputs, outputs):
            return self._plain.scatter(*_without_none(outputs, inputs, opts), *args, **kwargs)
        root = opts.rootRank
        sources = inputs[0] if inputs else []
        counts = shares(sources, self.size()) if self.rank() == root else None

        def begin(engine: Engine, source: Any, result: Any, code: int) -> PieceWork:
            return engine.scatter(source, result, root, counts, dtype=_BYTES, layout=code)

        pairs = [Pair(sources, outputs)]
        return self.run_pairs(kinds.SCATTER, pairs, on_bytes(begin), opts.timeout, root=root)

    @uncompiled
    def alltoall(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """Begin to send each rank a tensor, and to get one from each."""
        if opts is None or not can_move([*outputs, *inputs]):
            return self._plain.alltoall(*_without_none(outputs, inputs, opts))
        ranks = self.size()
        return self._exchange(
            Pair(inputs, outputs), shares(inputs, ranks), shares(outputs, ranks), opts.timeout
        )

    @uncompiled
    def all_to_all_single(
        self,
        output: Tensor,
        source: Tensor,
        output_splits: Any = (),
        input_splits: Any = (),
        *args: Any,
    ) -> Any:
        """Begin to send each rank a part of one tensor, and to get a part of another from each.

        Args:
            output: what this rank gets.
            source: what it sends.
            output_splits: along the first dimension, by rank; empty for equal parts.
            input_splits: the same of `source`.
            args: the options.
        """
        if not can_move([output, source]):
            return self._plain.all_to_all_single(output, source, output_splits, input_splits, *args)
        ranks = self.size()
        return self._exchange(
            Pair([source], [output]),
            split_bytes(source, input_splits, ranks),
            split_bytes(output, output_splits, ranks),
            _timeout(args),
        )

    def _exchange(
        self, pair: Pair, send: Sequence[int], receive: Sequence[int], timeout: timedelta
    ) -> Any:
        if send[self.rank()] != receive[self.rank()]:
            raise ValueError("a rank sends itself another size than it gets from itself")

        def begin(engine: Engine, source: Any, result: Any, code: int) -> PieceWork:
            return engine.all_to_all(source, result, send, receive, dtype=_BYTES, layout=code)

        return self.run_pairs(kinds.ALL_TO_ALL, [pair], on_bytes(begin), timeout)

    @uncompiled
    def barrier(self, opts: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Begin a barrier: its work ends when all ranks have called it."""
        timeout = NO_TIMEOUT if opts is None or args or kwargs else opts.timeout

        def begin(engine: Engine, _source: Any, _result: Any, _dtype: Any) -> PieceWork:
            return engine.barrier()

        return self.run_pairs(kinds.BARRIER, [Pair([], None)], begin, timeout)

    @uncompiled
    def send(self, tensors: Any, peer: int, tag: int = 0) -> Any:
        """Begin to send one tensor to a rank."""
        return self._message(tensors, False, peer, tag)

    @uncompiled
    def recv(self, tensors: Any, peer: int, tag: int = 0) -> Any:
        """Begin to receive one tensor from a rank."""
        return self._message(tensors, True, peer, tag)

    @uncompiled
    def recv_anysource(self, tensors: Any, tag: int = 0) -> Any:
        """Begin to receive one tensor from any rank, whose number the work has afterwards."""
        return self._message(tensors, True, None, tag)

    def _message(self, tensors: Any, is_received: bool, peer: int | None, tag: int) -> Any:
        received = kinds.RECEIVE if peer is not None else kinds.RECEIVE_FROM_ANY
        kind = received if is_received else kinds.SEND
        tensors = list(tensors) if is_listed(tensors) else [tensors]
        if len(tensors) == 1 and is_at_hand(tensors[0]):
            work = self.message_at_hand(kind, tensors[0], peer, tag)
            if work is not None:
                return work
        if len(tensors) != 1 or not can_move(tensors):
            raise ValueError("a message is one dense tensor")

        def begin(engine: Engine, source: Any, _result: Any, code: int) -> PieceWork:
            if is_received:
                return engine.receive(source, peer, tag, type_code=code)
            return engine.send(source, cast(int, peer), tag, type_code=code)

        work = self.run_pairs(kind, [Pair(tensors, None)], on_bytes(begin), self.message_timeout)
        work.awaited = awaited_text(kind, peer, tag)
        return work

    # PyTorch's other names for the same.
    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
    alltoall_base = all_to_all_single


def _without_none(*arguments: Any) -> list[Any]:
    """Return the arguments that are not None."""
    return [argument for argument in arguments if argument is not None]


def _timeout(args: Sequence[Any]) -> timedelta:
    """Return the timeout of the options in `args`; no timeout if there are none."""
    timeout = getattr(args[0], "timeout", None) if args else None
    return timeout if isinstance(timeout, timedelta) else NO_TIMEOUT
