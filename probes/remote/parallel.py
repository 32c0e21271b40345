"""Concurrent calls for many items, which an interrupt can abandon."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from plink.probes.errors import HostError

Item = TypeVar("Item")
Result = TypeVar("Result")


def each(
    work: Callable[[Item], Result], items: Sequence[Item], concurrency: int
) -> Iterator[tuple[Item, Result | HostError]]:
    """Yield `work(item)` or its HostError for every item as they end, `concurrency` at once.

    The threads are daemons, which `concurrent.futures` has not: the interpreter would wait for
    those that hang. Leaving the iteration early starts nothing more.

    Raises:
        Exception: whatever `work` raises but a HostError.
    """
    todo: queue.SimpleQueue[Item] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[Item, Result | BaseException]] = queue.SimpleQueue()
    left = threading.Event()
    for item in items:
        todo.put(item)

    def serve() -> None:
        while not left.is_set():
            try:
                item = todo.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((item, work(item)))
            except BaseException as error:
                done.put((item, error))

    try:
        for _ in range(min(max(1, concurrency), len(items))):
            threading.Thread(target=serve, daemon=True).start()
        for _ in items:
            item, outcome = done.get()
            if isinstance(outcome, BaseException) and not isinstance(outcome, HostError):
                raise outcome
            yield item, outcome
    finally:
        left.set()
