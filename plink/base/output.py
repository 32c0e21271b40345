"""Standard output, which can be full, closed, or of an encoding without `µ` and bars."""

from __future__ import annotations

import codecs
import errno
import sys
from io import TextIOWrapper
from typing import TextIO

from plink.base.errors import PlinkError

# What writing to standard output can fail with. A reader that has left is another matter.
OUTPUT_ERRORS = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})


_ERRORS = "plink.nearest"
# One character for one, or tables would lose their columns.
_NEAREST = str.maketrans("µ–→·×…█▓▒░▁▂▃▄▅▆▇", "u->:x~#+-..,-=+*%")


def write_output(content: bytes | memoryview) -> None:
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


def tolerate(stream: TextIO) -> None:
    """Let `stream` take any text: its encoding gets the nearest character, never an error."""
    if isinstance(stream, TextIOWrapper):
        codecs.register_error(_ERRORS, _nearest)
        stream.reconfigure(errors=_ERRORS)


def _nearest(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_NEAREST)
    return "".join(letter if letter.isascii() else "?" for letter in text), error.end
