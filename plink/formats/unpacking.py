"""Read a file or standard input, decompressed within limits, and tell the binary form from text.

A packed file of a few hundred KB can hold gigabytes. Measurements pack to a third of their size,
those of a few pairs of many hosts to a hundredth or two; what is packed far better than that is
refused as soon as it shows, and can still be unpacked by who trusts it.
"""

from __future__ import annotations

import gzip
import io
import mmap
import os
import sys
import zlib
from typing import BinaryIO

from plink.base.errors import WrongUseError
from plink.base.opening import open_input

MOST_BYTES = 1 << 30
_MOST_TIMES = 256
_BYTES_OF_ANY_ARCHIVE = 16 << 20
_PIECE_BYTES = 1 << 20
_MAGIC = b"\x1f\x8b"

# The binary form (`plink.formats.archive`), which is recognised without NumPy.
EXTENSION = ".npz"
MAGIC = b"PK\x03\x04"
Content = bytes | mmap.mmap


def is_binary(content: Content) -> bool:
    """Return whether a file's content is in the binary form, a `.npz` archive."""
    return content[: len(MAGIC)] == MAGIC


def read_file(path: str, most_bytes: int = MOST_BYTES) -> bytes:
    """Return a file's content, decompressed if its name ends in `.gz`, or raise WrongUseError.

    Raises:
        WrongUseError: the file is not there, not readable, too large, packed too well, or a
            damaged archive.
    """
    try:
        with open_input(path, most_bytes) as stream:
            if path.endswith(".gz"):
                packed_bytes = stream.seek(0, os.SEEK_END)
                stream.seek(0)
                return _unpack_gzip(stream, packed_bytes, path, most_bytes)
            return _check_size(stream.read(most_bytes + 1), path, most_bytes)
    except OSError as error:
        why_not_read = error.strerror or error
        raise WrongUseError(f"{path or repr(path)}: {why_not_read}") from None


def read_standard_input(source: str, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of standard input, decompressed if it is gzip, or raise WrongUseError.

    Raises:
        WrongUseError: closed, not readable, too large, packed too well, or a damaged archive.
    """
    if sys.stdin is None:
        raise WrongUseError(
            f"{source}: is closed, so that nothing can be read", "name a file in place of -"
        )
    try:
        content = _check_size(sys.stdin.buffer.read(most_bytes + 1), source, most_bytes)
    except OSError as error:
        why_not_read = error.strerror or error
        raise WrongUseError(f"{source}: {why_not_read}") from None
    if not content.startswith(_MAGIC):
        return content
    return _unpack_gzip(io.BytesIO(content), len(content), source, most_bytes)


def _unpack_gzip(packed: BinaryIO, packed_bytes: int, source: str, most_bytes: int) -> bytes:
    pieces: list[bytes] = []
    size_bytes = 0
    try:
        with gzip.open(packed) as stream:
            while piece := stream.read(_PIECE_BYTES):
                pieces.append(piece)
                size_bytes += len(piece)
                if size_bytes > most_bytes:
                    raise WrongUseError(f"{source}: unpacks to more than {most_bytes >> 20} MiB")
                if size_bytes > max(_BYTES_OF_ANY_ARCHIVE, _MOST_TIMES * packed_bytes):
                    raise WrongUseError(
                        f"{source}: decompresses to more than {_MOST_TIMES} times its size",
                        "if you trust the file, decompress it with gunzip first",
                    )
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise WrongUseError(f"{source}: is no complete gzip file ({error})") from None
    return b"".join(pieces)


def _check_size(content: bytes, source: str, most_bytes: int) -> bytes:
    if len(content) > most_bytes:
        raise WrongUseError(f"{source}: holds more than {most_bytes >> 20} MiB, the limit")
    return content
