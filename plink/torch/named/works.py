"""Works of collectives that the negotiation releases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Protocol

from torch import Tensor
from torch.distributed import DistBackendError

from plink.torch.staging import Stage
from plink.torch.work import NO_TIMEOUT, Reduction

# So long a thread waits before its rank looks whether it waits in vain.
_PATIENCE_S = 0.2


class Watch(Protocol):
    """Observer that is told which collective the program is blocked on."""

    def awaited(self, name: str) -> None:
        """Record that a thread waits for a collective, longer than usual."""

    def waited(self, name: str) -> None:
        """Record that the program goes on after a collective."""


class NamedWork:
    """Work of an all-reduce by name: announced, and then released together with others.

    Args:
        name: of the all-reduce.
        tensors: the user's.
        timeout: of `wait`, where the caller gives none.
    """

    def __init__(self, name: str, tensors: Sequence[Tensor], timeout: timedelta) -> None:
        self.name = name
        self.tensors = list(tensors)
        self._timeout = timeout
        self._released = threading.Event()
        self._batch: Reduction | None = None
        self._error: str | None = None
        self._watch: Watch | None = None
        self.stage: Stage | None = None
        """Made by the thread that announces it: on an accelerator it knows that thread's stream."""

    def watch(self, watch: Watch) -> None:
        """Set the observer that is told when the program waits for this all-reduce."""
        self._watch = watch

    def release(self, batch: Reduction) -> None:
        """Attach the work to the batch that begins with it."""
        self._batch = batch
        self._released.set()

    def refuse(self, text: str) -> None:
        """Make the all-reduce fail before it begins; `wait` raises `text`."""
        self._error = text
        self._released.set()

    def wait(self, timeout: timedelta = NO_TIMEOUT) -> bool:
        """Wait until the tensors hold the result.

        Raises:
            DistBackendError: it failed, with the name of the rank whose fault it is; or it has not
                ended within the timeout.
        """
        timeout = timeout if timeout > NO_TIMEOUT else self._timeout
        timeout_s = timeout.total_seconds() if timeout > NO_TIMEOUT else None
        if self._watch is not None:
            patience_s = _PATIENCE_S if timeout_s is None else min(timeout_s, _PATIENCE_S)
            if not self._released.wait(patience_s):
                self._watch.awaited(self.name)
        if not self._released.wait(timeout_s):
            raise DistBackendError(
                f"plink: '{self.name}' was not announced by all ranks within {timeout_s:g} s"
            )
        if self._batch is None:
            raise DistBackendError(f"plink: {self._error}")
        is_over = self._batch.wait(timeout)
        if self._watch is not None:
            self._watch.waited(self.name)
        return is_over

    def is_completed(self) -> bool:
        """Return whether the all-reduce has ended, with or without success."""
        if not self._released.is_set():
            return False
        return self._batch is None or self._batch.is_completed()

    def is_success(self) -> bool:
        """Return whether the all-reduce has ended with success."""
        return self.is_completed() and self._batch is not None and self._batch.is_success()

    def exception(self) -> DistBackendError | None:
        """Return the error with which the all-reduce failed, or None."""
        if not self.is_completed():
            return None
        if self._batch is not None:
            return self._batch.exception()
        return DistBackendError(f"plink: {self._error}")

    def result(self) -> list[Tensor]:
        """Return the tensors, which hold the result after `wait`."""
        return self.tensors

    def synchronize(self) -> None:
        """Wait as `wait` does without an argument."""
        self.wait()


class GroupedWork(NamedWork):
    """Work of several all-reduces that begin together."""

    def __init__(self, name: str, tensors: Sequence[Tensor], timeout: timedelta) -> None:
        super().__init__(name, tensors, timeout)
        self.members = [NamedWork(name, [tensor], timeout) for tensor in tensors]

    def watch(self, watch: Watch) -> None:
        """Set the observer that is told when the program waits for one of the all-reduces."""
        super().watch(watch)
        for member in self.members:
            member.watch(watch)

    def release(self, batch: Reduction) -> None:
        """Attach all members to the batch that begins with them."""
        super().release(batch)
        for member in self.members:
            member.release(batch)

    def refuse(self, text: str) -> None:
        """Make all of the all-reduces fail before they begin."""
        super().refuse(text)
        for member in self.members:
            member.refuse(text)


class Begun:
    """Collective that the program did not name, which the group begins once released.

    Args:
        begin: hands it to the engine.
        work: what the caller waits for.
    """

    def __init__(self, begin: Callable[[], None], work: Reduction) -> None:
        self.begin = begin
        self.work = work

    def refuse(self, text: str) -> None:
        """Make the collective fail before it begins."""
        self.work.refuse(text)
