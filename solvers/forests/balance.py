"""Shares of the buffer by master, balanced so that all links finish together.

With shares x of the buffer that a member is global master (GM) of, m that it is a master of (global
or of its group), n members in its group, G groups, and X the sum of x over a group, two-level
aggregation (Luo 2020, §4.1.2) of a buffer of 1 puts on every link, in each direction,

    on a member's      1 - x + m (n - 1) + x (G - 1)
    on a group's       1 - X + X (G - 1)

because what goes up one way comes down the other. The masters of a group sum up to 1. So a member
whose link carries B in a time t has room for t B - 1 beyond its own share, and a group needs room
for n - 1 + X (G - 2) in all. It does not matter which of its masters do that, so that the least t
is the one at which the groups together have room for GMs of the whole buffer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.forests.routes import Floats, Indices

# Readings of equal links differ by so much.
_ALIKE = 0.05

# How much faster than the fastest other link one is that is unlimited.
_UNLIMITED = 1e6

_HALVINGS = 200


@dataclass(frozen=True)
class MasterShares:
    """Shares of the buffer for which groups and members are masters.

    Args:
        of_groups: (G,) the share of the buffer whose GM is in each group; the sum is 1.
        of_members: (P,) the share of its group's chunks that each member is a master of, those with
            a GM in the group and the others alike; the sum is 1 in every group.
        seconds_per_byte: seconds per byte of the busiest link.
    """

    of_groups: Floats
    of_members: Floats
    seconds_per_byte: float


def master_shares(
    group_of: Indices, link_bytes_s: npt.ArrayLike, uplink_bytes_s: npt.ArrayLike
) -> MasterShares:
    """Return the shares with which the busiest link finishes first.

    Rates that differ by a twentieth at most count as equal, at the least of them.

    Args:
        group_of: (P,) the group of each member, 0 to G-1; no group is empty.
        link_bytes_s: (P,) what each member's link carries in either direction.
        uplink_bytes_s: (G,) what each group's does; infinite where unlimited.

    Raises:
        ValueError: no members, an empty group, or rates that are not above 0.
    """
    links = _level_rates(_finite(_rates(link_bytes_s, len(group_of), "link_bytes_s")))
    sizes = np.bincount(group_of)
    if not sizes.size or not sizes.all():
        raise ValueError("every group must have a member, and there must be a group")
    uplinks = _level_rates(_rates(uplink_bytes_s, len(sizes), "uplink_bytes_s"))
    room = _Room(group_of, sizes, links, uplinks)
    time = _least_time(room)
    return MasterShares(room.of_groups(time), room.of_members(time), time)


@dataclass(frozen=True)
class _Room:
    """Capacity of the links for a buffer of one byte within a given time."""

    group_of: Indices
    sizes: npt.NDArray[np.intp]
    links: Floats
    uplinks: Floats

    @property
    def least_time(self) -> float:
        """Least time in which every member and group can send and receive the buffer once."""
        if len(self.group_of) == 1:
            return 0.0
        own = float((1.0 / self.links).max())
        return own if len(self.sizes) == 1 else max(own, float((1.0 / self.uplinks).max()))

    def is_enough(self, time: float) -> bool:
        groups = len(self.sizes)
        if groups == 1:
            return bool(self._for_masters(time)[0] >= self.sizes[0] - 2)
        if (self._for_masters(time) < self.sizes - 1).any():
            return False
        return groups == 2 or float(self._for_gms(time).sum()) >= 1.0

    def of_groups(self, time: float) -> Floats:
        """Return the shares of global masters by group, from capacity or group sizes."""
        weights = self.sizes if len(self.sizes) < 3 else self._for_gms(time)
        shares: Floats = weights / weights.sum()
        return shares

    def of_members(self, time: float) -> Floats:
        room = self._beyond_own(time)
        total = np.bincount(self.group_of, room)[self.group_of]
        even = 1.0 / self.sizes[self.group_of]
        return np.divide(room, total, out=even, where=total > 0.0)

    def _beyond_own(self, time: float) -> Floats:
        return np.maximum(time * self.links - 1.0, 0.0)

    def _for_masters(self, time: float) -> Floats:
        return np.bincount(self.group_of, self._beyond_own(time)).astype(np.float64)

    def _for_gms(self, time: float) -> Floats:
        """Return the share of the buffer whose global master each group has capacity for, (G,)."""
        inside = self._for_masters(time) - (self.sizes - 1)
        between = time * self.uplinks - 1.0
        return np.clip(np.minimum(inside, between) / (len(self.sizes) - 2), 0.0, 1.0)


def _least_time(room: _Room) -> float:
    """Return the least time with enough capacity, by bisection."""
    low = room.least_time
    if room.is_enough(low):
        return low
    high = 2.0 * low
    while not room.is_enough(high):
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        low, high = (low, middle) if room.is_enough(middle) else (middle, high)
    return high


def _level_rates(rates: Floats) -> Floats:
    """Return rates with nearly equal ones set to their minimum."""
    levelled = rates.copy()
    level = -np.inf
    for place in np.argsort(rates, kind="stable"):
        if rates[place] > level * (1.0 + _ALIKE):
            level = rates[place]
        levelled[place] = level
    return levelled


def _finite(rates: Floats) -> Floats:
    """Return rates with unlimited ones replaced by very large numbers."""
    is_finite = np.isfinite(rates)
    most = float(rates[is_finite].max()) if is_finite.any() else 1.0
    return np.where(is_finite, rates, _UNLIMITED * most if is_finite.any() else most)


def _rates(values: npt.ArrayLike, count: int, name: str) -> Floats:
    rates = np.asarray(values, dtype=np.float64)
    if rates.shape != (count,) or not (rates > 0.0).all():
        raise ValueError(f"{name} is not ({count},) rates above 0")
    return rates
