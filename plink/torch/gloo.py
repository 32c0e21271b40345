"""Gloo's backend of a group, made when something first needs it."""

from __future__ import annotations

import _thread
import json
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from torch.distributed import DistBackendError, ProcessGroupGloo
from torch.distributed.distributed_c10d import Store

from plink.base.errors import PlinkError
from plink.engine import Engine, EngineError

# Nobody may need Gloo for as long as the group lives.
_FOR_EVER_S = 1e6
# Gloo hears late of a lost rank: a group that ends waits so long for it, a caller looks so often.
_ENDING_S, _LOOK_S = 5.0, 0.1
_MOST_REASON_BYTES = 500

Make = Callable[[Store, timedelta], ProcessGroupGloo]


class LateGloo:
    """Makes Gloo's backend once a rank needs it: that rank tells the others, and all make it.

    Every rank must take part when Gloo's ranks connect, and what needs it may be a message between
    two of them, while the others compute. So each has a thread that waits for being told.

    Args:
        make: connects the ranks of Gloo, which meet in that store.
        engine: over the same ranks; None where there is one rank.
        store: for Gloo's ranks to meet in without an engine.
        timeout: of the set-up and of Gloo's collectives.
    """

    def __init__(self, make: Make, engine: Engine | None, store: Store, timeout: timedelta) -> None:
        self._make = make
        self._engine = engine
        # Kept here, for Gloo does not keep what is written in Python.
        self._store: Store = store if engine is None else WordsStore(engine, timeout)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._is_asked = False
        self._backend: ProcessGroupGloo | None = None
        self._failure: Exception | None = None
        self._has_ended = False
        self._has_served = threading.Event()
        if engine is None:
            self._has_served.set()
        else:
            # `threading.Thread` would wait until it runs, which takes milliseconds where many
            # ranks set up on few cores.
            _thread.start_new_thread(self._serve, ())

    @property
    def timeout(self) -> timedelta:
        """Timeout of Gloo's collectives, and of messages."""
        return self._timeout

    @property
    def is_made(self) -> bool:
        """Whether Gloo is connected."""
        return self._backend is not None

    @property
    def is_connecting(self) -> bool:
        """Whether ranks connect: one that ends now may leave others waiting for it."""
        return self._is_asked and not self._is_over.is_set()

    def backend(self) -> ProcessGroupGloo:
        """Gloo's backend, once all ranks are connected.

        Raises:
            DistBackendError: they cannot be; where a rank was lost, it is named.
            RuntimeError: the group has ended.
        """
        if self._engine is None:
            with self._lock:
                if not self._is_over.is_set():
                    self._connect()
        elif not self._is_over.is_set():
            self._engine.tell("{}")
            while not self._is_over.wait(_LOOK_S):
                self._look_for_lost_rank(self._engine)
        if self._backend is not None:
            return self._backend
        if self._has_ended:
            raise RuntimeError("the group has ended")
        failure = self._failure
        hint = f" ({failure.hint})" if isinstance(failure, PlinkError) and failure.hint else ""
        raise DistBackendError(f"plink: Gloo cannot be set up: {failure}{hint}")

    def set_timeout(self, timeout: timedelta) -> None:
        """Set the timeout of messages, and of Gloo's collectives if its group is not made yet."""
        self._timeout = timeout

    def end(self) -> None:
        """Wait for nothing any more; after the end of the engine."""
        self._has_ended = True
        self._is_over.set()
        self._has_served.wait(_ENDING_S)

    def _look_for_lost_rank(self, engine: Engine) -> None:
        try:
            engine.check()
        except PlinkError as error:
            self._failure = self._failure or error
            self._is_over.set()

    def _serve(self) -> None:
        try:
            if isinstance(self._store, WordsStore):
                self._store.hear(_FOR_EVER_S)
                self._is_asked = True
            self._connect()
        except (PlinkError, TimeoutError) as error:
            self._failure = error
            self._is_over.set()
        self._has_served.set()

    def _connect(self) -> None:
        try:
            self._backend = self._make_with_others()
        except (PlinkError, RuntimeError, ValueError) as error:
            self._failure = self._failure or error
        self._is_over.set()

    def _make_with_others(self) -> ProcessGroupGloo:
        if not isinstance(self._store, WordsStore):
            return self._make(self._store, self._timeout)
        try:
            backend = self._make(self._store, self._timeout)
        except (RuntimeError, ValueError) as error:
            self._store.refuse(str(error))
            raise
        # A rank that was connected, and left before another one knew, would be waited for in vain.
        self._store.meet()
        return backend


class WordsStore(Store):
    """Serves a set-up in which every rank sets its keys before it reads the others'.

    Gloo's does, and reads one key a rank, one after the other, each in two round trips to PyTorch's
    store: the square of the ranks in all. Here every rank tells all others once, over connections
    that the engine has.

    Args:
        engine: over the same ranks; nobody else listens to what they tell.
        timeout: for all of them to have told theirs.
    """

    def __init__(self, engine: Engine, timeout: timedelta) -> None:
        super().__init__()
        self._engine = engine
        self._timeout_s = timeout.total_seconds()
        self._untold: dict[str, str] = {}
        self._told: dict[str, bytes] = {}
        self._silent = set(range(engine.ranks))

    def set(self, key: str, value: Any) -> None:
        """Tell it before the next key is read."""
        self._untold[key] = bytes(value).hex()

    def get(self, key: str) -> bytes:
        """Return a key that another rank sets before it first reads.

        Raises:
            EngineError: a rank was lost, or tells nothing; it is named.
        """
        deadline = time.monotonic() + self._timeout_s
        if self._untold:
            self._engine.tell(json.dumps(self._untold))
            self._untold = {}
        while key not in self._told:
            try:
                self.hear(deadline - time.monotonic())
            except TimeoutError:
                silent = min(self._silent, default=self._engine.rank)
                raise EngineError(
                    f"rank {silent} did not take part within {self._timeout_s:g} s", silent
                ) from None
        return self._told[key]

    def meet(self) -> None:
        """Return when all ranks call this.

        Raises:
            EngineError: a rank was lost, refuses, or does not come; it is named.
        """
        ranks = range(self._engine.ranks)
        self._silent = {rank for rank in ranks if _meeting_key(rank) not in self._told}
        self.set(_meeting_key(self._engine.rank), b"")
        for rank in ranks:
            reason = self.get(_meeting_key(rank)).decode(errors="replace")
            if reason:
                raise EngineError(f"rank {rank} is not connected: {reason}", rank)

    def refuse(self, reason: str) -> None:
        """Tell the ranks that meet that this one does not come.

        Args:
            reason: in words; what is beyond some hundred characters is left out.
        """
        told = {_meeting_key(self._engine.rank): reason.encode()[:_MOST_REASON_BYTES].hex()}
        self._engine.tell(json.dumps(told))

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:  # noqa: ARG002
        """Return when all are there. The timeout of this store counts, not `timeout`."""
        for key in keys:
            self.get(key)

    def hear(self, timeout_s: float) -> None:
        """Take in what a rank tells next.

        Raises:
            TimeoutError: none does in time.
            EngineError: a rank was lost, or tells something else; it is named.
        """
        rank, words = self._engine.hear(max(0.0, timeout_s))
        try:
            told = {str(key): bytes.fromhex(value) for key, value in json.loads(words).items()}
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise EngineError(f"rank {rank} told what cannot be understood", rank) from None
        if told:
            self._silent.discard(rank)
        self._told.update(told)


def _meeting_key(rank: int) -> str:
    return f"plink/meet/{rank}"
