"""Folders that are there with all their files, or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def make_folder(target: Path, mode: int = 0o777) -> Iterator[Path]:
    """Make a folder beside the target that takes its place at the end, or is removed on an error.

    Args:
        target: path of the folder; an empty one may be there.
        mode: permissions, of which the umask is taken off.

    Raises:
        OSError: it cannot be made, or something else is there.
    """
    # Named before it exists, so that an interrupt at any moment knows what to remove.
    whole = target.resolve()
    beside = whole.parent / f".plink-{os.urandom(8).hex()}"
    try:
        beside.mkdir(mode)
        yield beside
        beside.replace(whole)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
