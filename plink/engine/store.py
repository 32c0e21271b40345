"""Key-value store where ranks meet before they are connected."""

from __future__ import annotations

import datetime
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from plink.base.errors import WrongUseError

_POLL_S = 0.002
_LONGEST_POLL_S = 0.05
# PyTorch logs a warning for each wait in its store that ends without a value.
_SHORTEST_WAIT_S = 1.0
_HINT = "name a directory that is not there yet: it is made for its user alone"


class Store(Protocol):
    """Key-value store through which ranks exchange their addresses."""

    def set(self, key: str, value: bytes) -> None:
        """Set a key's value, for all ranks."""

    def get(self, key: str, timeout_s: float) -> bytes:
        """Return a key's value as soon as a rank has set it.

        Raises:
            TimeoutError: none did in time.
        """


class SharedStore(Store, Protocol):
    """Store in which the first value claimed for a key counts, so that ranks can agree."""

    def claim(self, key: str, value: bytes) -> bytes:
        """Set a key unless it has a value; return the value that it has, the same for all."""


@runtime_checkable
class BatchStore(Store, Protocol):
    """Store that returns the values of many keys at once, not in a round trip each."""

    def get_many(self, keys: Sequence[str], timeout_s: float) -> list[bytes]:
        """Return the values of several keys as soon as ranks have set all of them.

        Raises:
            TimeoutError: they did not in time.
        """


def get_all(store: Store, keys: Sequence[str], deadline: float) -> list[bytes | None]:
    """Return the values of keys; None for one that is not set by `deadline` (`time.monotonic`)."""
    if isinstance(store, BatchStore):
        try:
            return list(store.get_many(keys, max(0.0, deadline - time.monotonic())))
        except TimeoutError:
            pass
    values: list[bytes | None] = []
    for key in keys:
        try:
            values.append(store.get(key, max(0.0, deadline - time.monotonic())))
        except TimeoutError:
            values.append(None)
    return values


def peek(store: Store, key: str) -> bytes | None:
    """Return a key's value, or None if it is not set."""
    try:
        return store.get(key, 0.0)
    except TimeoutError:
        return None


class DirectoryStore:
    """Store in a directory that all ranks see, on a shared file system or on one host.

    It holds the job's secret, so it is the user's alone: a new directory has mode 0700, files have
    0600, whatever the umask.

    Args:
        directory: made if it does not exist. A new one for every job: what an earlier job left in
            it would be taken for this one's.

    Raises:
        WrongUseError: it belongs to another user, or others may write to it.
        OSError: it cannot be made or opened.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = Path(directory)
        self._directory.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            self._directory.mkdir(mode=0o700)
            # A umask can take away rights of the owner, too.
            self._directory.chmod(0o700)
        with self._open_directory():
            pass

    def set(self, key: str, value: bytes) -> None:
        """Set a key by writing a file and renaming it: a reader sees all of it or nothing.

        Raises:
            WrongUseError: others may write to the directory by now.
        """
        with self._write_part(key, value) as (folder, part):
            os.rename(part, _file_name(key), src_dir_fd=folder, dst_dir_fd=folder)

    def claim(self, key: str, value: bytes) -> bytes:
        """Set a key unless it has a value, by linking a file; return the value that it has.

        Raises:
            WrongUseError: others may write to the directory by now.
        """
        with self._write_part(key, value) as (folder, part), suppress(FileExistsError):
            os.link(part, _file_name(key), src_dir_fd=folder, dst_dir_fd=folder)
        return self.get(key, 0.0)

    def get(self, key: str, timeout_s: float) -> bytes:
        """Return the value of a key as soon as its file is there.

        Raises:
            TimeoutError: nobody wrote it in time.
            WrongUseError: others may write to the directory by now.
        """
        deadline = time.monotonic() + timeout_s
        pause_s = _POLL_S
        while True:
            with self._open_directory() as folder, suppress(FileNotFoundError):
                descriptor = os.open(_file_name(key), os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
                with os.fdopen(descriptor, "rb") as stream:
                    return stream.read()
            if time.monotonic() >= deadline:
                raise TimeoutError(f"nobody wrote {self._directory / _file_name(key)}")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_POLL_S)

    @contextmanager
    def _write_part(self, key: str, value: bytes) -> Iterator[tuple[int, str]]:
        """Write a temporary file; yield its directory's descriptor and its name, then delete it."""
        part = f".{_file_name(key)}.{os.getpid()}.{time.monotonic_ns()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with self._open_directory() as folder:
            try:
                with os.fdopen(os.open(part, flags, 0o600, dir_fd=folder), "wb") as stream:
                    os.fchmod(stream.fileno(), 0o600)
                    stream.write(value)
                yield folder, part
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(part, dir_fd=folder)

    @contextmanager
    def _open_directory(self) -> Iterator[int]:
        """Open the directory, check that no other user owns or may write it, yield its descriptor.

        What is checked is used, whatever the path comes to mean.
        """
        descriptor = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            if found.st_uid != os.geteuid():
                raise WrongUseError(
                    f"{self._directory} belongs to another user, who could read the job's secret",
                    _HINT,
                )
            if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise WrongUseError(
                    f"others may write to {self._directory}, which is to hold the job's secret",
                    _HINT,
                )
            yield descriptor
        finally:
            os.close(descriptor)


def _file_name(key: str) -> str:
    return key.replace("/", ".")


class C10dStore:
    """Store of PyTorch's, such as `torch.distributed.TCPStore`; torch is not imported here.

    Args:
        store: what has the methods `set`, `wait`, `get`, `check` and `compare_set` of
            `torch.distributed.Store`; `multi_get`, where it has that.
    """

    def __init__(self, store: Any) -> None:
        self._store = store

    def set(self, key: str, value: bytes) -> None:
        """Set a key in PyTorch's store."""
        self._store.set(key, value)

    def get(self, key: str, timeout_s: float) -> bytes:
        """Return a key's value once it is set; poll the store if `timeout_s` is below a second."""
        if timeout_s < _SHORTEST_WAIT_S:
            return self._poll(key, timeout_s)
        try:
            self._store.wait([key], datetime.timedelta(seconds=timeout_s))
        except RuntimeError as error:
            # DistStoreError, which does not say whether it timed out.
            raise TimeoutError(f"nobody set {key}: {error}") from None
        return self._read(key)

    def get_many(self, keys: Sequence[str], timeout_s: float) -> list[bytes]:
        """Return the values of several keys, in two round trips if PyTorch's store can do that."""
        if timeout_s < _SHORTEST_WAIT_S or not self._has_batches():
            deadline = time.monotonic() + timeout_s
            return [self.get(key, max(0.0, deadline - time.monotonic())) for key in keys]
        try:
            self._store.wait(list(keys), datetime.timedelta(seconds=timeout_s))
        except RuntimeError as error:
            raise TimeoutError(f"nobody set one of {len(keys)} keys: {error}") from None
        return [bytes(value) for value in self._store.multi_get(list(keys))]

    def _read(self, key: str) -> bytes:
        """Return the value of a key that is set, without PyTorch's further wait if possible."""
        value = self._store.multi_get([key])[0] if self._has_batches() else self._store.get(key)
        return bytes(value)

    def _has_batches(self) -> bool:
        return hasattr(self._store, "multi_get") and self._store.has_extended_api()

    def claim(self, key: str, value: bytes) -> bytes:
        """Set a key unless it has a value, by `compare_set`; `value` is text in UTF-8."""
        return bytes(self._store.compare_set(key, "", value.decode()))

    def _poll(self, key: str, timeout_s: float) -> bytes:
        deadline = time.monotonic() + timeout_s
        pause_s = _POLL_S
        while not self._store.check([key]):
            if time.monotonic() >= deadline:
                raise TimeoutError(f"nobody set {key}")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_POLL_S)
        return self._read(key)
