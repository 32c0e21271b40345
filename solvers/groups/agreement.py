"""Agreement of found groups and measured distances with the true ones, as scores."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

Matrix = npt.NDArray[np.float64]


def adjusted_mutual_information(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Return two groupings' adjusted mutual information: 1 if the same, about 0 if unrelated.

    Mutual information less what chance gives, over the mean of the entropies less the same
    (Vinh, Epps and Bailey, "Information theoretic measures for clusterings comparison", JMLR 11,
    2010), as scikit-learn has it.

    Args:
        first, second: the group of each host.

    Raises:
        ValueError: the groupings have different lengths, or are empty.
    """
    one, other = _number_groups(first, second)
    # Rounding would return nearly 1.
    return 1.0 if one == other else float(adjusted_mutual_info_score(one, other))


def adjusted_rand(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Return two groupings' adjusted Rand index: 1 if the same, about 0 if unrelated.

    The share of pairs of hosts that both groupings put together, or both apart, less what chance
    gives (Hubert and Arabie, "Comparing partitions", Journal of Classification 2, 1985), as
    scikit-learn has it.

    Args:
        first, second: the group of each host.

    Raises:
        ValueError: the groupings have different lengths, or are empty.
    """
    return float(adjusted_rand_score(*_number_groups(first, second)))


def find_misplaced_hosts(
    labels: Sequence[Hashable], true: Sequence[Hashable]
) -> dict[int, Hashable | None]:
    """Return hosts whose group matches another true group than theirs, with the group it matches.

    Groups and true ones are paired so that most hosts agree (Kuhn, "The Hungarian method for the
    assignment problem", Naval Research Logistics 2, 1955).

    Args:
        labels, true: the group of each host.

    Returns:
        the true group that its own group stands for, by the index of the host; None where its group
        stands for none.

    Raises:
        ValueError: the groupings have different lengths, or are empty.
    """
    one, other = _number_groups(labels, true)
    shared = contingency_matrix(one, other)
    rows, columns = linear_sum_assignment(-shared)
    stands_for = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    name_of = dict(zip(other, true, strict=True))
    return {
        host: name_of.get(stands_for.get(group, -1))
        for host, (group, actual) in enumerate(zip(one, other, strict=True))
        if stands_for.get(group) != actual
    }


def _number_groups(
    first: Sequence[Hashable], second: Sequence[Hashable]
) -> tuple[list[int], list[int]]:
    """Validate two groupings; return both with groups numbered by first appearance."""
    if len(first) != len(second) or not first:
        raise ValueError(
            f"groupings have {len(first)} and {len(second)} hosts, expected the same number above 0"
        )
    numbered = []
    for groups in (first, second):
        numbers: dict[Hashable, int] = {}
        numbered.append([numbers.setdefault(group, len(numbers)) for group in groups])
    return numbered[0], numbered[1]


@dataclass(frozen=True)
class Affinity:
    """Number of host triplets with a known nearer host, and of those that distances order so."""

    right: int
    triplets: int

    @property
    def accuracy(self) -> float:
        """Share of host triplets that distances order correctly (PAIA); NaN without triplets."""
        return self.right / self.triplets if self.triplets else float("nan")


def affinity(distance: Matrix, positions: Sequence[Sequence[Hashable]]) -> Affinity:
    """Count host triplets that measured distances order as the hosts' true positions do (PAIA).

    A host's position is a tuple from the widest to the narrowest, as (region, datacenter, cluster,
    row, rack, host). Hosts a and b are comparable to an observer c if their longest common
    prefixes with c differ in length; the one with the longer is truly nearer. The matrix is right
    if it says so strictly: equal readings are wrong. A triplet is (a, b, c) with a and b in either
    order, so each counts once. Triplets with a pair that was not measured do not count.

    Args:
        distance: (N, N), [c][a] is what c measured of a; NaN where not measured.
        positions: positions of the N hosts.

    Raises:
        ValueError: shapes that do not fit.
    """
    size = len(positions)
    if distance.shape != (size, size):
        raise ValueError(f"distance has shape {distance.shape}, expected ({size}, {size})")
    shared = common_prefixes(positions)
    others = np.arange(size)
    right = triplets = 0
    for observer in range(size):
        usable = (others != observer) & np.isfinite(distance[observer])
        readings, prefixes = distance[observer, usable], shared[observer, usable]
        farther = np.empty(0)
        # From the shortest prefix on: all that came before are farther away than what comes.
        for length in np.unique(prefixes):
            nearer = np.sort(readings[prefixes == length])
            right += int(np.searchsorted(nearer, farther, side="left").sum())
            triplets += nearer.size * farther.size
            farther = np.concatenate([farther, nearer])
    return Affinity(right, triplets)


def common_prefixes(positions: Sequence[Sequence[Hashable]]) -> npt.NDArray[np.int64]:
    """Return how many levels, widest first, the positions of each pair of hosts share, (N, N)."""
    size = len(positions)
    depth = max((len(position) for position in positions), default=0)
    lengths = np.zeros((size, size), dtype=np.int64)
    for level in range(1, depth + 1):
        codes: dict[tuple[Hashable, ...], int] = {}
        # A position that has ended shares nothing more, not even with itself.
        place = np.array(
            [
                codes.setdefault(tuple(position[:level]), len(codes))
                if len(position) >= level
                else -1 - host
                for host, position in enumerate(positions)
            ]
        )
        lengths += place[:, None] == place[None, :]
    return lengths
