"""Opening of files, pipes and terminals that a user names; folders are refused."""

from __future__ import annotations

import errno
import io
import os
import select
import stat
from typing import BinaryIO

# How long a pipe may stay without anybody who writes to it. Process substitution, `<(...)`, and
# /dev/stdin have somebody from the start.
WRITER_WAIT_S = 5.0
_PIECE_BYTES = 1 << 16


def open_input(path: str, most_bytes: int) -> BinaryIO:
    """Open a file, a pipe or a terminal for reading; OSError if a device or above `most_bytes`.

    Args:
        path: what the user names.
        most_bytes: a pipe is read to its end here, or until it has given more than that.

    Raises:
        OSError: it cannot be opened, is a device or larger than `most_bytes`, or nobody writes to
            the pipe. The reason is in `strerror`.
    """
    try:
        # Without O_NONBLOCK, to open a pipe would take until somebody writes to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error)) from None
    try:
        found = os.fstat(descriptor)
        if stat.S_ISFIFO(found.st_mode):
            content = _read_pipe(descriptor, most_bytes)
            os.close(descriptor)
            return io.BytesIO(content)
        if stat.S_ISDIR(found.st_mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(found.st_mode) and not os.isatty(descriptor):
            raise OSError(errno.ENODEV, "is a device, expected a file, a pipe or a terminal")
        if found.st_size > most_bytes:
            raise OSError(errno.EFBIG, f"holds more than {most_bytes >> 20} MiB, the limit")
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _read_pipe(descriptor: int, most_bytes: int) -> bytes:
    """Return a pipe's bytes up to its end or just above `most_bytes`; OSError if nobody writes."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    # An event is data, or a writer that has left.
    is_used = bool(poller.poll(WRITER_WAIT_S * 1e3))
    try:
        first = os.read(descriptor, _PIECE_BYTES)
        is_used = is_used or bool(first)
    except BlockingIOError:
        # Somebody has it open to write, and takes the time that it takes.
        first, is_used = b"", True
    if not is_used:
        raise OSError(
            errno.ETIMEDOUT, f"is a pipe to which no process wrote for {WRITER_WAIT_S:g} s"
        )
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "rb", closefd=False) as stream:
        return first + stream.read(max(0, most_bytes + 1 - len(first)))
