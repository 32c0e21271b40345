"""When collectives began and ended, step by step, as ranks have timed them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from plink.training.overlap.profile import Floats


@dataclass(frozen=True)
class Timings:
    """S steps of C collectives each, which were the same in every step.

    Args:
        sizes_bytes: (C,) in the order in which they were posted.
        begun_s: (S, C) when each was posted and fewer than the most were in flight; of any clock.
        ended_s: (S, C) of the same clock.

    Raises:
        ValueError: shapes do not fit each other.
    """

    sizes_bytes: Floats
    begun_s: Floats
    ended_s: Floats

    def __post_init__(self) -> None:
        if self.begun_s.ndim != 2 or self.begun_s.shape != self.ended_s.shape:
            raise ValueError("timings have a beginning and an end of each collective in each step")
        if self.begun_s.shape[1:] != self.sizes_bytes.shape:
            raise ValueError("timings have a size of each collective")

    def __len__(self) -> int:
        """Return how many collectives were timed."""
        return self.begun_s.size

    @property
    def durations_s(self) -> Floats:
        """(S, C)."""
        return self.ended_s - self.begun_s

    @property
    def others(self) -> Floats:
        """(S, C) how many were in flight when each began."""
        counts = np.zeros(self.begun_s.shape)
        for place in range(1, self.sizes_bytes.size):
            before_s = self.ended_s[:, :place]
            counts[:, place] = (before_s > self.begun_s[:, place, None]).sum(axis=1)
        return counts

    def shortened_to(self, durations_s: Floats) -> Timings:
        """The same ends, with these durations: the least over ranks.

        A rank that waits for others in a collective has begun it too early. The last rank has not
        waited, so that the collective itself took what it took there.

        Args:
            durations_s: (S, C) the minimum over ranks.
        """
        return Timings(self.sizes_bytes, self.ended_s - durations_s, self.ended_s)


def begun_in_order(
    posted_s: Sequence[float], ended_s: Sequence[float], in_flight: int
) -> list[float]:
    """Return when each collective could begin: posted, and fewer than so many in flight.

    Args:
        posted_s: of one step's, in order.
        ended_s: of the same.
        in_flight: collectives at most.
    """
    begun_s: list[float] = []
    ends: list[float] = []
    for posted, ended in zip(posted_s, ended_s, strict=True):
        free_s = heappop(ends) if len(ends) == in_flight else posted
        begun_s.append(min(max(posted, free_s), ended))
        heappush(ends, ended)
    return begun_s
