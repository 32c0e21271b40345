"""Threads of a group that run tasks in order and await works."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable


class SerialExecutor:
    """Thread that runs tasks one after the other; it starts with `start` or the first task."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._waiting = 0

    def start(self) -> None:
        """Start the thread, unless it runs.

        Raises:
            RuntimeError: the interpreter is ending: Python 3.12 and later start no thread then.
        """
        with self._lock:
            if self._thread is None:
                # A daemon: a process that fails must not wait for the network at its end.
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                thread.start()
                self._thread = thread

    def submit(self, task: Callable[[], None]) -> None:
        """Queue a task, which runs after all submitted before and must not raise.

        Raises:
            RuntimeError: it is the first task, and the interpreter is ending.
        """
        self.start()
        with self._lock:
            self._waiting += 1
        self._queue.put(task)

    @property
    def is_idle(self) -> bool:
        """Whether all submitted tasks are done."""
        with self._lock:
            return self._waiting == 0

    def end(self) -> None:
        """Wait until all submitted tasks are done, then end the thread."""
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


class Notifier:
    """Threads that await works in order, and call back without delaying later works.

    Who is told may wait for a later work himself, such as a callback that begins another all-reduce
    and awaits it: there are as many threads as are told at a time.
    """

    def __init__(self) -> None:
        self._awaiting = SerialExecutor("plink-notifier")
        self._untold: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._idle = 0

    def start(self) -> None:
        """Start the thread that awaits works, and one that calls back, unless they run.

        Raises:
            RuntimeError: the interpreter is ending.
        """
        self._awaiting.start()
        with self._lock:
            if not self._threads and self._start_thread():
                self._idle += 1

    def submit(self, await_end: Callable[[], None], tell: Callable[[], None]) -> None:
        """Queue `await_end`, which runs after those before, and then `tell`; neither may raise."""

        def run() -> None:
            await_end()
            self._tell(tell)

        self._awaiting.submit(run)

    def submit_alone(self, await_end: Callable[[], None], tell: Callable[[], None]) -> None:
        """Run `await_end`, then `tell`, in a new thread, for late ends; neither may raise."""

        def run() -> None:
            await_end()
            tell()

        # A daemon: what nobody sends is awaited until the process ends.
        threading.Thread(target=run, name="plink-message", daemon=True).start()

    def end(self) -> None:
        """Wait until all that `submit` was given has run, but for a callback of this thread."""
        self._awaiting.end()
        with self._lock:
            others = self._threads - {threading.current_thread()}
            for _ in self._threads:
                self._untold.put(None)
        for thread in others:
            thread.join()

    def _tell(self, tell: Callable[[], None]) -> None:
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
                has_thread = True
            else:
                has_thread = self._start_thread()
        if has_thread:
            self._untold.put(tell)
        else:
            tell()

    def _start_thread(self) -> bool:
        """Start another thread; return False where the interpreter is ending and starts none."""
        # A daemon: a process that fails must not wait at its end.
        thread = threading.Thread(target=self._run, name="plink-callbacks", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return False
        self._threads.add(thread)
        return True

    def _run(self) -> None:
        while tell := self._untold.get():
            tell()
            # What it refers to must not live until the next one comes.
            del tell
            with self._lock:
                self._idle += 1
        with self._lock:
            self._threads.discard(threading.current_thread())
