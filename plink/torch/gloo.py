"""Gloo's backend of a group, made when something first needs it."""

from __future__ import annotations

import _thread
import contextlib
import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from torch.distributed import DistBackendError, ProcessGroupGloo
from torch.distributed.distributed_c10d import Store

from plink.base.errors import PlinkError
from plink.engine import Engine, EngineError

# Nobody may need Gloo for as long as the group lives.
_FOR_EVER_S = 1e6
# Gloo learns late that a rank is lost. The end of a group waits so long for a connection to end.
_ENDING_S = 5.0
# A rank tells of its failure so soon after others feel it.
_CAUSE_S = 1.0
_MOST_REASON_BYTES = 500
# The key under which a rank tells whether it is connected to all others.
_ANSWER = "plink/answer"

Make = Callable[[Store, timedelta], ProcessGroupGloo]


class LateGloo:
    """Gloo's backend, made on first need: one rank tells the others and all connect.

    Every rank must take part when Gloo's ranks connect, even if a single one needs Gloo while the
    others compute. So each has a thread that listens to the others, and starts another one that
    connects.

    No rank has Gloo before all are connected: a rank that ended its group as soon as it was
    connected itself would be waited for in vain by those that are not.

    Args:
        make: connects the ranks of Gloo, which meet in that store.
        engine: over the same ranks; None where there is one rank.
        store: for Gloo's ranks to meet in without an engine.
        timeout: of the set-up and of Gloo's collectives.
    """

    def __init__(self, make: Make, engine: Engine | None, store: Store, timeout: timedelta) -> None:
        self._make = make
        # Kept here, for Gloo does not keep what is written in Python.
        self._words = None if engine is None else WordsStore(engine, timeout)
        self._store = store
        self._engine = engine
        self._timeout = timeout
        self._lock = threading.Lock()
        self._is_asked = False
        self._is_over = threading.Event()
        # Kept if another rank is not connected, too: its end would end other ranks' connecting.
        self._made: ProcessGroupGloo | None = None
        self._failure: Exception | None = None
        self._has_ended = False
        self._has_listened, self._has_connected = threading.Event(), threading.Event()
        self._has_connected.set()
        if self._words is None:
            self._has_listened.set()
        else:
            # `threading.Thread` would wait until it runs, which takes milliseconds where many
            # ranks set up on few cores.
            _thread.start_new_thread(self._listen, (self._words,))

    @property
    def timeout(self) -> timedelta:
        """Timeout of Gloo's collectives, and of messages."""
        return self._timeout

    @property
    def is_made(self) -> bool:
        """Whether Gloo's ranks are all connected, and the group has not ended."""
        is_connected = self._is_over.is_set() and self._failure is None and self._made is not None
        return is_connected and not self._has_ended

    @property
    def is_connecting(self) -> bool:
        """Whether Gloo's ranks are connecting to each other now."""
        return self._is_asked and not self._is_over.is_set()

    def backend(self) -> ProcessGroupGloo:
        """Return Gloo's backend, and make it first where no rank has needed it yet.

        Raises:
            DistBackendError: the ranks cannot be connected; the rank at fault is named.
            RuntimeError: the group has ended.
        """
        if not self._is_over.is_set():
            if self._engine is None:
                with self._lock:
                    if not self._is_over.is_set():
                        self._connect_alone()
            else:
                self._engine.tell("{}")
                self._is_over.wait()
        if self._has_ended:
            raise RuntimeError("the group has ended")
        failure = self._failure
        if failure is None and self._made is not None:
            return self._made
        hint = f" ({failure.hint})" if isinstance(failure, PlinkError) and failure.hint else ""
        raise DistBackendError(f"plink: Gloo cannot be set up: {failure}{hint}")

    def set_timeout(self, timeout: timedelta) -> None:
        """Set the timeout of messages, and of Gloo's collectives if its group is not made yet."""
        self._timeout = timeout

    def begin_end(self) -> None:
        """Refuse further callers, as the group ends; to be called before the engine ends."""
        self._has_ended = True

    def end(self) -> None:
        """Wake callers and wait for this group's threads; to be called after the engine's end."""
        self._is_over.set()
        self._has_listened.wait()
        self._has_connected.wait(_ENDING_S)

    def _listen(self, words: WordsStore) -> None:
        """Process texts from ranks until all are connected, or one cannot be."""
        try:
            while not words.are_all_connected:
                if words.hear() and not self._is_asked:
                    self._start_connecting(words)
            self._is_over.set()
        except Exception as error:
            self._fail(error, words)
            words.ignore()
        self._has_listened.set()

    def _start_connecting(self, words: WordsStore) -> None:
        self._has_connected.clear()
        self._is_asked = True
        try:
            _thread.start_new_thread(self._connect, (words,))
        except RuntimeError as error:
            self._has_connected.set()
            words.refuse(str(error))
            raise

    def _connect(self, words: WordsStore) -> None:
        try:
            self._made = self._make(words, self._timeout)
            words.tell_connected()
            if not self._is_over.wait(self._timeout.total_seconds()):
                raise words.build_silence_error()
        except Exception as error:
            if not isinstance(error, EngineError):
                # Another rank may have caused it, and tells of it.
                self._is_over.wait(_CAUSE_S)
            if self._failure is None:
                words.refuse(str(error) or type(error).__name__)
                self._fail(error, words)
        self._has_connected.set()

    def _connect_alone(self) -> None:
        try:
            self._made = self._make(self._store, self._timeout)
        except (RuntimeError, ValueError) as error:
            self._failure = error
        self._is_over.set()

    def _fail(self, error: Exception, words: WordsStore) -> None:
        # Its traceback would keep what it refers to.
        self._failure = self._failure or error.with_traceback(None)
        words.fail(self._failure)
        self._is_over.set()


class WordsStore(Store):
    """Store for a set-up in which every rank sets its keys before it reads the others'.

    Gloo's does, and reads one key a rank, one after the other, each in two round trips to PyTorch's
    store: the square of the ranks in all. Here every rank tells all others once, over connections
    that the engine has. At the end each tells whether it is connected.

    One thread hears what ranks tell; others may read and set keys meanwhile.

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
        self._unconnected = set(range(engine.ranks))
        self._failure: Exception | None = None
        self._heard = threading.Condition()

    @property
    def are_all_connected(self) -> bool:
        """Whether all ranks have told that they are connected."""
        return not self._unconnected

    def set(self, key: str, value: Any) -> None:
        """Set a key, which the other ranks are told before this rank next reads one."""
        self._untold[key] = bytes(value).hex()

    def get(self, key: str) -> bytes:
        """Return the value of a key that another rank sets before it first reads one.

        Raises:
            EngineError: a rank was lost, is not connected or tells nothing; it is named.
        """
        if self._untold:
            self._engine.tell(json.dumps(self._untold))
            self._untold = {}
        with self._heard:
            self._heard.wait_for(
                lambda: key in self._told or self._failure is not None, self._timeout_s
            )
            if self._failure is not None:
                raise self._failure
            if key in self._told:
                return self._told[key]
        raise self.build_silence_error()

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:  # noqa: ARG002
        """Wait until all keys are set; this store's timeout counts, not `timeout`."""
        for key in keys:
            self.get(key)

    def tell_connected(self) -> None:
        """Tell all ranks that this one is connected to each of them."""
        self._engine.tell(json.dumps({_ANSWER: ""}))

    def refuse(self, reason: str) -> None:
        """Tell all ranks that this rank will not be connected, and why.

        Args:
            reason: in words; what is beyond 500 bytes is left out.
        """
        told = reason.encode(errors="replace")[:_MOST_REASON_BYTES]
        self._engine.tell(json.dumps({_ANSWER: told.hex()}))

    def hear(self) -> bool:
        """Process the next text of a rank and return whether one came, which may take days.

        Raises:
            EngineError: a rank was lost, is not connected or tells something else; it is named.
        """
        try:
            rank, words = self._engine.hear(_FOR_EVER_S)
        except TimeoutError:
            return False
        if words is None:
            if rank in self._unconnected:
                raise EngineError(f"rank {rank} is not connected: its group has ended", rank)
            return False
        try:
            told = {str(key): bytes.fromhex(value) for key, value in json.loads(words).items()}
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise EngineError(f"rank {rank} told what cannot be understood", rank) from None
        reason = told.pop(_ANSWER, None)
        with self._heard:
            if told:
                self._silent.discard(rank)
                self._told.update(told)
                self._heard.notify_all()
        if reason:
            text = reason.decode(errors="replace")
            raise EngineError(f"rank {rank} is not connected: {text}", rank)
        if reason is not None:
            self._unconnected.discard(rank)
        return True

    def ignore(self) -> None:
        """Read and discard the texts of ranks until the engine ends."""
        with contextlib.suppress(PlinkError):
            while True:
                with contextlib.suppress(TimeoutError):
                    self._engine.hear(_FOR_EVER_S)

    def fail(self, error: Exception) -> None:
        """Make all waits for a key raise an error."""
        with self._heard:
            self._failure = error
            self._heard.notify_all()

    def build_silence_error(self) -> EngineError:
        """Return the error that names a rank without its keys, or without a connection."""
        rank = min(self._silent or self._unconnected, default=self._engine.rank)
        return EngineError(f"rank {rank} did not take part within {self._timeout_s:g} s", rank)
