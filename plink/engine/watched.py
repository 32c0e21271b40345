"""Store in which no rank waits for a member that has ended."""

from __future__ import annotations

import time
from collections.abc import Callable

from plink.engine.store import Store

_SLICE_S = 0.05


class WatchedStore:
    """Part of a store in which one engine's ranks meet; a check can end their waits.

    Args:
        store: the whole.
        prefix: of the part's keys.
        check: called now and then by those that wait; what it raises ends the wait.
    """

    def __init__(self, store: Store, prefix: str, check: Callable[[], None]) -> None:
        self._store = store
        self._prefix = prefix
        self._check = check

    def set(self, key: str, value: bytes) -> None:
        """Set a key in this part of the store."""
        self._store.set(f"{self._prefix}/{key}", value)

    def get(self, key: str, timeout_s: float) -> bytes:
        """Return a key's value once it is set, or raise what `check` raises."""
        deadline = time.monotonic() + timeout_s
        while True:
            left_s = deadline - time.monotonic()
            try:
                return self._store.get(f"{self._prefix}/{key}", min(left_s, _SLICE_S))
            except TimeoutError:
                if left_s <= _SLICE_S:
                    raise
                self._check()
