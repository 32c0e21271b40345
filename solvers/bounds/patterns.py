"""Pattern of several rounds together: the graph of all pairs that exchange messages."""

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
    """Digit in which ranks differ that exchange messages in a round.

    Args:
        members: the ranks that take part, ascending; a digit is one of the place in this list.
        base: base of the digits.
        place: the power of the base that the digit counts.
    """

    members: tuple[int, ...]
    base: int
    place: int


def adjacency(edges: npt.NDArray[np.intp], ranks: int) -> Adjacency:
    """Return (N, N) whether two different ranks exchange messages."""
    matrix = np.zeros((ranks, ranks), dtype=bool)
    matrix[edges[:, 0], edges[:, 1]] = True
    matrix |= matrix.T
    np.fill_diagonal(matrix, False)
    return matrix


def digit_of(round_adjacency: Adjacency) -> Digit | None:
    """Return the digit in which the two ranks of each pair of a round differ, if there is one."""
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
    """Return a key that is equal for sets of rounds with the same graph; None if not by digits."""
    known = [digit for digit in digits if digit is not None]
    kinds = {(digit.members, digit.base) for digit in known}
    if len(known) < len(digits) or len(kinds) != 1:
        return None
    return (*kinds.pop(), len(digits))


class Pattern:
    """The union of some rounds, as a graph that the graph of short pairs must hold."""

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
        """The least over all edges of what `common_and_continued` counts."""
        if not self._union.any():
            return 0, 0
        common, continued = common_and_continued(self._union)
        return int(common[self._union].min()), int(continued[self._union].min())

    @property
    def is_regular(self) -> bool:
        """Whether every rank has as many peers."""
        return bool(self.degrees[0] == self.degrees[-1])

    @cached_property
    def most_inside(self) -> Counts:
        """(N+1,) by m: at least as many as any m ranks have pairs among them.

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
        """(N+1,) by m: any m ranks have at least as many pairs with the others."""
        own = np.concatenate([[0], np.cumsum(self.degrees[::-1])]) - 2 * self.most_inside
        # The pairs that leave m ranks are those that leave the other N - m.
        leaving: Counts = np.maximum(0, np.maximum(own, own[::-1]))
        return leaving


def _most_inside_hamming(members: int, base: int, digits: int) -> Counts:
    """Return (members + 1,) most pairs among m vertices of copies of a Hamming graph.

    The graph has base^digits vertices. Adding the vertices of a copy in the order of their numbers
    adds as many pairs as the sum of the number's digits; copies are filled one after the other.
    """
    number = np.arange(members) % base**digits
    added = sum((number // base**digit % base for digit in range(digits)), np.zeros_like(number))
    inside: Counts = np.concatenate([[0], np.cumsum(added)])
    return inside


def common_and_continued(graph: Adjacency) -> tuple[Counts, Counts]:
    """Return two (N, N): how the neighbours of u are connected with those of v.

    The first counts common neighbours. The second counts the neighbours of u other than v that are
    neighbours of v, or have a neighbour other than u that is one.
    """
    own = graph.astype(np.float32)
    paths = own @ own
    # A neighbour of u has u itself as a common neighbour with v.
    is_continued = ((paths >= 2.0) | graph).astype(np.float32)
    np.fill_diagonal(is_continued, 0.0)
    return paths.astype(np.intp), (own @ is_continued).astype(np.intp)
