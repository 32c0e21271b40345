"""Latency cost of an algorithm: the sum of a ring's hops or of rounds, or paths in trees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.steps import Round


@dataclass(frozen=True)
class RingForm:
    """Latency cost of a ring: the sum of distances from each rank to the next, wrapping around."""

    ranks: int


@dataclass(frozen=True)
class WeightedRound:
    """Pairs of ranks that exchange messages in one round, with how often the round counts.

    Args:
        edges: (E, 2) pairs of ranks.
        weight: how often the round counts.
    """

    edges: npt.NDArray[np.intp]
    weight: float = 1.0


@dataclass(frozen=True)
class RoundsForm:
    """Latency cost of rounds: the sum over rounds of weight times the greatest distance."""

    ranks: int
    rounds: Sequence[WeightedRound]

    @cached_property
    def joined(self) -> JoinedRounds:
        """Pairs of ranks of all rounds that have some, in contiguous arrays."""
        kept = [step for step in self.rounds if len(step.edges) > 0]
        edges = [np.asarray(step.edges, dtype=np.intp).reshape(-1, 2) for step in kept]
        return JoinedRounds(
            np.concatenate([np.zeros((0, 2), dtype=np.intp), *edges]),
            np.cumsum([0, *map(len, edges)], dtype=np.intp)[:-1],
            np.array([step.weight for step in kept], dtype=np.float64),
        )


@dataclass(frozen=True)
class JoinedRounds:
    """Arrays of all rounds: the pairs of ranks, where each round's begin, and the rounds' weights.

    Args:
        edges: (E, 2) pairs of ranks.
        starts: (K,) where the edges of each round begin.
        weights: (K,) of the rounds.
    """

    edges: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    weights: npt.NDArray[np.float64]


@dataclass(frozen=True)
class MeshLine:
    """Group size and traffic of one dimension of a device mesh, for lower bounds.

    Args:
        size: ranks in a group, at least 2.
        weight: weight of all its pairs together.
        most_per_joint: j ranks of a group have pairs of at most j - 1 times this weight.
    """

    size: int
    weight: float
    most_per_joint: float


@dataclass(frozen=True)
class MeshForm(RoundsForm):
    """Latency cost of a device mesh: the weighted sum of greatest distances in its groups' rounds.

    Args:
        lines: the dimensions of more than one rank.
        sequences: (N,) each: the ranks in an order in which those that exchange much stand
            together, of which some is good wherever near hosts stand together.
        ranks_per_place: how many ranks of the mesh each of `ranks` stands for at most.
    """

    lines: Sequence[MeshLine] = ()
    sequences: Sequence[npt.NDArray[np.intp]] = ()
    ranks_per_place: int = 1

    @property
    def mesh_ranks(self) -> int:
        """Number of ranks of the device mesh."""
        return int(np.prod([line.size for line in self.lines], dtype=np.int64))


@dataclass(frozen=True)
class TreesForm:
    """Latency cost of trees: the greatest sum of distances along a path from a root to a leaf.

    Args:
        parents: a tree each: (N,) the parent of every rank, -1 for the root, -2 for a rank that is
            idle: in no tree.
    """

    ranks: int
    parents: Sequence[npt.NDArray[np.intp]]


Form: TypeAlias = RingForm | RoundsForm | TreesForm


def rounds_form(ranks: int, rounds: Iterable[Round]) -> RoundsForm:
    """Return the latency cost of these rounds, with equal rounds merged (`merge_rounds`)."""
    pairs = [np.stack([step.sources, step.destinations], axis=1) for step in rounds]
    return merge_rounds(RoundsForm(ranks, [WeightedRound(edges) for edges in pairs]))


def merge_rounds(form: RoundsForm) -> RoundsForm:
    """Return an equal latency cost in which rounds with the same pairs are one, weights added up.

    Rounds with the same pairs become one, with their weights added up. Pairs are of two different
    ranks, each once, the lower rank first. Rounds without pairs or weight are left out.
    """
    weight_of: dict[bytes, float] = {}
    edges_of: dict[bytes, npt.NDArray[np.intp]] = {}
    for step in form.rounds:
        pairs = distinct_pairs(np.asarray(step.edges, dtype=np.intp).reshape(-1, 2), form.ranks)
        if len(pairs) > 0 and step.weight > 0.0:
            key = pairs.tobytes()
            edges_of[key] = pairs
            weight_of[key] = weight_of.get(key, 0.0) + step.weight
    return RoundsForm(
        form.ranks, [WeightedRound(edges, weight_of[key]) for key, edges in edges_of.items()]
    )


def distinct_pairs(edges: npt.NDArray[np.intp], ranks: int) -> npt.NDArray[np.intp]:
    """Return each unordered pair of different ranks in (E, 2) edges once, (P, 2), ascending."""
    low, high = np.minimum(*edges.T), np.maximum(*edges.T)
    numbers = (low * ranks + high)[low != high]
    if ranks * ranks <= len(numbers):
        # Sorting very many pairs of few ranks takes longer than looking at all that there could be.
        is_there = np.zeros(ranks * ranks, dtype=bool)
        is_there[numbers] = True
        numbers = np.flatnonzero(is_there)
    else:
        numbers = np.sort(numbers)
        numbers = numbers[np.diff(numbers, prepend=-1) > 0]
    return np.stack(np.divmod(numbers, ranks), axis=1)
