"""Which chunks are sent, and how long others have been waiting."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from plink.training.sparse.chunks import Chosen

Norms = npt.NDArray[np.float64]
"""(C,): of each chunk, summed over all ranks."""


def largest(norms: Norms, count: int) -> Chosen:
    """Return (C,): the `count` chunks with the largest norms; of equal ones those that come first.

    Equal norms give equal choices, so ranks that sum their norms choose alike.

    Raises:
        ValueError: a norm is not finite.
    """
    if not np.isfinite(norms).all():
        raise ValueError("chunks are chosen by norms that are finite")
    chosen = np.zeros(len(norms), dtype=np.bool_)
    chosen[np.argsort(-norms, kind="stable")[:count]] = True
    return chosen


def next_ages(ages: npt.NDArray[np.int64], sent: Chosen) -> npt.NDArray[np.int64]:
    """(C,): for how many steps each chunk has not been sent, after a step that sent these."""
    return np.where(sent, 0, ages + 1)


def measure(norms: Any, first: int, values: Any, size: int) -> None:
    """Write the L1 norms of neighbouring chunks.

    Args:
        norms: (C,): where they are written, from chunk `first` on; numpy's or PyTorch's.
        first: the chunk with which `values` begin.
        values: flat, of whole chunks; the last of all may be shorter.
        size: of a chunk.
    """
    whole = len(values) // size
    norms[first : first + whole] = abs(values[: whole * size]).reshape(whole, size).sum(1)
    if len(values) > whole * size:
        norms[first + whole] = abs(values[whole * size :]).sum()
