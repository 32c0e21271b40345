"""Engine of a rank, which runs its collectives and messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import plink.engine._native as core
from plink.base.errors import WrongUseError
from plink.engine._native import Letters, Work
from plink.engine.balancing import Balancing
from plink.engine.calls import DTYPES, OPS, native_op, shape_of, whole
from plink.engine.choice import Choice, Given
from plink.engine.collectives import Collectives
from plink.engine.failure import EngineError
from plink.engine.forest import Prepared, prepare_forest
from plink.engine.meeting import Meeting, meet
from plink.engine.messages import Messages
from plink.engine.options import Options
from plink.engine.statistics import Statistics, statistics_of
from plink.engine.store import Store
from plink.plans.forest import Forest


class Engine(Collectives, Messages):
    """Engine of a rank, connected with those of all other ranks for as long as it is open.

    All ranks call the same collectives in the same order. They go on without the caller; at most
    `Options.in_flight` are under way, the others wait in order. No array of a collective may be
    touched before its work has ended, in failure too.

    Args:
        rank: of this process, 0 to `ranks` - 1.
        ranks: how many there are.
        store: where they meet.
        forest: along which is aggregated, the same on every rank; or how they choose one.
        options: how.
        watch: called now and then until all are connected; what it raises ends that.

    Raises:
        WrongUseError: the forest does not fit these ranks, or an option cannot be.
        EngineError: the ranks could not be connected; it names whose fault that is.
    """

    def __init__(
        self,
        rank: int,
        ranks: int,
        store: Store,
        forest: Forest | Choice,
        options: Options | None = None,
        *,
        watch: Callable[[], None] | None = None,
    ) -> None:
        options = options or Options()
        if not 0 <= rank < ranks:
            raise WrongUseError(f"there is no rank {rank} among {ranks}")
        choice = Given(prepare_forest(forest, ranks)) if isinstance(forest, Forest) else forest
        self.rank = rank
        self.ranks = ranks
        meeting: Meeting = meet(rank, ranks, store, choice, options, watch=watch)
        spin_us = options.spin_time_us(meeting.names.count(meeting.names[rank]))
        self._native = core.Engine(
            rank,
            ranks,
            meeting.mesh,
            meeting.forest.forest,
            meeting.names,
            options.chunk_bytes or 0,
            options.deterministic,
            options.silence_timeout_s,
            options.stall_timeout_s,
            options.send_buffer_bytes or 0,
            spin_us,
            options.spin_us is None,
            options.pinned_cores(meeting.workers),
            options.in_flight,
            meeting.far_congestion_control or "",
            meeting.distant_congestion_control or "",
        )
        self._balancing: Balancing | None = None
        if meeting.has_faces and meeting.workers > 1:
            self._balancing = Balancing(
                self._native,
                meeting.workers,
                self.statistics,
                lambda costs: self.allreduce(costs, "max"),
            )

    def allreduce(
        self,
        array: Any,
        op: str = "sum",
        dtype: str | None = None,
        *,
        priority: int = 0,
        layout: int = 0,
    ) -> Work:
        """Begin to reduce `array` over all ranks, in place; every rank gets the same bytes.

        Args:
            array: a writable, contiguous buffer on the CPU, such as a numpy array, with the same
                length, type and operation on every rank.
            op: `sum`, `mean`, `min`, `max`, and for whole numbers `and`. Sums of whole numbers
                wrap around, their mean is cut towards zero. 16-bit floats are summed as 32-bit
                floats at each rank on the way and rounded there.
            dtype: `float32`, `float64`, `float16`, `bfloat16`, `int32`, `int64`; None for that of
                the array. Say `bfloat16` for an array of `uint16`.
            priority: the same on every rank; among collectives under way what has more goes first.
            layout: 64 bits that stand for whatever else ranks must call alike; where they differ,
                the collective fails on every rank.

        Raises:
            WrongUseError: an array or operation that cannot be.
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        try:
            work = self._native.post_lent(
                array, DTYPES[dtype] if dtype else None, OPS[op], priority, layout
            )
        except (KeyError, TypeError):
            work = None
        return self._post(array, op, dtype, priority, layout) if work is None else work

    def _post(self, array: Any, op: str, dtype: str | None, priority: int, layout: int) -> Work:
        """Post an array that the fast path does not take, or raise what is wrong with it."""
        items, native_dtype = shape_of(array, dtype)
        native = native_op(op)
        whole(priority, "a priority", -(2**31), 2**31 - 1)
        if native_dtype == core.DType.uint8:
            raise WrongUseError("no all-reduce of uint8", "bytes can be moved, not reduced")
        if op == "and" and native_dtype not in (core.DType.int32, core.DType.int64):
            raise WrongUseError("the operation 'and' is for whole numbers")
        try:
            return self._native.post(array, items, native_dtype, native, priority, layout)
        except TypeError:
            raise WrongUseError(
                "the array is not a writable, contiguous buffer of the CPU"
            ) from None

    @property
    def next_collective(self) -> int:
        """Number that the next collective will have, counting from 0."""
        return self._native.posted

    def prepare(self, forest: Forest) -> Prepared:
        """Check a plan and return it ready for `install`; call it in any thread.

        With 1,000 ranks that takes a while, which `install` then does not.

        Raises:
            WrongUseError: the forest does not fit these ranks.
        """
        return prepare_forest(forest, self.ranks)

    def install(self, forest: Forest | Prepared, at_collective: int) -> None:
        """Use another plan from collective `at_collective` on.

        Every rank must do the same before it begins that collective. No connection is made for it:
        all ranks are connected.

        Raises:
            WrongUseError: that collective has begun, or the forest does not fit these ranks.
            EngineError: the engine has failed.
        """
        prepared = forest if isinstance(forest, Prepared) else self.prepare(forest)
        try:
            self._native.install(prepared.forest, at_collective)
        except ValueError as error:
            raise WrongUseError(f"the plan cannot be installed: {error}") from None

    def tell(self, words: str) -> None:
        """Send a text to all ranks beside the collectives; `hear` returns it there, and here.

        Args:
            words: printable ASCII, at most 60,000 characters.
        """
        self._native.tell(words)

    def hear(self, timeout_s: float) -> tuple[int, str | None]:
        """Return the next text and its sender, as sent by `tell`; each rank's texts come in order.

        The message is None where a rank has closed its engine, after all that it told.

        Raises:
            TimeoutError: nobody told anything in time.
            EngineError: the engine has failed, or is closed.
        """
        heard = self._native.hear(timeout_s)
        if heard is None:
            self.check()
            raise TimeoutError(f"no rank told anything within {timeout_s:g} s")
        return heard

    def post_letter(self, rank: int, letter: bytes) -> None:
        """Send bytes to another rank on a connection that carries no collectives or messages.

        It does not wait; letters to one rank arrive in their order, in its `letters`.

        Raises:
            WrongUseError: there is no such other rank.
        """
        if not 0 <= rank < self.ranks or rank == self.rank:
            raise WrongUseError(f"rank {self.rank} of {self.ranks} sends rank {rank} no letter")
        self._native.post_letter(rank, letter)

    def letters(self, timeout_s: float) -> list[tuple[int, bytes | None]]:
        """Return letters sent by `post_letter`, with their senders; None for one that has closed.
        Empty where nothing came in time, or `wake_letters` was called.

        Raises:
            EngineError: the engine has failed, or is closed, and nothing is left to be read.
        """
        come = self._native.letters(timeout_s)
        if come is None:
            self.check()
            raise EngineError("the engine is closed")
        return come

    def wake_letters(self) -> None:
        """Make `letters` return at once, now or when it is next called."""
        self._native.wake_letters()

    @property
    def letter_box(self) -> Letters:
        """Mailbox for native code that posts and reads letters itself."""
        return self._native.letter_box

    def statistics(self) -> Statistics:
        """Return bytes per peer, and the kernel's figures per connection; empty after `close`."""
        native = self._native
        return statistics_of(native.posted, native.figures(), native.worker_figures())

    def balance(self) -> None:
        """Adapt the workers' shares of buffers to what their interfaces carry.

        Where every rank has one address, nothing happens.

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

    def drain(self, grace_s: float = 1.0) -> None:
        """Wait until nothing is pending, so that `close` ends no work that all ranks have joined.

        Args:
            grace_s: seconds without a byte of any collective or message after which the rest is
                given up, since some rank has not joined it.
        """
        self._native.drain(grace_s)

    def close(self) -> None:
        """Close the engine; what is pending fails, here and on the ranks that wait for this one."""
        if self._balancing is not None:
            self._balancing.settle()
        self._native.close()
