"""Bytes that a step sends."""

from __future__ import annotations

# Norms travel as float32, whatever the gradients are.
NORM_BYTES = 4


def sent_bytes(items: int, item_bytes: int, chunks: int, ranks: int) -> float:
    """Return bytes that a rank sends in one step, on the average over ranks and without headers.

    An all-reduce of K bytes over N ranks sends 2 (N - 1) K / N of each (section 2.4.1); there are
    two: of the elements of the chunks that are sent, and of the norms of all chunks.

    Args:
        items: elements of the chunks that are sent.
        item_bytes: of one element.
        chunks: of the pool.
        ranks: N.
    """
    return 2 * (ranks - 1) / ranks * (items * item_bytes + chunks * NORM_BYTES)
