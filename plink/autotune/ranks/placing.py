"""Between a job's ranks and those of the plan file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.plans.forest import Forest


def renamed(forest: Forest, new_rank: Sequence[int]) -> Forest:
    """The same forest with other numbers for its ranks.

    Args:
        forest: over P ranks.
        new_rank: (P,) by rank of the result the rank of `forest`.
    """
    ahead = np.asarray(new_rank, dtype=np.int32)
    back = np.empty_like(ahead)
    back[ahead] = np.arange(len(ahead), dtype=np.int32)

    def moved(parents: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        of_job = parents[:, ahead]
        return np.where(of_job < 0, np.int32(-1), back[of_job])

    return Forest(forest.weights, moved(forest.reduce_parents), moved(forest.broadcast_parents))


@dataclass(frozen=True)
class Placing:
    """Which rank of the plan each rank of the job is.

    Args:
        planned_rank: (P,) by rank of the job.
    """

    planned_rank: Sequence[int]

    @property
    def ranks(self) -> int:
        """How many there are."""
        return len(self.planned_rank)

    def to_job(self, forest: Forest) -> Forest:
        """A forest over the plan's ranks as one over the job's."""
        return renamed(forest, self.planned_rank)

    def to_plan(self, forest: Forest) -> Forest:
        """A forest over the job's ranks as one over the plan's."""
        return renamed(forest, np.argsort(self.planned_rank).tolist())
