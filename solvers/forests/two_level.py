"""Two-level hierarchical aggregation (2LHA, Luo 2020, §4.1.2 and §4.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np
import numpy.typing as npt

from solvers.forests.balance import MasterShares, master_shares
from solvers.forests.routes import Indices, Parents, Routes, make_routes

# Shares below this are what rounding left over.
_NOTHING = 1e-10

_GOLDEN = 0.6180339887498949


def two_level(
    group_of: Sequence[int] | Indices, link_bytes_s: npt.ArrayLike, uplink_bytes_s: npt.ArrayLike
) -> Routes:
    """A chunk's members send to the local master (LM) of their group, LMs to the global one (GM).

    The GM is the LM of its own group. How much of the buffer has its masters where is balanced
    within and across groups (`solvers.forests.balance`). The paper deals whole chunks to masters by
    an approximate set partition; here a route may be split among masters, so the shares are met
    exactly (McNaughton's wrap-around rule, 1959). Equal links in equal groups give N routes of
    equal weight for N members, each of them the GM of one.

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
    """The routes in which each member is a master of its share (`two_level`).

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
    """The members of a group, and how much of the buffer each is still to be LM of."""

    members: Sequence[int]
    left: list[float]
    turn: int = 0

    @property
    def share(self) -> float:
        """How much the one whose turn it is has left; no end to the last one's."""
        return self.left[self.turn] if self.turn + 1 < len(self.left) else np.inf

    def take(self, share: float) -> None:
        self.left[self.turn] -= share
        while self.share <= _NOTHING:
            self.turn += 1


def _wrap_around(
    groups: Indices, shares: MasterShares
) -> tuple[list[float], list[tuple[int, list[int]]]]:
    """Of every route its weight, its GM, and the LM of each group."""
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
    """One of each group, then the next of each."""
    longest = max(map(len, members))
    return [own[turn] for turn in range(longest) for own in members if turn < len(own)]


def _tree(groups: Indices, gm: int, lms: Sequence[int]) -> Parents:
    of_group = np.asarray(lms, dtype=np.int32)
    parents = of_group[groups]
    parents[of_group] = gm
    parents[gm] = -1
    return parents


def _spread(count: int) -> Indices:
    """A permutation that puts what was next to each other far apart.

    The routes of one master stand next to each other; dealt like that, chunks that follow each
    other would all wait for the same few members.
    """
    step = max(1, round(_GOLDEN * count))
    while gcd(step, count) > 1:
        step += 1
    return np.arange(count) * step % count
