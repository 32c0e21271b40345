"""Value of measuring each pair, given what is known of its hosts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plink.solvers.sampling.found import Found, sum_by_cluster

Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]

# Partners in its own fragment that a host needs, and the least sum of their votes, to be sure.
_PARTNERS = 3
_LEAST_VOTES = 1.5
_MOST_PARTNERS = 8
_ASSUMED_VOTE = 0.8
# Two fragments are apart where the log likelihood ratio of their being one is as low.
_APART = -4.5
# What third ones say for two that they are one counts up to here: they may be of one row only.
_MOST_FOR = 6.0
# A fragment looks again at those that are the least unlike it.
_LOOKS = 3
_APART_FOR_SURE = -9.5
# Fragments of so many hosts look again at all, and those of so many times fewer than usual.
_LOST = 2
_FEWER = 3.0
# Pairs of two fragments that are tried before giving up on them.
_TRIES = 16
# A host needs confirmation more than any search.
_CONFIRM = 100.0
_JITTER = 0.5


class Wanted:
    """Pairs worth measuring, updated while rounds are chosen.

    Args:
        found: the fragments.
        known: (N, N) pairs with a reading.
        met: (N, N) pairs that met, with or without a reading.
    """

    def __init__(self, found: Found, known: Mask, met: Mask) -> None:
        labels = self._labels = found.labels
        sizes = found.sizes
        self._same: Mask = labels[:, None] == labels[None, :]
        inside = known & self._same
        self._partners: Counts = inside.sum(axis=1)
        self._votes = np.where(inside, found.votes, 0.0).sum(axis=1)
        self._most = sizes[labels] - 1
        thirds = found.thirds
        is_other = ~np.eye(len(sizes), dtype=bool)
        best = np.minimum(thirds.max(axis=1, where=is_other, initial=-np.inf), 0.0)
        # Where all speak against a host, some of its own readings are wrong.
        against = np.minimum(thirds - np.minimum(best[:, None], best[None, :]), 0.0)
        ratio = against + found.direct
        one, other = np.nonzero(met)
        tried = sum_by_cluster(labels, labels, one, other, np.ones(len(one)))
        # By what a reading says on average, so that looking again does not change which it is.
        likeness = thirds + found.direct / np.maximum(tried, 1.0)
        np.fill_diagonal(likeness, -np.inf)
        # Hosts that found few others where most found many were misled somewhere.
        few = max(_LOST, float(np.median(sizes[labels])) / _FEWER)
        is_lost = (sizes[:, None] <= few) | (sizes <= few)
        least = np.where(is_lost & (against > _APART), _APART_FOR_SURE, _APART)
        is_open = (ratio > least) | _second_looks(ratio, likeness)
        product = sizes[:, None] * sizes[None, :]
        is_open &= tried < np.minimum(product, _TRIES)
        is_open &= is_other
        # A pair of two large fragments says as much of every host in them.
        rank = np.minimum(thirds, _MOST_FOR) + found.direct + np.log(product)
        self._rank: Matrix = np.where(is_open, rank, -np.inf)

    def weight(self, rng: np.random.Generator) -> Matrix:
        """Return weights of pairs for a round, (N, N), confirmations first; -inf if unwanted."""
        weight = self._rank[self._labels][:, self._labels]
        need = np.maximum(_PARTNERS - self._partners, 0)
        is_unsure = (self._votes < _LEAST_VOTES) & (self._partners < _MOST_PARTNERS)
        need = np.where(is_unsure, np.maximum(need, 1), need)
        need[self._partners >= self._most] = 0
        one, other = np.nonzero(self._same & (need[:, None] + need[None, :] > 0))
        weight[one, other] = _CONFIRM + need[one] + need[other]
        jitter = rng.random(weight.shape, dtype=np.float32)
        return weight + _JITTER * (jitter + jitter.T)

    @property
    def open_searches(self) -> int:
        """Approximate number of meetings that the search still needs."""
        lone = int((self._most == 0).sum())
        return int((self._rank > -np.inf).sum()) // 2 + _LOOKS * lone

    def meet(self, one: int, other: int) -> None:
        """Record that two hosts meet."""
        if self._same[one, other]:
            self._partners[[one, other]] += 1
            self._votes[[one, other]] += _ASSUMED_VOTE
        else:
            a, b = self._labels[one], self._labels[other]
            self._rank[a, b] = self._rank[b, a] = -np.inf

    def near(self, rng: np.random.Generator) -> Matrix:
        """Return weights of pairs within one fragment, (N, N), in random order."""
        jitter = rng.random(self._same.shape)
        return np.where(self._same, jitter + jitter.T, -np.inf)


def _second_looks(ratio: Matrix, likeness: Matrix) -> Mask:
    """Return a mask of fragments to compare once more, (G, G): the least dissimilar ones."""
    looks: Mask = np.zeros(ratio.shape, dtype=bool)
    rows = np.arange(len(ratio))[:, None]
    best = np.argsort(-likeness, axis=1)[:, :_LOOKS]
    looks[rows, best] = ratio[rows, best] > _APART_FOR_SURE
    return looks | looks.T
