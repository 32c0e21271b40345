"""Messages and latency cost of device meshes, whose dimensions' groups run collectives."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.collectives.form import (
    MeshForm,
    MeshLine,
    RingForm,
    RoundsForm,
    TreesForm,
    WeightedRound,
    merge_rounds,
)
from plink.solvers.collectives.registry import find
from plink.solvers.collectives.steps import PeerTable, Ranks, Round, merge_into_one_round, send

# Of a line with more ranks, not every set of ranks is looked at.
_MOST_SETS_OF = 10

# With more dimensions than this, not every nesting of them is a start.
_MOST_NESTED = 4


CHAIN = Algorithm(
    "chain",
    "point to point: every rank sends to the next, and back, as the stages of a pipeline do",
    lambda ranks, size_bytes: PeerTable(
        ranks,
        [
            send(np.arange(ranks - 1), np.arange(1, ranks), size_bytes),
            send(np.arange(1, ranks), np.arange(ranks - 1), size_bytes),
        ],
    ),
    # Each hop is a round: their latencies add up.
    lambda ranks: RoundsForm(
        ranks, [WeightedRound(np.array([[low, low + 1]])) for low in range(ranks - 1)]
    ),
)


@dataclass(frozen=True)
class Dimension:
    """Dimension of a device mesh, with the collective that its groups run.

    Args:
        size: how many ranks each of its groups has.
        algorithm: what these run; None where they exchange nothing.
        size_bytes: size of the buffer of each rank, in bytes.
    """

    size: int
    algorithm: Algorithm | None
    size_bytes: int


def find_pattern(name: str) -> Algorithm:
    """Return the algorithm of a name; raise if the groups of a mesh dimension cannot run it.

    Raises:
        ValueError: there is no such algorithm, or its latencies are no sum over rounds of ranks.
    """
    found = CHAIN if name == CHAIN.name else find(name)
    ranks = next(number for number in range(2, 1 << 20) if found.refusal(number) is None)
    if found.is_over_hosts or isinstance(found.form(ranks), TreesForm):
        raise ValueError(
            f"{name} is no algorithm in rounds, expected chain, ring or another in rounds"
        )
    return found


def list_groups(sizes: Sequence[int], dimension: int) -> Ranks:
    """Return the ranks of each group along one dimension of a mesh, (G, K), numbered row-major."""
    ranks = np.arange(int(np.prod(sizes, dtype=np.int64))).reshape(sizes)
    return np.moveaxis(ranks, dimension, -1).reshape(-1, sizes[dimension])


def mesh_table(dimensions: Sequence[Dimension]) -> PeerTable:
    """Return the messages of a training iteration on a mesh: each dimension's collective in turn.

    The rounds of a pipelined algorithm are one round, in which all of its flows are under way.
    """
    sizes = [one.size for one in dimensions]
    rounds: list[Round] = []
    for number, one in enumerate(dimensions):
        if one.algorithm is None or one.size == 1:
            continue
        table = one.algorithm.table(one.size, one.size_bytes)
        of_one = [merge_into_one_round(table.rounds)] if table.is_pipelined else table.rounds
        groups = list_groups(sizes, number)
        made: dict[int, Round] = {}
        for step in of_one:
            if id(step) not in made:
                made[id(step)] = merge_into_one_round(
                    [
                        Round(group[step.sources], group[step.destinations], step.sizes_bytes)
                        for group in groups
                    ]
                )
            rounds.append(made[id(step)])
    return PeerTable(int(np.prod(sizes, dtype=np.int64)), rounds)


def mesh_form(dimensions: Sequence[Dimension]) -> MeshForm:
    """Return a device mesh's latency cost: its groups' rounds, weighted by their dimension's bytes.

    Each dimension's latencies weigh as much as its bytes have a share of those of all.
    """
    sizes = [one.size for one in dimensions]
    total = sum(one.size_bytes for one in dimensions if one.algorithm is not None)
    ranks = int(np.prod(sizes, dtype=np.int64))
    rounds: list[WeightedRound] = []
    lines, traffic = [], []
    for number, one in enumerate(dimensions):
        line: list[WeightedRound] = []
        if one.algorithm is not None and one.size > 1 and one.size_bytes > 0:
            line = _line_rounds(one.algorithm, one.size, one.size_bytes / total)
        for group in list_groups(sizes, number) if line else ():
            rounds += [WeightedRound(group[step.edges], step.weight) for step in line]
        if one.size > 1:
            lines.append(_line(line, one.size))
        traffic.append(lines[-1].weight / one.size if one.size > 1 else 0.0)
    return MeshForm(ranks, rounds, lines, _nest_dimensions(sizes, traffic))


def _line_rounds(algorithm: Algorithm, ranks: int, weight: float) -> list[WeightedRound]:
    """Return the weighted rounds of one group of a mesh; each hop of a ring is a round."""
    form = algorithm.form(ranks)
    if isinstance(form, RingForm):
        hops = np.stack([np.arange(ranks), np.roll(np.arange(ranks), -1)], axis=1)
        form = RoundsForm(ranks, [WeightedRound(hop[None, :]) for hop in hops])
    if isinstance(form, TreesForm):
        raise TypeError(f"{algorithm.name} is an algorithm of trees, expected rounds")
    return [WeightedRound(step.edges, weight * step.weight) for step in merge_rounds(form).rounds]


def _line(rounds: Sequence[WeightedRound], size: int) -> MeshLine:
    weights = np.zeros((size, size))
    for step in rounds:
        # The greatest distance of a round is no less than the mean.
        np.add.at(weights, (step.edges[:, 0], step.edges[:, 1]), step.weight / len(step.edges))
    weights += weights.T
    return MeshLine(size, float(weights.sum()) / 2.0, _most_per_joint(weights))


def _most_per_joint(weights: npt.NDArray[np.float64]) -> float:
    """Return an upper bound on the traffic among any j ranks of a group, divided by j - 1.

    Any part of a ring or a chain is chains, of one hop less than ranks.
    """
    size = len(weights)
    total = float(weights.sum()) / 2.0
    if size <= _MOST_SETS_OF:
        sets = (np.arange(1 << size)[:, None] >> np.arange(size) & 1).astype(np.float64)
        inside = np.einsum("si,ij,sj->s", sets, weights, sets) / 2.0
        members = sets.sum(axis=1)
        return float((inside[members > 1] / (members[members > 1] - 1.0)).max())
    degree = np.count_nonzero(weights, axis=1)
    is_one_path = np.count_nonzero(weights) // 2 >= size - 1 and degree.max() <= 2
    if is_one_path and (np.diagonal(weights, 1) > 0.0).all():
        return max(float(weights.max()), total / (size - 1))
    most = np.cumsum(np.sort(weights, axis=1)[:, ::-1], axis=1).max(axis=0)[: size - 1]
    joints = np.arange(1, size)
    return float((np.minimum(0.5 * (joints + 1) * most, total) / joints).max())


def _nest_dimensions(sizes: Sequence[int], traffic: Sequence[float]) -> list[Ranks]:
    """Return rank sequences, one for each nesting of dimensions."""
    ranks = np.arange(int(np.prod(sizes, dtype=np.int64))).reshape(sizes)
    # The last axis is the innermost.
    heaviest = sorted(range(len(sizes)), key=lambda axis: (traffic[axis], axis))
    ways = [tuple(heaviest), tuple(range(len(sizes)))]
    if sum(size > 1 for size in sizes) <= _MOST_NESTED:
        fixed = [axis for axis in heaviest if sizes[axis] == 1]
        moved = [axis for axis in heaviest if sizes[axis] > 1]
        ways += [(*fixed, *way) for way in itertools.permutations(moved)]
    return [ranks.transpose(way).ravel() for way in dict.fromkeys(ways)]
