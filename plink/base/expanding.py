"""Decompression of untrusted zlib data up to a size limit."""

from __future__ import annotations

import zlib


def expand(content: bytes, most_bytes: int) -> bytes:
    """Decompress zlib data to at most `most_bytes` bytes, or raise ValueError."""
    expander = zlib.decompressobj()
    try:
        plain = expander.decompress(content, most_bytes + 1)
    except zlib.error as error:
        raise ValueError(f"zlib data are damaged: {error}") from None
    if len(plain) > most_bytes:
        raise ValueError(f"zlib data expand to more than {most_bytes:,} bytes")
    if not expander.eof or expander.unused_data:
        raise ValueError("zlib data are truncated, or followed by other data")
    return plain
