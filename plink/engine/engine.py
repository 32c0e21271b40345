"""One rank's all-reduce engine."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np

import plink.engine._native as core
from plink.base.errors import WrongUseError
from plink.engine.balancing import Balancing
from plink.engine.failure import EngineError
from plink.engine.forest import Prepared, native
from plink.engine.meeting import Meeting, meet
from plink.engine.options import Options
from plink.engine.statistics import Statistics, statistics_of
from plink.engine.store import Store
from plink.engine.work import Work
from plink.plans.forest import Forest

_DTYPES = {name: getattr(core.DType, name) for name in core.DTYPE_BYTES}
_OPS = {
    "sum": core.Op.sum,
    "mean": core.Op.mean,
    "min": core.Op.min,
    "max": core.Op.max,
    "and": core.Op.and_,
}


class Engine:
    """Connected with the engines of all other ranks, for as long as it is open.

    All ranks call the same collectives in the same order. They go on without the caller; at most
    two are in flight, the others wait in order.

    Args:
        rank: of this process, 0 to `ranks` - 1.
        ranks: how many there are.
        store: where they meet.
        forest: along which is aggregated; the same on every rank.
        options: how.

    Raises:
        WrongUseError: the forest does not fit these ranks, or an option cannot be.
        EngineError: the ranks could not be connected; it names whose fault that is.
    """

    def __init__(
        self, rank: int, ranks: int, store: Store, forest: Forest, options: Options | None = None
    ) -> None:
        options = options or Options()
        if not 0 <= rank < ranks:
            raise WrongUseError(f"there is no rank {rank} among {ranks}")
        native_forest = _prepared(forest, ranks).forest
        self.rank = rank
        self.ranks = ranks
        meeting: Meeting = meet(rank, ranks, store, native_forest, options)
        self._native = core.Engine(
            rank,
            ranks,
            meeting.mesh,
            native_forest,
            meeting.names,
            options.chunk_bytes or 0,
            options.deterministic,
            options.silence_timeout_s,
            options.stall_timeout_s,
            options.send_buffer_bytes or 0,
            options.pinned_cores(meeting.workers),
        )
        self._balancing: Balancing | None = None
        if meeting.has_faces and meeting.workers > 1:
            self._balancing = Balancing(
                self._native,
                meeting.workers,
                self.statistics,
                lambda costs: self.allreduce(costs, "max"),
            )

    def allreduce(self, array: Any, op: str = "sum", dtype: str | None = None) -> Work:
        """Begin to reduce `array` over all ranks, in place; every rank gets the same bytes.

        Args:
            array: a writable, contiguous buffer on the CPU, such as a numpy array, with the same
                length, type and operation on every rank. It must not be touched before the work
                has ended, in failure too.
            op: `sum`, `mean`, `min`, `max`, and for whole numbers `and`. Sums of whole numbers
                wrap around, their mean is cut towards zero. 16-bit floats are summed as 32-bit
                floats at each rank on the way and rounded there.
            dtype: `float32`, `float64`, `float16`, `bfloat16`, `int32`, `int64`; None for that of
                the array. Say `bfloat16` for an array of `uint16`.

        Raises:
            WrongUseError: an array or operation that cannot be.
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        try:
            work = self._native.post_lent(array, _DTYPES[dtype] if dtype else None, _OPS[op])
        except KeyError:
            work = None
        except core.EngineFailedError as error:
            raise _translated(error) from None
        if work is None:
            work = self._post(array, op, dtype)
        return Work(work, self)

    def _post(self, array: Any, op: str, dtype: str | None) -> core.Work:
        """Post an array that lends no plain memory, or say what is wrong with it."""
        items, native_dtype = _shape_of(array, dtype)
        if op not in _OPS:
            raise WrongUseError(f"no operation is called {op}", f"there are {', '.join(_OPS)}")
        if op == "and" and native_dtype not in (core.DType.int32, core.DType.int64):
            raise WrongUseError("the operation 'and' is for whole numbers")
        try:
            return self._native.post(array, items, native_dtype, _OPS[op])
        except core.EngineFailedError as error:
            raise _translated(error) from None
        except TypeError:
            raise WrongUseError(
                "the array is not a writable, contiguous buffer of the CPU"
            ) from None

    @property
    def next_collective(self) -> int:
        """The number that the next all-reduce will have: 0 for the first."""
        return self._native.posted

    def prepare(self, forest: Forest) -> Prepared:
        """Check a plan, in any thread, before it is installed: of 1,000 ranks that takes a while.

        Raises:
            WrongUseError: the forest does not fit these ranks.
        """
        return _prepared(forest, self.ranks)

    def install(self, forest: Forest | Prepared, at_collective: int) -> None:
        """Use another plan from collective `at_collective` on. Every rank must do the same before
        it begins that collective. No connection is made for it: all ranks are connected.

        Raises:
            WrongUseError: that collective has begun, or the forest does not fit these ranks.
            EngineError: the engine has failed.
        """
        prepared = forest if isinstance(forest, Prepared) else self.prepare(forest)
        try:
            self._native.install(prepared.forest, at_collective)
        except core.EngineFailedError as error:
            raise _translated(error) from None
        except ValueError as error:
            raise WrongUseError(f"the plan cannot be installed: {error}") from None

    def statistics(self) -> Statistics:
        """Bytes per peer, and the kernel's figures per connection; empty after `close`."""
        native = self._native
        return statistics_of(native.posted, native.figures(), native.worker_figures())

    def balance(self) -> None:
        """Let the workers' shares of buffers follow what their interfaces carry. Where every rank
        has one address, nothing happens.

        All ranks call it at the same place among their collectives, now and then, such as after
        every 100 MB. It begins a tiny all-reduce, and takes what the one before it has found.

        Raises:
            EngineError: the engine has failed.
        """
        if self._balancing is not None:
            self._balancing.balance()

    @property
    def can_balance_at_once(self) -> bool:
        """Whether `balance` would not wait for other ranks."""
        return self._balancing is None or self._balancing.is_ready

    def check(self) -> None:
        """Raise what the engine has failed with, if it has.

        Raises:
            EngineError: it names the culprit.
        """
        try:
            self._native.check()
        except core.EngineFailedError as error:
            raise _translated(error) from None

    def close(self) -> None:
        """End everything. What is pending fails, here and on the ranks that wait for this one."""
        if self._balancing is not None:
            self._balancing.settle()
        self._native.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _prepared(forest: Forest, ranks: int) -> Prepared:
    prepared = Prepared(native(forest))
    if forest.ranks != ranks:
        raise WrongUseError(f"the plan is for {forest.ranks} ranks, there are {ranks}")
    return prepared


def _shape_of(array: Any, dtype: str | None) -> tuple[int, core.DType]:
    """Items and type of a buffer."""
    if not hasattr(array, "dtype") or not hasattr(array, "nbytes"):
        array = np.asarray(array)
    name = dtype or str(array.dtype).removeprefix("torch.")
    if name not in _DTYPES:
        raise WrongUseError(f"no all-reduce of {name}", f"there are {', '.join(_DTYPES)}")
    size_bytes, rest = divmod(array.nbytes, core.DTYPE_BYTES[name])
    if rest:
        raise WrongUseError(f"{array.nbytes} bytes are no whole number of {name}")
    return size_bytes, _DTYPES[name]


def _translated(error: core.EngineFailedError) -> EngineError:
    message, rank = error.args
    return EngineError(message, rank)
