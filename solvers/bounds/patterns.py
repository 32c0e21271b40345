"""Union of several rounds as a graph of ranks, for bounds by subgraph arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plink.solvers.components import component_sizes

Adjacency = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Digit:
    """Digit of the rank number in which the partners of a round differ.

    Args:
        members: the ranks that take part, ascending; a digit is one of the place in this list.
        base: base of the digits.
        place: the power of the base that the digit counts.
    """

    members: tuple[int, ...]
    base: int
    place: int


def adjacency(edges: npt.NDArray[np.intp], ranks: int) -> Adjacency:
    """Return the adjacency matrix of ranks that exchange messages, (N, N)."""
    matrix = np.zeros((ranks, ranks), dtype=bool)
    matrix[edges[:, 0], edges[:, 1]] = True
    matrix |= matrix.T
    np.fill_diagonal(matrix, False)
    return matrix


def find_digit(round_adjacency: Adjacency) -> Digit | None:
    """Return the digit in which the ranks of every pair of a round differ, or None."""
    degree = round_adjacency.sum(axis=1)
    members = np.flatnonzero(degree)
    base = int(degree.max()) + 1
    own = round_adjacency[np.ix_(members, members)]
    place = int(np.flatnonzero(own[0])[0])
    power = place
    while power % base == 0:
        power //= base
    if power != 1 or len(members) % (base * place) != 0:
        return None
    number = np.arange(len(members))
    rest = number - number // place % base * place
    expected = rest[:, None] == rest[None, :]
    np.fill_diagonal(expected, False)
    if not np.array_equal(own, expected):
        return None
    return Digit(tuple(members.tolist()), base, place)


def kind_of(digits: Sequence[Digit | None]) -> tuple[object, ...] | None:
    """Return a key equal for sets of rounds with the same graph; None if rounds are not digits."""
    known = [digit for digit in digits if digit is not None]
    kinds = {(digit.members, digit.base) for digit in known}
    if len(known) < len(digits) or len(kinds) != 1:
        return None
    return (*kinds.pop(), len(digits))


class Pattern:
    """Graph of the pairs that exchange messages in some rounds."""

    def __init__(self, rounds: Sequence[Adjacency], digits: Sequence[Digit | None]) -> None:
        self._rounds = rounds
        self._digits = digits
        union: Adjacency = np.logical_or.reduce(rounds)
        self.ranks = len(union)
        degree = union.sum(axis=1)
        self.degrees: Counts = np.sort(degree)[::-1]
        self.component_sizes: Counts = np.sort(component_sizes(union))
        self._union = union

    @cached_property
    def surroundings(self) -> tuple[int, int]:
        """Least values of `common_and_continued` over all edges."""
        if not self._union.any():
            return 0, 0
        common, continued = common_and_continued(self._union)
        return int(common[self._union].min()), int(continued[self._union].min())

    @property
    def is_regular(self) -> bool:
        """Whether all ranks have equally many peers."""
        return bool(self.degrees[0] == self.degrees[-1])

    @cached_property
    def most_inside(self) -> Counts:
        """Upper bound on the number of pairs among any m ranks, (N+1,) by m.

        The rounds that are digits of the same number are a union of Hamming graphs, in which the
        first m ranks have the most (Harper 1964 for base 2, Lindsey 1964). In any other round, m
        ranks have at most half the sum of the m greatest degrees.
        """
        size = np.arange(self.ranks + 1)
        most = np.zeros(self.ranks + 1, dtype=np.intp)
        groups: dict[tuple[tuple[int, ...], int], set[int]] = {}
        for own, digit in zip(self._rounds, self._digits, strict=True):
            if digit is None:
                degrees = np.sort(own.sum(axis=1))[::-1]
                most[1:] += np.minimum(np.cumsum(degrees) // 2, own.sum() // 2)
            else:
                groups.setdefault((digit.members, digit.base), set()).add(digit.place)
        for (members, base), places in groups.items():
            grown = _most_inside_hamming(len(members), base, len(places))
            most += np.pad(grown, (0, self.ranks - len(members)), mode="edge")
        inside: Counts = np.minimum(most, size * (size - 1) // 2)
        return inside

    @cached_property
    def least_leaving(self) -> Counts:
        """Lower bound on the number of pairs between any m ranks and the others, (N+1,) by m."""
        own = np.concatenate([[0], np.cumsum(self.degrees[::-1])]) - 2 * self.most_inside
        # The pairs that leave m ranks are those that leave the other N - m.
        leaving: Counts = np.maximum(0, np.maximum(own, own[::-1]))
        return leaving


def _most_inside_hamming(members: int, base: int, digits: int) -> Counts:
    """Return the most pairs among m vertices of copies of a Hamming graph, (members + 1,).

    The graph has base^digits vertices. Adding the vertices of a copy in the order of their numbers
    adds as many pairs as the sum of the number's digits; copies are filled one after the other.
    """
    number = np.arange(members) % base**digits
    added = sum((number // base**digit % base for digit in range(digits)), np.zeros_like(number))
    inside: Counts = np.concatenate([[0], np.cumsum(added)])
    return inside


def common_and_continued(graph: Adjacency) -> tuple[Counts, Counts]:
    """Return, for each u and v, common neighbours and neighbours within two steps, (N, N).

    The first counts common neighbours. The second counts the neighbours of u other than v that are
    neighbours of v, or have a neighbour other than u that is one.
    """
    own = graph.astype(np.float32)
    paths = own @ own
    # A neighbour of u has u itself as a common neighbour with v.
    is_continued = ((paths >= 2.0) | graph).astype(np.float32)
    np.fill_diagonal(is_continued, 0.0)
    return paths.astype(np.intp), (own @ is_continued).astype(np.intp)
