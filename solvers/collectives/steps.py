"""Messages of collectives by round (`PeerTable`), and the rounds that algorithms are built of.

In exchanges near ranks come first, with a smaller part of the buffer each time. The MPI libraries
fold the ranks beyond 2^k away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ranks = npt.NDArray[np.intp]
Bytes = npt.NDArray[np.float64]

# What a library counts in elements is here of float32.
ELEMENT_BYTES = 4


@dataclass(frozen=True)
class Round:
    """Messages of a collective that are in flight at the same time.

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
    """Messages of a collective, round by round, for given numbers of ranks and bytes.

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


def send(sources: Ranks, destinations: Ranks, size_bytes: float | npt.ArrayLike) -> Round:
    """Return a round in which `sources[i]` sends bytes to `destinations[i]`, (F,) each."""
    sizes = np.broadcast_to(np.asarray(size_bytes, dtype=np.float64), sources.shape)
    return Round(sources, destinations, sizes)


def exchange(low: Ranks, high: Ranks, size_bytes: float) -> Round:
    """Return a round in which the ranks `low[i]` and `high[i]` send to each other."""
    return send(np.concatenate([low, high]), np.concatenate([high, low]), size_bytes)


def merge_into_one_round(rounds: Sequence[Round]) -> Round:
    """Return one round in which all messages of several rounds happen at once."""
    return Round(
        np.concatenate([step.sources for step in rounds]),
        np.concatenate([step.destinations for step in rounds]),
        np.concatenate([step.sizes_bytes for step in rounds]),
    )


def reverse_rounds(rounds: Sequence[Round]) -> list[Round]:
    """Return the rounds in reverse, with sender and receiver of each message swapped."""
    return [Round(step.destinations, step.sources, step.sizes_bytes) for step in reversed(rounds)]


def power_below(ranks: int, base: int = 2) -> int:
    """Return the greatest power of `base` that is not above `ranks`."""
    power = 1
    while power * base <= ranks:
        power *= base
    return power


def list_doublings(ranks: int) -> list[int]:
    """Return the distances 1, 2, 4, ... that are less than the number of ranks."""
    return [1 << bit for bit in range((ranks - 1).bit_length())]


def ring_round(ranks: int, step: int, size_bytes: float) -> Round:
    """Return a round in which every rank r sends to rank r + `step`, modulo N."""
    every = np.arange(ranks)
    return send(every, (every + step) % ranks, size_bytes)


def pairwise_rounds(ranks: int, size_bytes: float) -> list[Round]:
    """Return N - 1 rounds: in round k = 1, 2, ... rank r sends 1 / N of the buffer to r + k."""
    return [ring_round(ranks, distance, size_bytes / ranks) for distance in range(1, ranks)]


def ring_table(
    ranks: int, size_bytes: int, *, step: int = 1, is_pipelined: bool = False
) -> PeerTable:
    """Return a ring allreduce of S bytes: N - 1 rounds of S / N bytes reduce, as many gather."""
    part = ring_round(ranks, step, size_bytes / ranks)
    return PeerTable(ranks, [part] * (2 * (ranks - 1)), is_pipelined)


def group_pairs(ranks: int, group: int, distance: int) -> tuple[Ranks, Ranks]:
    """Return the lower and the higher rank of all pairs within groups of ranks `distance` apart.

    The number of ranks is a multiple of group x distance.
    """
    every = np.arange(ranks)
    place = every // distance % group
    lows = [every[place < group - steps] for steps in range(1, group)]
    highs = [low + steps * distance for steps, low in enumerate(lows, start=1)]
    return np.concatenate(lows), np.concatenate(highs)


def scatter_in_groups(ranks: int, groups: Sequence[int], size_bytes: float) -> list[Round]:
    """Return a reduce-scatter's rounds, in which each rank sends a part to each of its group.

    The groups' sizes, round by round, have the number of ranks as their product.
    """
    rounds = []
    distance = 1
    for group in groups:
        pairs = group_pairs(ranks, group, distance)
        distance *= group
        rounds.append(exchange(*pairs, size_bytes / distance))
    return rounds


def check_base(base: int) -> None:
    """Raise ValueError if the group size of a BCube is less than 2."""
    if base < 2:
        raise ValueError(f"a BCube has groups of at least 2 ranks, not {base}")


def split_into_groups(ranks: int, base: int) -> list[int]:
    """Return the group size of each round of a BCube: the base while it fits, then the rest."""
    groups = []
    while ranks >= base:
        groups.append(base)
        ranks //= base
    return [*groups, ranks] if ranks > 1 else groups


def fold_pairs(ranks: int) -> tuple[Ranks, Ranks]:
    """Return the even and odd ranks of the first pairs, one of which drops out, to leave 2^k ranks.

    Returns:
        (e,) the even ranks, (e,) the odd ranks, with N = 2^k + e.
    """
    even = 2 * np.arange(ranks - power_below(ranks))
    return even, even + 1


def list_remaining(ranks: int, kept: Ranks) -> Ranks:
    """Return the 2^k ranks that take part: the kept ones of folded pairs, and all unpaired ones."""
    return np.concatenate([kept, np.arange(2 * len(kept), ranks)])


def recursive_doubling(ranks: int, size_bytes: int) -> PeerTable:
    """Return an allreduce by recursive doubling: exchanges of whole buffers 1, 2, 4, ... apart.

    The even ranks of the first pairs drop out.
    """
    even, odd = fold_pairs(ranks)
    members = list_remaining(ranks, odd)
    fold = [send(even, odd, size_bytes)] if len(even) else []
    count = len(members)
    pairs = [group_pairs(count, 2, distance) for distance in list_doublings(count)]
    rounds = [exchange(members[low], members[high], size_bytes) for low, high in pairs]
    return PeerTable(ranks, [*fold, *rounds, *reverse_rounds(fold)])


def halving(members: Ranks, size_bytes: float) -> list[Round]:
    """Return a reduce-scatter's rounds over 2^k ranks: halves at distance 1, quarters at 2, ..."""
    groups = [2] * len(list_doublings(len(members)))
    return [
        Round(members[step.sources], members[step.destinations], step.sizes_bytes)
        for step in scatter_in_groups(len(members), groups, size_bytes)
    ]
