"""What a report is about: a cluster, orders of its hosts, or both, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.files.groups import Group
from plink.files.order import Order
from plink.model.distance import Distances, distances
from plink.show.page.colours import NO_GROUP
from plink.show.page.parts import plotly_names
from solvers.seriation import seriate


@dataclass(frozen=True)
class NamedOrder:
    """An order and the file that it came from."""

    source: str
    order: Order


@dataclass(frozen=True)
class Subject:
    """What a report is about; there is a cluster or an order.

    Args:
        cluster: hosts and what was measured.
        source: the cluster's file, as messages call it.
        orders: of the same hosts.
    """

    cluster: Cluster | None
    source: str | None
    orders: Sequence[NamedOrder] = ()

    @cached_property
    def names(self) -> Sequence[str]:
        """The hosts: in the cluster's order, else as they were given to the first order."""
        if self.cluster is not None:
            return self.cluster.names
        return list(self.orders[0].order.given)

    @cached_property
    def place_of(self) -> Mapping[str, int]:
        """The index of each host."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def labels(self) -> Sequence[str]:
        """The hosts' names as figures show them, in the same order."""
        return plotly_names(self.names)

    @property
    def groups(self) -> Sequence[Group]:
        """Groups of near hosts, where they are known."""
        if self.cluster is not None:
            return self.cluster.groups
        return self.orders[0].order.groups

    @cached_property
    def group_of(self) -> npt.NDArray[np.intp]:
        """(N,) each host's group, by number; `NO_GROUP` for none."""
        found = np.full(len(self.names), NO_GROUP, dtype=np.intp)
        for number, group in enumerate(self.groups):
            found[[self.place_of[host] for host in group.hosts]] = number
        return found

    @cached_property
    def distances(self) -> Distances | None:
        """Symmetric distances without gaps; None where nothing was measured."""
        if self.cluster is None or len(self.names) < 2:
            return None
        try:
            return distances(self.cluster)
        except WrongUseError:  # nothing was measured
            return None

    @cached_property
    def sequence(self) -> Sequence[int]:
        """Hosts with groups together, and near ones side by side; hosts without a group last."""
        if self.distances is not None:
            near = seriate(self.distances.matrix_us)
        elif self.orders:
            order = self.orders[0].order
            near = [self.place_of[host.name] for host in (*order.hosts, *order.unused)]
        else:
            near = list(range(len(self.names)))
        place = np.empty(len(near))
        place[near] = np.arange(len(near))
        middle = {
            group: float(np.median(place[self.group_of == group]))
            for group in np.unique(self.group_of)
        }
        middle[NO_GROUP] = np.inf
        return sorted(near, key=lambda host: (middle[self.group_of[host]], place[host]))

    @cached_property
    def shade_of(self) -> Mapping[int, int]:
        """The number of each group's colour, such that groups side by side have different ones."""
        in_turn = dict.fromkeys(int(self.group_of[host]) for host in self.sequence)
        in_turn.pop(NO_GROUP, None)
        return {NO_GROUP: NO_GROUP, **{group: shade for shade, group in enumerate(in_turn)}}

    @cached_property
    def shown_groups(self) -> Sequence[int]:
        """The numbers of the groups, that of no group last, where there is a host without one."""
        known = [int(group) for group in np.unique(self.group_of)]
        return sorted(known, key=lambda group: (group == NO_GROUP, group))
