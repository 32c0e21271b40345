"""Standard output as a file that can fail: full disks, closed descriptors."""

from __future__ import annotations

import errno
import sys

from plink.base.errors import PlinkError

# What writing to standard output can fail with. A reader that has left is another matter.
OUTPUT_ERRORS = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})


def write_output(content: bytes) -> None:
    """Write to standard output, all of it.

    Raises:
        PlinkError: it is closed.
        OSError: it takes no more (`output_error`).
    """
    check_output()
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def check_output() -> None:
    """Refuse a standard output that the caller has closed.

    Raises:
        PlinkError: it is closed.
    """
    if sys.stdout is None:
        raise PlinkError("standard output: is closed")


def output_error(error: OSError) -> PlinkError:
    """The error that says why standard output took no more."""
    return PlinkError(f"standard output: cannot be written: {error.strerror or error}")
