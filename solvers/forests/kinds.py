"""Forests of every kind: flat, chunked ring, double binary tree and two-level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.nccl import double_tree as parents_in_both
from plink.solvers.forests.balance import MasterShares, master_shares
from plink.solvers.forests.routes import Indices, Parents, Routes, make_routes

# Shares below this are what rounding left over.
_NOTHING = 1e-10

_GOLDEN = 0.6180339887498949


def flat(link_bytes_s: npt.ArrayLike) -> Routes:
    """Return one star per member, weighted so that all members' links finish together.

    Flat sharded aggregation, by a parameter server (PS) that is fully sharded and colocated. Equal
    links get equal shares: Luo 2020, Table 4.1, "PS (fully sharded)".

    Args:
        link_bytes_s: (P,) what each member's link carries in either direction.

    Raises:
        ValueError: no members, or rates that are not above 0.
    """
    rates = np.asarray(link_bytes_s, dtype=np.float64)
    everyone = np.arange(len(rates))
    shares = master_shares(np.zeros(len(rates), dtype=np.intp), rates, np.array([np.inf]))
    roots = np.flatnonzero(shares.of_members > 0.0)
    parents = np.where(everyone[None, :] == roots[:, None], -1, roots[:, None])
    return make_routes(shares.of_members[roots], parents)


def ring(order: Sequence[int]) -> Routes:
    """Return the chunked ring: one chain per member, with equal weights.

    The sum goes round from the member after the root to the root, and on round again.

    Args:
        order: the members in the order in which they send to each other.

    Raises:
        ValueError: no permutation.
    """
    members = _permutation(order)
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

    The double binary tree (Sanders, Speck, Träff 2009), as NCCL builds it.

    Args:
        order: the members by their place in the trees; neighbours are near each other there.

    Raises:
        ValueError: no permutation.
    """
    members = _permutation(order)
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
    (`plink.solvers.forests.balance`). The paper deals whole chunks to masters by an approximate set
    partition; here a route may be split among masters, so the shares are met exactly (McNaughton's
    wrap-around rule, 1959). Equal links in equal groups give N routes of equal weight for N
    members, each of them the GM of one.

    Args:
        group_of: (P,) the group of each member, 0 to G-1; no group is empty.
        link_bytes_s: (P,) what each member's link carries in either direction.
        uplink_bytes_s: (G,) what each group's does; infinite where unlimited.

    Raises:
        ValueError: no members, an empty group, or rates that are not above 0.
    """
    groups = np.asarray(group_of, dtype=np.intp)
    return with_masters(groups, master_shares(groups, link_bytes_s, uplink_bytes_s))


def with_masters(groups: Indices, shares: MasterShares) -> Routes:
    """Return the routes in which each member is master of its share (`two_level`).

    Args:
        groups: (P,) the group of each member, 0 to G-1; no group is empty.
        shares: that each is met.
    """
    weights, masters = _wrap_around(groups, shares)
    trees = [_tree(groups, gm, of_group) for gm, of_group in masters]
    places = _spread(len(trees))
    return make_routes(np.array(weights)[places], np.array(trees)[places])


@dataclass
class _Queue:
    """Members of a group with the shares for which each has yet to be local master."""

    members: Sequence[int]
    left: list[float]
    turn: int = 0

    @property
    def share(self) -> float:
        """Share that the next member has left; unlimited for the last one."""
        return self.left[self.turn] if self.turn + 1 < len(self.left) else np.inf

    def take(self, share: float) -> None:
        self.left[self.turn] -= share
        while self.share <= _NOTHING:
            self.turn += 1


def _wrap_around(
    groups: Indices, shares: MasterShares
) -> tuple[list[float], list[tuple[int, list[int]]]]:
    """Return each route's weight, its global master and the local master of each group."""
    members = [np.flatnonzero(groups == group).tolist() for group in range(int(groups.max()) + 1)]
    queues = []
    for group, own in enumerate(members):
        queue = _Queue(own, (shares.of_members[own] * (1.0 - shares.of_groups[group])).tolist())
        queue.take(0.0)
        queues.append(queue)
    weights: list[float] = []
    masters: list[tuple[int, list[int]]] = []
    for gm in _in_turns(members):
        left = float(shares.of_members[gm] * shares.of_groups[groups[gm]])
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


def _in_turns(members: Sequence[Sequence[int]]) -> list[int]:
    """Return the first member of each group, then the second of each, and so on."""
    longest = max(map(len, members))
    return [own[turn] for turn in range(longest) for own in members if turn < len(own)]


def _tree(groups: Indices, gm: int, lms: Sequence[int]) -> Parents:
    of_group = np.asarray(lms, dtype=np.int32)
    parents = of_group[groups]
    parents[of_group] = gm
    parents[gm] = -1
    return parents


def _spread(count: int) -> Indices:
    """Return a permutation that separates adjacent indices.

    The routes of one master stand next to each other; dealt like that, chunks that follow each
    other would all wait for the same few members.
    """
    step = max(1, round(_GOLDEN * count))
    while gcd(step, count) > 1:
        step += 1
    return np.arange(count) * step % count


def _permutation(order: Sequence[int]) -> Indices:
    """Return the order as an index array.

    Raises:
        ValueError: empty, or no permutation of 0 to N-1.
    """
    members = np.asarray(order, dtype=np.intp)
    if not members.size or sorted(members.tolist()) != list(range(len(members))):
        raise ValueError(f"not a permutation of 0 to {len(members) - 1}")
    return members
