"""Which rank of a plan file each rank of a job is, and forests over the ones or the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.formats.plan import PlanRank
from plink.plans.forest import OTHER_NUMBER, Forest


def rename_ranks(forest: Forest, new_rank: Sequence[int]) -> Forest:
    """Return the same forest with other numbers for its ranks.

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
    """Rank of the plan for each rank of the job.

    Args:
        planned_rank: (P,) by rank of the job.
    """

    planned_rank: Sequence[int]

    @property
    def ranks(self) -> int:
        """How many there are."""
        return len(self.planned_rank)

    def to_job(self, forest: Forest) -> Forest:
        """Return a forest over the plan's ranks as one over the job's."""
        return rename_ranks(forest, self.planned_rank)

    def to_plan(self, forest: Forest) -> Forest:
        """Return a forest over the job's ranks as one over the plan's."""
        return rename_ranks(forest, np.argsort(self.planned_rank).tolist())


@dataclass(frozen=True)
class Place:
    """Host on which a rank of a job runs.

    Args:
        name: of the host, as it calls itself.
        addresses: of the host, all of them.
    """

    name: str
    addresses: Sequence[str]


def match(planned: Sequence[PlanRank], places: Sequence[Place]) -> list[int]:
    """(P,) the plan's rank for each rank of the job: on the same host, both in ascending order.

    A host is known by its name, or else by its address.

    Raises:
        WrongUseError: the plan is for other ranks.
    """
    if len(planned) != len(places):
        raise WrongUseError(f"is for {len(planned)} ranks, there are {len(places)}", OTHER_NUMBER)
    free, by_address = _hosts(planned)
    slots = {host: len(indices) for host, indices in free.items()}
    found = []
    for rank, place in enumerate(places):
        host = _host_of(place, slots.keys(), by_address)
        if host is None:
            raise WrongUseError(f"has no host {place.name}, on which rank {rank} runs")
        if not free[host]:
            raise WrongUseError(f"has {slots[host]} ranks on {host}, where more than these run")
        found.append(free[host].pop(0))
    return found


def match_some(planned: Sequence[PlanRank], places: Sequence[Place]) -> list[int | None]:
    """Match as `match`, with None for a rank of the job that the plan does not have."""
    free, by_address = _hosts(planned)
    found = []
    for place in places:
        of_host = free.get(_host_of(place, free.keys(), by_address) or "", [])
        found.append(of_host.pop(0) if of_host else None)
    return found


def _hosts(planned: Sequence[PlanRank]) -> tuple[dict[str, list[int]], dict[str, str]]:
    """Return the ranks of each host, and the host of each address."""
    ranks: dict[str, list[int]] = {}
    for index, one in enumerate(planned):
        ranks.setdefault(one.host, []).append(index)
    return ranks, {one.address: one.host for one in planned}


def _host_of(place: Place, hosts: object, by_address: dict[str, str]) -> str | None:
    names = (place.name, place.name.partition(".")[0])
    by_name = next((name for name in names if name in hosts), None)  # type: ignore[operator]
    return by_name or next((by_address[one] for one in place.addresses if one in by_address), None)
