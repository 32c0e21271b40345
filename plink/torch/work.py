"""All-reduces under way, as PyTorch takes them, and the threads that serve them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from torch import Tensor
from torch.distributed import DistBackendError, Work
from torch.futures import Future

from plink.base.errors import PlinkError
from plink.engine import Work as EngineWork
from plink.torch.staging import Stage

NO_TIMEOUT = timedelta(0)


class SerialExecutor:
    """A thread that runs tasks one after the other; it starts with the first."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._waiting = 0

    def submit(self, task: Callable[[], None]) -> None:
        """Run this after all that was submitted before. It must not raise."""
        with self._lock:
            self._waiting += 1
            if self._thread is None:
                # A daemon: a process that fails must not wait for the network at its end.
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        self._queue.put(task)

    @property
    def is_idle(self) -> bool:
        """Whether all that was submitted is done."""
        with self._lock:
            return self._waiting == 0

    def end(self) -> None:
        """Return when all that was submitted is done."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while task := self._queue.get():
            task()
            # What it refers to must not live until the next one comes.
            del task
            with self._lock:
                self._waiting -= 1


class Reduction(Work):
    """One all-reduce of a group.

    Args:
        tensors: the user's, kept until the end.
        stage: their buffer.
        notifier: tells the future.
        timeout: of `wait`, where the caller gives none.
    """

    def __init__(
        self,
        tensors: Sequence[Tensor],
        stage: Stage,
        notifier: SerialExecutor,
        timeout: timedelta = NO_TIMEOUT,
    ) -> None:
        super().__init__()
        self._tensors = list(tensors)
        self._stage = stage
        self._notifier = notifier
        self._timeout = timeout
        self._posted = threading.Event()
        self._engine_work: EngineWork | None = None
        self._error: str | None = None
        self._is_settled = False
        self._settling = threading.Lock()
        self._future: Future[Any] | None = None

    def post(self, begin: Callable[[Tensor], EngineWork | None]) -> None:
        """Hand the buffer to the engine, once it is ready. A failure is kept for `wait`."""
        try:
            self._stage.ready()
            self._engine_work = begin(self._stage.host)
        except (PlinkError, RuntimeError) as error:
            self._error = str(error)
        self._posted.set()

    def wait(self, timeout: timedelta = NO_TIMEOUT) -> bool:
        """Return when the tensors hold the result.

        Raises:
            DistBackendError: it failed, with the name of the rank whose fault it is; or it has not
                ended within the timeout.
        """
        timeout = timeout if timeout > NO_TIMEOUT else self._timeout
        self._settle(timeout.total_seconds() if timeout > NO_TIMEOUT else None)
        if self._error is not None:
            raise DistBackendError(f"plink: {self._error}")
        self._stage.join()
        return True

    def is_completed(self) -> bool:
        """Whether it has ended, well or not."""
        if self._is_settled:
            return True
        if not self._posted.is_set():
            return False
        return self._engine_work is None or self._engine_work.done()

    def is_success(self) -> bool:
        """Whether it has ended well."""
        if not self.is_completed():
            return False
        self._settle(None)
        return self._error is None

    def exception(self) -> DistBackendError | None:
        """What it failed with."""
        if self.is_success() or self._error is None:
            return None
        return DistBackendError(f"plink: {self._error}")

    def result(self) -> list[Tensor]:
        """The tensors, after `wait`."""
        return self._tensors

    def synchronize(self) -> None:
        """As `wait`."""
        self.wait()

    def get_future(self) -> Future[Any]:
        """A future of the list of tensors."""
        if self._future is None:
            ended: Future[Any] = Future(devices=list(self._stage.devices))
            # Only what a callback raises is an error for callers that wait in C++.
            self._future = ended.then(self._outcome)
            self._notifier.submit(lambda: self._tell(ended))
        return self._future

    def _tell(self, ended: Future[Any]) -> None:
        self._settle(None)
        with self._stage.arrival():
            ended.set_result(self._tensors)

    def _outcome(self, _: Future[Any]) -> list[Tensor]:
        if self._error is not None:
            raise DistBackendError(f"plink: {self._error}")
        return self._tensors

    def _settle(self, timeout_s: float | None) -> None:
        """Await the end, and bring the result home, once."""
        if self._is_settled:
            return
        if not self._posted.wait(timeout_s):
            raise DistBackendError(f"plink: the all-reduce has not begun within {timeout_s:g} s")
        if self._engine_work is not None:
            try:
                self._engine_work.wait(timeout_s)
            except TimeoutError as error:
                raise DistBackendError(f"plink: {error}") from None
            except PlinkError as error:
                self._error = str(error)
        with self._settling:
            if not self._is_settled:
                if self._error is None:
                    self._stage.finish()
                self._is_settled = True
