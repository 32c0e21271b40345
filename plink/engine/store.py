"""Where ranks meet before they are connected: a key-value store that all of them reach."""

from __future__ import annotations

import datetime
import os
import time
from pathlib import Path
from typing import Any, Protocol

_POLL_S = 0.002
_LONGEST_POLL_S = 0.05


class Store(Protocol):
    """A tiny key-value interface."""

    def set(self, key: str, value: bytes) -> None:
        """Make `value` known to all ranks."""

    def get(self, key: str, timeout_s: float) -> bytes:
        """The value, as soon as a rank has set it.

        Raises:
            TimeoutError: none did in time.
        """


class DirectoryStore:
    """A directory that all ranks see: on a shared file system, or of one host.

    Args:
        directory: made if it does not exist. A new one for every job: what an earlier job left in
            it would be taken for this one's.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = Path(directory)
        self._directory.mkdir(parents=True, exist_ok=True)

    def _file(self, key: str) -> Path:
        return self._directory / key.replace("/", ".")

    def set(self, key: str, value: bytes) -> None:
        """Write beside, then rename: a reader sees all or nothing."""
        file = self._file(key)
        part = file.with_name(f".{file.name}.{os.getpid()}.{time.monotonic_ns()}")
        part.write_bytes(value)
        part.replace(file)

    def get(self, key: str, timeout_s: float) -> bytes:
        """The file's content, once it is there."""
        deadline = time.monotonic() + timeout_s
        pause_s = _POLL_S
        while True:
            try:
                return self._file(key).read_bytes()
            except FileNotFoundError:
                if time.monotonic() >= deadline:
                    raise TimeoutError(f"nobody wrote {self._file(key)}") from None
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_POLL_S)


class C10dStore:
    """A store of PyTorch's, such as `torch.distributed.TCPStore`; torch is not imported here.

    Args:
        store: what has the methods `set`, `wait` and `get` of `torch.distributed.Store`.
    """

    def __init__(self, store: Any) -> None:
        self._store = store

    def set(self, key: str, value: bytes) -> None:
        """As PyTorch's does."""
        self._store.set(key, value)

    def get(self, key: str, timeout_s: float) -> bytes:
        """Waits in the store, as PyTorch's does."""
        try:
            self._store.wait([key], datetime.timedelta(seconds=timeout_s))
        except RuntimeError as error:
            # DistStoreError, which does not say whether it timed out.
            raise TimeoutError(f"nobody set {key}: {error}") from None
        return bytes(self._store.get(key))
