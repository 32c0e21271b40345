"""Works of collectives and messages, with the interface of PyTorch's works."""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from torch import Tensor
from torch.distributed import DistBackendError, Work
from torch.futures import Future

from plink.base.errors import PlinkError
from plink.torch.executors import Notifier
from plink.torch.kinds import Kind
from plink.torch.pieces import PieceWork
from plink.torch.profiling import event
from plink.torch.typed import holding_tensors, is_asked_by_hook

NO_TIMEOUT = timedelta(0)


class Reduction(Work):
    """Work of a collective of a group, or of a message.

    Args:
        kind: which collective it is.
        tensors: the user's, kept until the end.
        stage: their buffer.
        notifier: awaits the end for the future, where nobody else does.
        timeout: of `wait`, where the caller gives none.
    """

    def __init__(
        self,
        kind: Kind,
        tensors: Sequence[Tensor],
        stage: Any,
        notifier: Notifier,
        timeout: timedelta = NO_TIMEOUT,
    ) -> None:
        super().__init__()
        self._tensors = list(tensors)
        self._stage = stage
        self._timeout = timeout
        # Of a message: what has not happened where it is not over in time.
        self.awaited = ""
        # Collectives end in turn; a message may wait while these go on.
        self._submit = notifier.submit if kind.is_ordered else notifier.submit_alone
        self._posted = threading.Event()
        self._engine_work: PieceWork | None = None
        self._error: str | None = None
        self._is_settled = False
        self._is_told = False
        self._settling = threading.Lock()
        self._ended: Future[Any] | None = None
        self._future: Future[Any] | None = None
        self._kind = kind
        self._event = event(kind)
        if self._event is not None:
            self._submit(self._settle_in_time, self._event.end)

    def post(self, begin: Callable[..., PieceWork | None]) -> None:
        """Hand the buffer to the engine, once it is ready; `wait` raises a failure."""
        try:
            self._engine_work = self._stage.begin(begin)
        except (PlinkError, RuntimeError) as error:
            self._error = str(error)
        self._posted.set()

    def refuse(self, text: str) -> None:
        """Make the work fail before it begins; `wait` raises `text`."""
        self._error = text
        self._posted.set()

    def end(self) -> None:
        """Wait until the work has ended, with or without success."""
        self._settle(None)

    def wait(self, timeout: timedelta = NO_TIMEOUT) -> bool:
        """Wait until the tensors hold the result.

        Raises:
            DistBackendError: it failed, with the name of the rank whose fault it is; or it has not
                ended within the timeout.
        """
        timeout = timeout if timeout > NO_TIMEOUT else self._timeout
        self._settle(timeout.total_seconds() if timeout > NO_TIMEOUT else None)
        if self._event is not None:
            self._event.wait()
        self._tell()
        if self._error is not None:
            raise DistBackendError(f"plink: {self._error}")
        self._stage.join()
        return True

    def is_completed(self) -> bool:
        """Return whether the work has ended, with or without success."""
        if self._is_settled:
            return True
        if not self._posted.is_set():
            return False
        return self._engine_work is None or self._engine_work.done()

    def is_success(self) -> bool:
        """Return whether the work has ended with success."""
        if not self.is_completed():
            return False
        self._settle(None)
        return self._error is None

    def exception(self) -> DistBackendError | None:
        """Return the error with which the work failed, or None."""
        if self.is_success() or self._error is None:
            return None
        return DistBackendError(f"plink: {self._error}")

    def result(self) -> list[Tensor]:
        """Return the tensors, which hold the result after `wait`."""
        return self._tensors

    def _source_rank(self) -> int:
        """Return the rank whose message was received, after `wait`; -1 if there is none."""
        peer = getattr(self._engine_work, "peer", None)
        return -1 if peer is None else int(peer)

    def times_s(self) -> tuple[float, float] | None:
        """Return when the engine got the work and when it ended there, in s (`time.monotonic`).

        None before its end, and where no engine had to do with it.
        """
        posted_s = getattr(self._engine_work, "posted_s", None)
        ended_s = getattr(self._engine_work, "ended_s", None)
        return None if posted_s is None or ended_s is None else (posted_s, ended_s)

    def synchronize(self) -> None:
        """Wait as `wait` does without an argument."""
        self.wait()

    def get_future(self) -> Future[Any]:
        """Return a future of the list of tensors, complete once a `wait` has returned.

        Its callbacks run in the thread that waits, if they were there before, or in one of their
        own, where they may wait for other works. Those of PyTorch's hooks in C++ run in PyTorch's.
        """
        if self._future is None:
            ended: Future[Any] = Future(devices=list(self._stage.devices))
            # Only what a callback raises is an error for callers that wait in C++.
            self._future = ended.then(self._outcome)
            self._ended = ended
            if self._is_settled:
                self._tell()
            else:
                self._submit(self._settle_in_time, self._tell)
        is_here = not self._stage.devices
        if is_here and is_asked_by_hook(self._tensors, inspect.currentframe()):
            return holding_tensors(self._future, self._tensors)
        return self._future

    def _get_op_type(self) -> int:
        return self._kind.number

    def _tell(self) -> None:
        """Complete the future, if there is one; one thread does so and others wait for that."""
        ended, future = self._ended, self._future
        if ended is None or future is None:
            return
        with self._settling:
            is_first, self._is_told = not self._is_told, True
        if is_first:
            with self._stage.arrival():
                ended.set_result(self._tensors)
        else:
            with contextlib.suppress(RuntimeError):
                future.wait()

    def _outcome(self, _: Future[Any]) -> list[Tensor]:
        if self._error is not None:
            raise DistBackendError(f"plink: {self._error}")
        return self._tensors

    def _settle_in_time(self) -> None:
        """Wait for the end on the future's behalf; a message that is late has failed."""
        if not self.awaited:
            self._settle(None)
            return
        try:
            self._settle(self._timeout.total_seconds() if self._timeout > NO_TIMEOUT else None)
        except DistBackendError as error:
            with self._settling:
                if not self._is_settled:
                    self._error = str(error).removeprefix("plink: ")
                    self._is_settled = True

    def _settle(self, timeout_s: float | None) -> None:
        """Wait for the end, and finish the stage once."""
        if self._is_settled:
            return
        if not self._posted.wait(timeout_s):
            what = self.awaited or "the collective has not begun"
            raise DistBackendError(f"plink: {what} within {timeout_s:g} s")
        if self._engine_work is not None:
            try:
                self._engine_work.wait(timeout_s)
            except TimeoutError as error:
                text = f"{self.awaited} within {timeout_s:g} s" if self.awaited else str(error)
                raise DistBackendError(f"plink: {text}") from None
            except (PlinkError, RuntimeError) as error:
                self._error = str(error)
        with self._settling:
            if not self._is_settled:
                if self._error is None:
                    self._stage.finish()
                self._is_settled = True
