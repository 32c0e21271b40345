"""Collectives of an engine other than all-reduce."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import plink.engine._native as core
from plink.base.errors import WrongUseError
from plink.engine._native import Work
from plink.engine.calls import (
    check_apart,
    even_counts,
    native_op,
    shape_of,
    whole,
    whole_counts,
)
from plink.engine.connected import Connected

_NO_ROOT = -1
# Where only the root has the other buffer.
_NOTHING = np.empty(0, dtype=np.uint8)


class Collectives(Connected):
    """Collectives of an engine other than all-reduce.

    Arrays are contiguous buffers on the CPU of float32, float64, float16, bfloat16 (say so by
    `dtype` for an array of `uint16`), int32, int64, and uint8 where nothing is reduced. Every rank
    gives the same counts, root, operation, type, priority, and `layout`: 64 bits that stand for
    whatever else must be alike, such as the types of what is moved as bytes.
    """

    def reduce_scatter(
        self,
        source: Any,
        result: Any,
        op: str = "sum",
        counts: Sequence[int] | None = None,
        *,
        dtype: str | None = None,
        priority: int = 0,
        layout: int = 0,
    ) -> Work:
        """Begin to reduce `source` over all ranks; each gets its own segment of the result.

        Args:
            source: a segment for each rank, one after another; it is only read.
            result: this rank's segment; it may lie in `source` at its place.
            op: as for `Engine.allreduce`.
            counts: items of each rank's segment; None for equal ones.
            dtype: None for that of `source`.
            priority: what has more goes first.

        Raises:
            WrongUseError: arrays, counts or an operation that cannot be.
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        items, kind = shape_of(source, dtype)
        segments = self._segments(counts, items, "source")
        check_apart(source, result, sum(segments[: self.rank]), core.DTYPE_BYTES[kind.name])
        return self._call(
            core.Kind.reduce_scatter,
            source,
            result,
            kind,
            op=op,
            counts=segments,
            priority=priority,
            layout=layout,
        )

    def all_gather(
        self,
        source: Any,
        result: Any,
        counts: Sequence[int] | None = None,
        *,
        dtype: str | None = None,
        priority: int = 0,
        layout: int = 0,
    ) -> Work:
        """Begin to bring each rank's segment to all ranks.

        Args:
            source: this rank's segment; it may lie in `result` at its place.
            result: a segment of each rank, one after another.
            counts: items of each rank's segment; None for equal ones.
            dtype: None for that of `source`.
            priority: what has more goes first.

        Raises:
            WrongUseError: arrays or counts that cannot be.
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        items, kind = shape_of(result, dtype)
        segments = self._segments(counts, items, "result")
        check_apart(source, result, sum(segments[: self.rank]), core.DTYPE_BYTES[kind.name])
        return self._call(
            core.Kind.all_gather,
            source,
            result,
            kind,
            counts=segments,
            priority=priority,
            layout=layout,
        )

    def broadcast(
        self,
        array: Any,
        root: int,
        dtype: str | None = None,
        priority: int = 0,
        *,
        layout: int = 0,
    ) -> Work:
        """Begin to copy the `array` of rank `root` into that of all other ranks.

        Raises:
            WrongUseError: an array or root that cannot be.
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        items, kind = shape_of(array, dtype)
        self._check_root(root)
        return self._call(
            core.Kind.broadcast,
            array,
            array,
            kind,
            root=root,
            counts=[items],
            priority=priority,
            layout=layout,
        )

    def reduce(
        self,
        array: Any,
        root: int,
        op: str = "sum",
        *,
        dtype: str | None = None,
        priority: int = 0,
        layout: int = 0,
    ) -> Work:
        """Begin to reduce `array` over all ranks into that of rank `root`; others keep theirs.

        Raises:
            WrongUseError: an array, root or operation that cannot be.
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        items, kind = shape_of(array, dtype)
        self._check_root(root)
        return self._call(
            core.Kind.reduce,
            array,
            array,
            kind,
            op=op,
            root=root,
            counts=[items],
            priority=priority,
            layout=layout,
        )

    def gather(
        self,
        source: Any,
        result: Any,
        root: int,
        counts: Sequence[int] | None = None,
        *,
        dtype: str | None = None,
        priority: int = 0,
        layout: int = 0,
    ) -> Work:
        """Begin to bring each rank's segment to rank `root`.

        Args:
            source: this rank's segment.
            result: at the root a segment of each rank, one after another; None elsewhere.
            root: the rank.
            counts: items of each rank's segment; None for equal ones.
            dtype: None for that of `source`.
            priority: what has more goes first.

        Raises:
            WrongUseError: arrays, counts or a root that cannot be.
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        items, kind = shape_of(source, dtype)
        segments = self._segments(counts, items * self.ranks, "segments together")
        return self._with_root(
            core.Kind.gather,
            source,
            result,
            kind,
            root=root,
            segments=segments,
            priority=priority,
            layout=layout,
        )

    def scatter(
        self,
        source: Any,
        result: Any,
        root: int,
        counts: Sequence[int] | None = None,
        *,
        dtype: str | None = None,
        priority: int = 0,
        layout: int = 0,
    ) -> Work:
        """Begin to bring each rank its segment of what rank `root` has.

        Args:
            source: at the root a segment for each rank, one after another; None elsewhere.
            result: this rank's segment.
            root: the rank.
            counts: items of each rank's segment; None for equal ones.
            dtype: None for that of `result`.
            priority: what has more goes first.

        Raises:
            WrongUseError: arrays, counts or a root that cannot be.
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        items, kind = shape_of(result, dtype)
        segments = self._segments(counts, items * self.ranks, "segments together")
        return self._with_root(
            core.Kind.scatter,
            source,
            result,
            kind,
            root=root,
            segments=segments,
            priority=priority,
            layout=layout,
        )

    def all_to_all(
        self,
        source: Any,
        result: Any,
        send_counts: Sequence[int] | None = None,
        receive_counts: Sequence[int] | None = None,
        *,
        dtype: str | None = None,
        priority: int = 0,
        layout: int = 0,
    ) -> Work:
        """Begin to send each rank a segment of its own, and to get one from each.

        Args:
            source: a segment for each rank, one after another.
            result: a segment from each rank, one after another.
            send_counts: items of the segments of `source`; None for equal ones.
            receive_counts: items of the segments of `result`; None for equal ones. What a rank
                means to get from another is what that one sends.
            dtype: None for that of `source`.
            priority: what has more goes first.

        Raises:
            WrongUseError: arrays or counts that cannot be.
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        items, kind = shape_of(source, dtype)
        received_items, _ = shape_of(result, dtype)
        check_apart(source, result, None, 1)
        return self._call(
            core.Kind.all_to_all,
            source,
            result,
            kind,
            counts=self._segments(send_counts, items, "source"),
            receive_counts=self._segments(receive_counts, received_items, "result"),
            priority=priority,
            layout=layout,
        )

    def barrier(self, *, layout: int = 0) -> Work:
        """Begin to wait for all ranks: it ends when each has called it.

        Raises:
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        here = np.zeros(1, dtype=np.int32)
        return self._call(
            core.Kind.all_reduce, here, here, core.DType.int32, counts=[1], layout=layout
        )

    def _segments(self, counts: Sequence[int] | None, items: int, what: str) -> list[int]:
        if counts is None:
            return even_counts(items, self.ranks, what)
        return whole_counts(counts, self.ranks)

    def _with_root(
        self,
        kind: core.Kind,
        source: Any,
        result: Any,
        dtype: core.DType,
        *,
        root: int,
        segments: list[int],
        priority: int,
        layout: int,
    ) -> Work:
        """Begin a gather or a scatter: one segment at each rank, and all of them at the root."""
        self._check_root(root)
        here = [0] * self.ranks
        here[root] = segments[self.rank]
        at_root = segments if self.rank == root else [0] * self.ranks
        if source is not None and result is not None:
            check_apart(source, result, sum(segments[: self.rank]), core.DTYPE_BYTES[dtype.name])
        sent, received = (here, at_root) if kind == core.Kind.gather else (at_root, here)
        return self._call(
            kind,
            _NOTHING if source is None else source,
            _NOTHING if result is None else result,
            dtype,
            root=root,
            counts=sent,
            receive_counts=received,
            priority=priority,
            layout=layout,
        )

    def _check_root(self, root: int) -> None:
        whole(root, "a root", 0, self.ranks - 1)

    def _call(
        self,
        kind: core.Kind,
        source: Any,
        result: Any,
        dtype: core.DType,
        *,
        counts: Sequence[int],
        receive_counts: Sequence[int] = (),
        op: str = "sum",
        root: int = _NO_ROOT,
        priority: int = 0,
        layout: int = 0,
    ) -> Work:
        whole(priority, "a priority", -(2**31), 2**31 - 1)
        try:
            return self._native.post_call(
                kind,
                source,
                result,
                dtype,
                native_op(op),
                root,
                counts,
                receive_counts,
                priority,
                layout,
            )
        except ValueError as error:
            raise WrongUseError(f"this collective cannot be: {error}") from None
