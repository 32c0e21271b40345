"""Atomic writes: a temporary file beside the target, then rename."""

from __future__ import annotations

import errno
import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# How long a pipe may stay without anybody who reads it.
READER_WAIT_S = 5.0
_POLL_S = 0.05

WriteTo = Callable[[IO[bytes]], object]


def write_atomically(path: Path, write_to: WriteTo, *, is_packed: bool) -> None:
    """Call `write_to` with a temporary file that replaces `path` once it is complete.

    Args:
        path: path of the file. A link keeps pointing where it did; what it points to is replaced.
        write_to: given the stream to write to.
        is_packed: by gzip.

    Raises:
        OSError: it cannot be written; what stood there before stands there still.
    """
    target, is_made = _resolve_target(path)
    try:
        if target.exists() and not target.is_file():
            with _open_special(target) as stream:
                _write(stream, write_to, is_packed=is_packed)
        else:
            _replace(target, write_to, is_packed=is_packed)
    except BaseException:
        if is_made:
            target.unlink(missing_ok=True)
        raise


def _resolve_target(path: Path) -> tuple[Path, bool]:
    """Return the file that a symbolic link leads to, and whether that was created just now.

    The kernel follows links, because it refuses those that another user has put into a folder
    such as /tmp (`fs.protected_symlinks`).
    """
    if not path.is_symlink():
        return path, False
    is_made = False
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        is_made = True
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink(), is_made
    finally:
        os.close(descriptor)


def _open_special(path: Path) -> IO[bytes]:
    """Open a pipe or device for writing; raise OSError if a pipe gets no reader in seconds."""
    deadline_s = time.monotonic() + READER_WAIT_S
    while True:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        except OSError as error:
            if error.errno != errno.ENXIO or not path.is_fifo():
                raise
            if time.monotonic() > deadline_s:
                reason = f"is a pipe that no process read for {READER_WAIT_S:g} s"
                raise OSError(errno.ETIMEDOUT, reason) from None
            time.sleep(_POLL_S)
            continue
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "wb")


def _write(stream: IO[bytes], write_to: WriteTo, *, is_packed: bool) -> None:
    if not is_packed:
        write_to(stream)
        return
    with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
        write_to(cast("IO[bytes]", packed))


def _replace(target: Path, write_to: WriteTo, *, is_packed: bool) -> None:
    # Named before it exists, so that an interrupt at any moment knows what to remove.
    beside = target.parent / f".plink-{os.urandom(8).hex()}"
    try:
        with os.fdopen(os.open(beside, _NEW_FILE, 0o600), "wb") as stream:
            _write(stream, write_to, is_packed=is_packed)
            stream.flush()
            # Without it, a crash after the rename may leave an empty file under the new name.
            os.fsync(stream.fileno())
        beside.chmod(_mode_for(target))
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _mode_for(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
