"""Reading of SSH files that a user names, which may be pipes."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_MOST_BYTES = 16 << 20


def read_file(path: str) -> bytes:
    """Return the content of a file, or of a pipe that somebody writes to.

    Nothing of the null device.

    Raises:
        OSError: it cannot be read, is neither, or is too large; the reason is in `strerror`.
        ValueError: no file has such a name.
    """
    # Without O_NONBLOCK, to open a pipe would take until somebody writes to it.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        mode = found.st_mode
        # What SSH's users name for no configuration (`-F /dev/null`) and no known hosts.
        if stat.S_ISCHR(mode) and found.st_rdev == Path(os.devnull).stat().st_rdev:
            return b""
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise OSError(errno.ENODEV, "neither a file nor a pipe")
        os.set_blocking(descriptor, True)
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise OSError(errno.EFBIG, f"larger than {_MOST_BYTES >> 20} MiB")
    if stat.S_ISFIFO(mode) and not content:
        raise OSError(errno.EPIPE, "a pipe to which no process writes")
    return content
