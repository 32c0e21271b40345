"""A peer table: the rounds of a collective, and who sends how many bytes to whom in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ranks = npt.NDArray[np.intp]
Bytes = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Round:
    """Messages that are under way at the same time.

    Args:
        sources: (F,) the sending ranks.
        destinations: (F,) the receiving ranks.
        sizes_bytes: (F,) what each sends.
    """

    sources: Ranks
    destinations: Ranks
    sizes_bytes: Bytes


@dataclass(frozen=True)
class PeerTable:
    """A collective of a number of ranks and bytes.

    Args:
        ranks: how many take part.
        rounds: one after the other, unless they are pipelined.
        is_pipelined: the buffer flows through in chunks, so that every round's flows are under way
            at the same time, at the pace of the slowest.
    """

    ranks: int
    rounds: Sequence[Round]
    is_pipelined: bool = False

    def bytes_between(self) -> npt.NDArray[np.float64]:
        """Return (N, N) bytes that each rank (row) sends to each other (column) in all rounds."""
        total = np.zeros((self.ranks, self.ranks))
        for step in self.rounds:
            np.add.at(total, (step.sources, step.destinations), step.sizes_bytes)
        return total
