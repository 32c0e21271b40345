"""Files that are written whole or not at all: beside the target, then renamed."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

WriteTo = Callable[[IO[bytes]], object]


def write_whole(path: Path, write_to: WriteTo, *, is_packed: bool) -> None:
    """Let `write_to` write a file, which replaces the one at `path` when it is complete.

    Args:
        path: of the file. A link keeps pointing where it did; what it points to is replaced.
        write_to: given the stream to write to.
        is_packed: by gzip.

    Raises:
        OSError: it cannot be written; what stood there before stands there still.
        RuntimeError: a loop of links, before Python 3.13.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        with target.open("wb") as stream:
            _write(stream, write_to, is_packed=is_packed)
    else:
        _replace(target, write_to, is_packed=is_packed)


def _write(stream: IO[bytes], write_to: WriteTo, *, is_packed: bool) -> None:
    if not is_packed:
        write_to(stream)
        return
    with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
        write_to(cast("IO[bytes]", packed))


def _replace(target: Path, write_to: WriteTo, *, is_packed: bool) -> None:
    import tempfile  # noqa: PLC0415  many commands read only

    descriptor, beside = tempfile.mkstemp(prefix=".plink-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            _write(stream, write_to, is_packed=is_packed)
            stream.flush()
            # Without it, a crash after the rename may leave an empty file under the new name.
            os.fsync(stream.fileno())
        Path(beside).chmod(_mode_for(target))
        Path(beside).replace(target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _mode_for(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
