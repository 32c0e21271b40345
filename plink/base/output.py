"""Standard streams that survive a full disk, a closed pipe and encodings without `µ`.

What cannot be written to standard output is an error, for that is a result. Standard error is
talk: what it does not take is lost, and no result with it.
"""

from __future__ import annotations

import codecs
import errno
import os
import sys
from io import BufferedIOBase, TextIOWrapper
from typing import TYPE_CHECKING, TextIO

from plink.base.errors import PlinkError

if TYPE_CHECKING:
    from typing_extensions import Buffer

# What writing to standard output can fail with. A reader that has left is another matter.
OUTPUT_ERRORS = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})


_ERRORS = "plink.nearest"
# One character for one, or tables would lose their columns.
_NEAREST = str.maketrans("µ–→·×…█▓▒░▁▂▃▄▅▆▇", "u->:x~#+-..,-=+*%")


def write_output(content: bytes | memoryview) -> None:
    """Write all of `content` to standard output, and flush it.

    Raises:
        PlinkError: it is closed.
        OSError: it takes no more (`output_error`).
    """
    check_output()
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def check_output() -> None:
    """Raise PlinkError if the caller has closed standard output."""
    if sys.stdout is None:
        raise PlinkError("standard output: is closed, so that no result can be written")


def output_error(error: OSError) -> PlinkError:
    """Return the error for a failed write to standard output."""
    return PlinkError(f"standard output: cannot be written: {error.strerror or error}")


def fill_closed_descriptors() -> None:
    """Open the null device in place of standard streams that the caller has closed.

    The next file to be opened would get the number of one of them, and with it what native code
    and other programs print there.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def make_forgiving(stream: TextIO | None) -> TextIO:
    """Return a stream that writes to `stream`'s file and ignores failures; for None, to nowhere.

    Any text is taken (`tolerate`), and what cannot be written is lost.
    """
    if stream is None:
        found: TextIO = TextIOWrapper(_Forgiving(None), write_through=True)
    elif isinstance(stream, TextIOWrapper):
        stream.flush()
        found = TextIOWrapper(
            _Forgiving(stream.fileno()), encoding=stream.encoding, write_through=True
        )
    else:
        return stream
    tolerate(found)
    return found


class _Forgiving(BufferedIOBase):
    """Raw byte stream that ignores failed writes; a descriptor of None discards everything."""

    name = "<stderr>"

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        if self._descriptor is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._descriptor

    def isatty(self) -> bool:
        return self._descriptor is not None and os.isatty(self._descriptor)

    def write(self, content: Buffer) -> int:
        rest = memoryview(content).cast("B")
        size_bytes = len(rest)
        while self._descriptor is not None and rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except OSError:
                break
        return size_bytes


def tolerate(stream: TextIO) -> None:
    """Let `stream` accept any text by replacing characters that its encoding lacks."""
    if isinstance(stream, TextIOWrapper):
        codecs.register_error(_ERRORS, _choose_replacement)
        stream.reconfigure(errors=_ERRORS)


def _choose_replacement(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_NEAREST)
    return "".join(letter if letter.isascii() else "?" for letter in text), error.end
