"""The engines of several ranks in one process, each served by a thread of its own."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from plink.base.replacing import replace
from plink.engine import DirectoryStore, Engine, Forest, Options

T = TypeVar("T")

QUICK = Options(
    addresses=("127.0.0.1",), setup_timeout_s=20.0, silence_timeout_s=20.0, stall_timeout_s=60.0
)


class Group:
    def __init__(self, engines: list[Engine], threads: ThreadPoolExecutor) -> None:
        self.engines = engines
        self._threads = threads

    def on_all(self, action: Callable[[Engine], T]) -> list[T]:
        """What `action` returns on each rank, all at the same time."""
        return list(self._threads.map(action, self.engines))


@contextlib.contextmanager
def group(
    forest: Forest, options: Options = QUICK, tcp_ranks: Collection[int] = (), **changes: object
) -> Iterator[Group]:
    """The engines, connected. Those of `tcp_ranks` share no memory with the others."""
    options = replace(options, **changes)  # type: ignore[arg-type]
    ranks = forest.ranks
    with (
        tempfile.TemporaryDirectory(prefix="plink-meeting-") as folder,
        ThreadPoolExecutor(ranks) as threads,
    ):
        store = DirectoryStore(folder)

        def engine(rank: int) -> Engine:
            shares = options.shared_memory and rank not in tcp_ranks
            return Engine(rank, ranks, store, forest, replace(options, shared_memory=shares))

        engines = list(threads.map(engine, range(ranks)))
        try:
            yield Group(engines, threads)
        finally:
            list(threads.map(Engine.close, engines))
