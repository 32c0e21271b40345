"""Recognition of the binary form of a file, by name and first bytes (`plink.formats.archive`).

Apart from what reads and writes it, so that a command line is understood without NumPy.
"""

from __future__ import annotations

import mmap

EXTENSION = ".npz"
MAGIC = b"PK\x03\x04"
Content = bytes | mmap.mmap


def is_binary(content: Content) -> bool:
    """Return whether a file's content is in the binary form, a `.npz` archive."""
    return content[: len(MAGIC)] == MAGIC
