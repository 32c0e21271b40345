"""Peer table: the messages of a collective by round, with their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ranks = npt.NDArray[np.intp]
Bytes = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Round:
    """Messages that are in flight at the same time.

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
    """Messages of a collective for a given number of ranks and bytes.

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
        """Return total bytes from each rank (row) to each other (column), (N, N)."""
        total = np.zeros((self.ranks, self.ranks))
        for step in self.rounds:
            np.add.at(total, (step.sources, step.destinations), step.sizes_bytes)
        return total
