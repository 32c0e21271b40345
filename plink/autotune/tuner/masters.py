"""A plan as shares of the buffer: which host is a master of how much, and the forest of that.

Tuning moves these shares. A route's root is the global master (GM) of its chunks, and in every
other group the member that is the root of the group's part is their local master (LM; Luo 2020,
§4.1.2). A flat plan is the case of one group: its stars have GMs only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.plans.check import check
from plink.plans.forest import NO_PARENT, Forest, make_forest
from plink.solvers.forests.kinds import MasterShares, with_masters
from plink.solvers.forests.trees import Floats, Indices, Parents, expand_to_ranks

# Shares are told apart from there on; below is what rounding left over.
_NOTHING = 1e-9


@dataclass(frozen=True)
class Layout:
    """Hosts and groups of the ranks, which tuning leaves as they are.

    Args:
        host_of: (P,) the host of each rank, 0 to H-1; every host has one.
        group_of: (H,) the group of each host, 0 to G-1; all 0 in a flat plan.
    """

    host_of: Indices
    group_of: Indices

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return len(self.group_of)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.group_of.max()) + 1

    @property
    def sizes(self) -> npt.NDArray[np.intp]:
        """(G,) how many hosts each group has."""
        return np.bincount(self.group_of)


@dataclass(frozen=True)
class Masters:
    """Shares of the buffer that each group and host is a master of.

    Args:
        of_groups: (G,) the share of the buffer whose GM is in each group; the sum is 1.
        of_hosts: (H,) the share of its group's chunks that each host is a master of; the sum is 1
            in every group.
    """

    of_groups: Floats
    of_hosts: Floats

    def gm_shares(self, layout: Layout) -> Floats:
        """Return (H,) the share of the buffer that each host is the GM of."""
        shares: Floats = self.of_groups[layout.group_of] * self.of_hosts
        return shares


class NoMastersError(ValueError):
    """A forest that is neither flat nor of two levels, so that there are no masters to move."""


def layout_of(forest: Forest, host_of: Sequence[int], group_of: Sequence[int]) -> Layout:
    """The layout in which a forest has masters: one group if it is flat, else the groups given.

    Args:
        forest: of a plan.
        host_of: (P,) the host of each rank, 0 to H-1.
        group_of: (P,) the group of each rank.

    Raises:
        NoMastersError: it has none; a ring or a tree, for example.
    """
    hosts = np.asarray(host_of, dtype=np.intp)
    first = np.unique(hosts, return_index=True)[1]
    flat = Layout(hosts, np.zeros(len(first), dtype=np.intp))
    named = np.unique(np.asarray(group_of, dtype=np.intp)[first], return_inverse=True)[1]
    for layout in (flat, Layout(hosts, named.astype(np.intp))):
        trees = _over_hosts(forest.reduce_parents, layout)
        back = _over_hosts(forest.broadcast_parents, layout)
        if trees is not None and back is not None and (trees == back).all():
            masters = _masters_of_groups(trees, layout)
            if masters is not None:
                return layout
    raise NoMastersError("the plan's routes have no masters that could be moved")


def masters_of(forest: Forest, layout: Layout) -> Masters:
    """Return the masters of a forest of that layout (`layout_of`).

    Raises:
        NoMastersError: the forest is of another layout.
    """
    trees = _over_hosts(forest.reduce_parents, layout)
    lms = None if trees is None else _masters_of_groups(trees, layout)
    if trees is None or lms is None:
        raise NoMastersError("the plan's routes have no masters that could be moved")
    roots = np.argmax(trees == NO_PARENT, axis=1)
    of_groups = _sum_shares(layout.group_of[roots], forest.shares, layout.groups)
    of_hosts = np.zeros(layout.hosts)
    for group in range(layout.groups):
        of_hosts += _sum_shares(lms[:, group], forest.shares, layout.hosts)
    return Masters(of_groups, of_hosts)


def forest_of(masters: Masters, layout: Layout) -> Forest:
    """Return the checked forest in which each host is a master of its share.

    Raises:
        BrokenForestError: the shares make no valid forest.
    """
    shares = MasterShares(masters.of_groups, masters.of_hosts, 0.0)
    routes = with_masters(layout.group_of, shares)
    if len(layout.host_of) > layout.hosts:
        routes = expand_to_ranks(routes, layout.host_of)
    forest = make_forest(*routes)
    check(forest)
    return forest


def host_loads(masters: Masters, layout: Layout) -> Floats:
    """Return (H,) what crosses each host's link in either direction, of a buffer of 1.

    That is 1 - x + m (n - 1) + x (G - 1) (`plink.solvers.forests.servers`).
    """
    groups, sizes = layout.groups, layout.sizes[layout.group_of]
    gm = masters.gm_shares(layout)
    loads: Floats = 1.0 - gm + masters.of_hosts * (sizes - 1) + gm * (groups - 1)
    return loads


def uplink_loads(masters: Masters, layout: Layout) -> Floats:
    """Return (G,) what crosses each group's uplink in either direction, of a buffer of 1."""
    if layout.groups == 1:
        return np.zeros(1)
    loads: Floats = 1.0 + masters.of_groups * (layout.groups - 2)
    return loads


def normalise_shares(of_groups: Floats, of_hosts: Floats, layout: Layout) -> Masters:
    """Return shares made to sum up to 1, without what is next to nothing."""
    groups = np.where(of_groups > _NOTHING, of_groups, 0.0)
    hosts = np.where(of_hosts > _NOTHING, of_hosts, 0.0)
    total = np.bincount(layout.group_of, hosts, layout.groups)
    return Masters(groups / groups.sum(), hosts / total[layout.group_of])


def _sum_shares(places: Indices, shares: Floats, count: int) -> Floats:
    return np.bincount(places, shares, count).astype(np.float64)


def _over_hosts(parents: Parents, layout: Layout) -> Parents | None:
    """(R, H) each host's parent in each route, or None where several of its ranks send on."""
    host_of = layout.host_of
    if len(host_of) == layout.hosts:
        return parents
    above = np.where(parents == NO_PARENT, NO_PARENT, host_of[np.maximum(parents, 0)])
    leaves = above != host_of[None, :]
    trees = np.full((len(parents), layout.hosts), NO_PARENT, dtype=np.int32)
    count = np.zeros((len(parents), layout.hosts), dtype=np.intp)
    route, rank = np.nonzero(leaves)
    np.add.at(count, (route, host_of[rank]), 1)
    trees[route, host_of[rank]] = above[route, rank]
    return trees if (count == 1).all() else None


def _masters_of_groups(trees: Parents, layout: Layout) -> Indices | None:
    """(R, G) the master of each group in each route, or None where it is not of two levels."""
    group_of = layout.group_of
    routes = np.arange(len(trees))
    above = np.maximum(trees, 0)
    is_master = (trees == NO_PARENT) | (group_of[above] != group_of[None, :])
    masters = np.empty((len(trees), layout.groups), dtype=np.intp)
    for group in range(layout.groups):
        members = np.flatnonzero(group_of == group)
        if (is_master[:, members].sum(axis=1) != 1).any():
            return None
        masters[:, group] = members[np.argmax(is_master[:, members], axis=1)]
    expected = masters[:, group_of].astype(np.int32)
    roots = np.argmax(trees == NO_PARENT, axis=1)
    expected[routes[:, None], masters] = roots[:, None]
    expected[routes, roots] = NO_PARENT
    return masters if (trees == expected).all() else None
