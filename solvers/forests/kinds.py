"""Builders of a plan's trees, by kind: flat, chunked ring, double binary tree and two-level."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.nccl import double_tree as parents_in_both
from plink.solvers.forests.trees import Floats, Indices, Parents, Routes, make_routes

# Readings of equal links differ by so much.
_ALIKE = 0.05

# How much faster than the fastest other link one is that is unlimited.
_UNLIMITED = 1e6

_HALVINGS = 200

# Shares below this are what rounding left over.
_NOTHING = 1e-10

_GOLDEN = 0.6180339887498949


@dataclass(frozen=True)
class MasterShares:
    """Share of the buffer that each group and each member aggregates as a master.

    Args:
        share_by_group: (G,) the share of the buffer whose GM is in each group; the sum is 1.
        share_by_member: (P,) the share of its group's chunks that each member is a master of, those
            with a GM in the group and the others alike; the sum is 1 in every group.
        seconds_per_byte: seconds per byte of the busiest link.
    """

    share_by_group: Floats
    share_by_member: Floats
    seconds_per_byte: float


def master_shares(
    group_of: Indices, link_bytes_s: npt.ArrayLike, uplink_bytes_s: npt.ArrayLike
) -> MasterShares:
    """Return the masters' shares of the buffer with which the busiest link finishes earliest.

    Rates that differ by a twentieth at most count as equal, at the least of them.

    Args:
        group_of: (P,) the group of each member, 0 to G-1; no group is empty.
        link_bytes_s: (P,) what each member's link carries in either direction.
        uplink_bytes_s: (G,) what each group's does; infinite where unlimited.
    """
    links = _level_rates(replace_unlimited(np.asarray(link_bytes_s, dtype=np.float64)))
    sizes = np.bincount(group_of)
    uplinks = _level_rates(np.asarray(uplink_bytes_s, dtype=np.float64))
    capacity = _LinkCapacity(group_of, sizes, links, uplinks)
    time = capacity.find_least_time()
    return MasterShares(capacity.share_by_group(time), capacity.share_by_member(time), time)


@dataclass(frozen=True)
class _LinkCapacity:
    """Capacity of links and uplinks to carry a buffer of one byte within a given time."""

    group_of: Indices
    sizes: npt.NDArray[np.intp]
    links: Floats
    uplinks: Floats

    def find_least_time(self) -> float:
        """Return the least seconds per byte of the buffer that links allow, by bisection."""
        if len(self.group_of) == 1:
            return 0.0
        # Every member and group sends and receives the buffer once.
        slowest = min(self.links.min(), self.uplinks.min() if len(self.sizes) > 1 else np.inf)
        low = float(1.0 / slowest)
        if self.is_enough(low):
            return low
        high = 2.0 * low
        while not self.is_enough(high):
            low, high = high, 2.0 * high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            if not low < middle < high:
                break
            low, high = (low, middle) if self.is_enough(middle) else (middle, high)
        return high

    def is_enough(self, time: float) -> bool:
        groups = len(self.sizes)
        if groups == 1:
            return bool(self._compute_master_capacity(time)[0] >= self.sizes[0] - 2)
        if (self._compute_master_capacity(time) < self.sizes - 1).any():
            return False
        return groups == 2 or float(self._compute_gm_capacity(time).sum()) >= 1.0

    def share_by_group(self, time: float) -> Floats:
        """Return the share of the buffer whose global masters are in each group, (G,)."""
        weights = self.sizes if len(self.sizes) < 3 else self._compute_gm_capacity(time)
        shares: Floats = weights / weights.sum()
        return shares

    def share_by_member(self, time: float) -> Floats:
        room = self._beyond_own(time)
        total = np.bincount(self.group_of, room)[self.group_of]
        even = 1.0 / self.sizes[self.group_of]
        return np.divide(room, total, out=even, where=total > 0.0)

    def _beyond_own(self, time: float) -> Floats:
        return np.maximum(time * self.links - 1.0, 0.0)

    def _compute_master_capacity(self, time: float) -> Floats:
        return np.bincount(self.group_of, self._beyond_own(time)).astype(np.float64)

    def _compute_gm_capacity(self, time: float) -> Floats:
        """Return the share of the buffer that each group can be global master of, (G,)."""
        inside = self._compute_master_capacity(time) - (self.sizes - 1)
        between = time * self.uplinks - 1.0
        return np.clip(np.minimum(inside, between) / (len(self.sizes) - 2), 0.0, 1.0)


def _level_rates(rates: Floats) -> Floats:
    """Return link rates with nearly equal ones set to their minimum."""
    levelled = rates.copy()
    level = -np.inf
    for place in np.argsort(rates, kind="stable"):
        if rates[place] > level * (1.0 + _ALIKE):
            level = rates[place]
        levelled[place] = level
    return levelled


def replace_unlimited(rates: Floats) -> Floats:
    """Return rates with infinite ones replaced by a large multiple of the greatest finite one."""
    is_finite = np.isfinite(rates)
    most = float(rates[is_finite].max()) if is_finite.any() else 1.0
    return np.where(is_finite, rates, _UNLIMITED * most if is_finite.any() else most)


def flat(link_bytes_s: npt.ArrayLike) -> Routes:
    """Return one star per member as root, weighted so that all members' links finish together.

    Flat sharded aggregation, by a parameter server (PS) that is fully sharded and colocated. Equal
    links get equal shares: Luo 2020, Table 4.1, "PS (fully sharded)".

    Args:
        link_bytes_s: (P,) what each member's link carries in either direction.
    """
    rates = np.asarray(link_bytes_s, dtype=np.float64)
    everyone = np.arange(len(rates))
    shares = master_shares(np.zeros(len(rates), dtype=np.intp), rates, np.array([np.inf]))
    roots = np.flatnonzero(shares.share_by_member > 0.0)
    parents = np.where(everyone[None, :] == roots[:, None], -1, roots[:, None])
    return make_routes(shares.share_by_member[roots], parents)


def ring(order: Sequence[int]) -> Routes:
    """Return the routes of a chunked ring: one chain per member as root, with equal weights.

    The sum goes round from the member after the root to the root, and on round again. The members
    are in the order in which they send to each other.
    """
    members = np.asarray(order, dtype=np.intp)
    after = np.empty_like(members)
    after[members] = np.roll(members, -1)
    before = np.empty_like(members)
    before[members] = np.roll(members, 1)
    up = np.tile(after, (len(members), 1))
    down = np.tile(before, (len(members), 1))
    # Roots in the order of the ring, so that chunks begin everywhere at once.
    routes = np.arange(len(members))
    up[routes, members] = -1
    down[routes, members] = -1
    return make_routes(np.ones(len(members)), up, down)


def double_tree(order: Sequence[int]) -> Routes:
    """Return two binary trees with half of the buffer each and different leaves.

    The double binary tree (Sanders, Speck, Träff 2009), as NCCL builds it. Members that are next to
    each other in the order are near each other in the trees.
    """
    members = np.asarray(order, dtype=np.intp)
    trees = np.empty((2, len(members)), dtype=np.intp)
    for tree, above in zip(trees, parents_in_both(len(members)), strict=True):
        tree[members] = np.where(above >= 0, members[above], -1)
    return make_routes([1.0, 1.0], trees)


def two_level(
    group_of: Sequence[int] | Indices, link_bytes_s: npt.ArrayLike, uplink_bytes_s: npt.ArrayLike
) -> Routes:
    """Return routes from members to a local master (LM), and from LMs to a global one (GM).

    Two-level hierarchical aggregation (2LHA, Luo 2020, §4.1.2 and §4.2.2). The GM is the LM of its
    own group. How much of the buffer has its masters where is balanced within and across groups
    (`plink.solvers.forests.servers`). The paper deals whole chunks to masters by an approximate set
    partition; here a route may be split among masters, so the shares are met exactly (McNaughton's
    wrap-around rule, 1959). Equal links in equal groups give N routes of equal weight for N
    members, each of them the GM of one. Arguments and errors are those of `master_shares`.
    """
    groups = np.asarray(group_of, dtype=np.intp)
    return with_masters(groups, master_shares(groups, link_bytes_s, uplink_bytes_s))


def with_masters(groups: Indices, shares: MasterShares) -> Routes:
    """Return two-level routes in which each member is a master of its given share."""
    weights, masters = _wrap_around(groups, shares)
    trees = [_tree(groups, gm, of_group) for gm, of_group in masters]
    places = _spread(len(trees))
    return make_routes(np.array(weights)[places], np.array(trees)[places])


@dataclass
class _Queue:
    """Members of a group, with the share of the buffer that each has yet to get as local master."""

    members: Sequence[int]
    left: list[float]
    turn: int = 0

    @property
    def share(self) -> float:
        """Share that the next local master has left to get; infinite for the last member."""
        return self.left[self.turn] if self.turn + 1 < len(self.left) else np.inf

    def take(self, share: float) -> None:
        self.left[self.turn] -= share
        while self.share <= _NOTHING:
            self.turn += 1


def _wrap_around(
    groups: Indices, shares: MasterShares
) -> tuple[list[float], list[tuple[int, list[int]]]]:
    """Deal the masters' shares to routes; return weights, and global and local masters of each."""
    members = [np.flatnonzero(groups == group).tolist() for group in range(int(groups.max()) + 1)]
    lacking = shares.share_by_member * (1.0 - shares.share_by_group[groups])
    queues = [_Queue(own, lacking[own].tolist()) for own in members]
    for queue in queues:
        queue.take(0.0)
    weights: list[float] = []
    masters: list[tuple[int, list[int]]] = []
    # The first member of each group, then the second of each, and so on.
    rows = itertools.zip_longest(*members)
    for gm in (member for row in rows for member in row if member is not None):
        left = float(shares.share_by_member[gm] * shares.share_by_group[groups[gm]])
        others = [queue for group, queue in enumerate(queues) if group != groups[gm]]
        while left > _NOTHING:
            share = min(left, *(queue.share for queue in others)) if others else left
            of_group = [queue.members[queue.turn] for queue in queues]
            of_group[groups[gm]] = gm
            weights.append(share)
            masters.append((gm, of_group))
            for queue in others:
                queue.take(share)
            left -= share
    return weights, masters


def _tree(groups: Indices, gm: int, lms: Sequence[int]) -> Parents:
    of_group = np.asarray(lms, dtype=np.int32)
    parents = of_group[groups]
    parents[of_group] = gm
    parents[gm] = -1
    return parents


def _spread(count: int) -> Indices:
    """Return a permutation of indices, (count,), that moves adjacent ones far apart.

    The routes of one master stand next to each other; dealt like that, chunks that follow each
    other would all wait for the same few members.
    """
    step = max(1, round(_GOLDEN * count))
    while gcd(step, count) > 1:
        step += 1
    return np.arange(count) * step % count
