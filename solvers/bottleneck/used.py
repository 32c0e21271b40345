"""Pairs of hosts that exchange data in an order, and the greatest distance among them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plink.solvers.bounds.nearest import degrees_threshold, nearest_distances
from plink.solvers.collectives.form import Form, RingForm, RoundsForm, distinct_pairs
from plink.solvers.components import components
from plink.solvers.distances import Matrix
from plink.solvers.slots.layout import RankLayout

Edges = npt.NDArray[np.intp]


class Used:
    """Pairs of ranks of a form that exchange data, placed on the hosts of an order.

    Args:
        form: whose messages they are, over all ranks.
        layout: how the ranks fill the hosts.
    """

    def __init__(self, form: Form, layout: RankLayout) -> None:
        self.form = form
        self.layout = layout

    def farthest(self, distance: Matrix, order: Sequence[int]) -> float:
        """Return the greatest distance between two communicating hosts; 0 if none communicate."""
        hosts = self._hosts(order)
        ends = hosts[self._edges] if not isinstance(self.form, RingForm) else _ring(hosts)
        return float(distance[ends[:, 0], ends[:, 1]].max(initial=0.0))

    @cached_property
    def degrees(self) -> npt.NDArray[np.intp] | None:
        """Number of peers of each rank, (R,); None where hosts take several ranks."""
        if max(self.layout.slots) > 1:
            return None
        ranks = self.form.ranks
        if isinstance(self.form, RingForm):
            return np.full(ranks, min(2, ranks - 1))
        return np.bincount(self._edges.ravel(), minlength=ranks)

    def nearest_needed(self, distance: Matrix) -> float:
        """Return a lower bound of the greatest distance, from each host's nearest others."""
        degrees = self.degrees
        if degrees is None:
            # Every host that takes a rank has another one beside it, where there is one.
            degrees = np.full(self.layout.fewest_hosts, int(self.is_connected))
        if len(distance) < 2 or len(degrees) < 2 or not degrees.any():
            return 0.0
        nearest = nearest_distances(np.ascontiguousarray(distance))
        return degrees_threshold(degrees, np.sort(nearest, axis=0))

    @cached_property
    def is_connected(self) -> bool:
        """Whether the graph of communicating ranks is connected, so that the hosts' must be."""
        if isinstance(self.form, RingForm):
            return True
        part_of = components(self.form.ranks, self._edges[:, 0], self._edges[:, 1])
        return not part_of.any()

    @cached_property
    def _edges(self) -> Edges:
        """Pairs of ranks that exchange data, shape (E, 2), each once."""
        if isinstance(self.form, RingForm):
            raise TypeError("a ring's pairs depend on how many hosts an order uses")
        if isinstance(self.form, RoundsForm):
            pairs = [step.edges for step in self.form.rounds]
        else:
            pairs = [_tree(parents) for parents in self.form.parents]
        every = np.concatenate([np.zeros((0, 2), dtype=np.intp), *pairs])
        return distinct_pairs(every, self.form.ranks)

    def _hosts(self, order: Sequence[int]) -> Edges:
        """Return the host of each rank: for a ring the hosts in sequence, else by position."""
        if isinstance(self.form, RingForm):
            return np.asarray(order[: self.layout.count_used(order)], dtype=np.intp)
        return self.layout.placement(order)


def _ring(hosts: Edges) -> Edges:
    return np.stack([hosts, np.roll(hosts, -1)], axis=1)


def _tree(parents: Edges) -> Edges:
    children = np.flatnonzero(parents >= 0)
    return np.stack([children, parents[children]], axis=1)
