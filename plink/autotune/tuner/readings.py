"""Readings of links from the flows that cross them: both directions of each host and group.

A link that limits its flows keeps all of them busy at the same time and until the end, so that it
carries their bytes in the time in which they were busy. For a link that does not, the quotient says
little: its flows wait for other ends, or come in bursts. So each reading comes with how much
of its bytes belongs to flows that were busy about as long as those of the busiest link.

How long a link was busy is the mean of its flows without the quarter of its bytes that was busy
least and the quarter that was busy most (an interquartile mean): some flows are always out of line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.autotune.tuner.interface import Floats, Window
from plink.autotune.tuner.masters import Layout

Flags = npt.NDArray[np.bool_]

# A flow that was busy for such a share of the busiest link's time is one of those that end last.
_LONG = 0.7

_QUARTER = 0.25


@dataclass(frozen=True)
class Readings:
    """Readings of L links: hosts sending, hosts receiving, then groups likewise if several.

    Args:
        rate_bytes_s: (L,) what each carried while it was busy; NaN where nothing crossed it.
        busy_s: (L,) of an iteration, how long.
        limited: (L,) of its bytes, the share that belongs to flows that were busy the longest.
    """

    rate_bytes_s: Floats
    busy_s: Floats
    limited: Floats


class Reader:
    """Reads the links of a window again and again, with more and more flows explained.

    Args:
        window: what was measured.
        layout: hosts and groups.
    """

    def __init__(self, window: Window, layout: Layout) -> None:
        self._window = window
        self._layout = layout
        self._sorted = [
            (view, order, np.take_along_axis(view.of(window.busy_s), order, axis=1))
            for view in _views(layout)
            for order in [np.argsort(view.of(window.busy_s), axis=1)]
        ]

    def read(self, explained: Flags | None = None) -> Readings:
        """Return the readings of all links.

        Args:
            explained: (H, H) flows that are known to be limited elsewhere: they count with the rate
                that they had, and say nothing about how long a link was busy.
        """
        sent, busy_s = self._window.sent_bytes, self._window.busy_s
        known = np.zeros(sent.shape, dtype=bool) if explained is None else explained
        own = np.where(known | (busy_s <= 0.0), 0.0, sent)
        passing = np.divide(sent, busy_s, out=np.zeros_like(sent), where=known & (busy_s > 0.0))
        bytes_own = by_link(own, self._layout)
        busy = np.concatenate(
            [
                middle_mean(sorted_s, np.take_along_axis(view.of(own), order, axis=1))
                for view, order, sorted_s in self._sorted
            ]
        )
        is_long = busy_s >= _LONG * float(busy.max(initial=0.0))
        long_bytes = by_link(np.where(is_long, own, 0.0), self._layout)
        has_any = bytes_own > 0.0
        nothing = np.zeros_like(bytes_own)
        carried = np.divide(bytes_own, busy, out=np.full_like(busy, np.nan), where=has_any)
        limited = np.divide(long_bytes, bytes_own, out=nothing, where=has_any)
        return Readings(carried + by_link(passing, self._layout), busy, limited)


@dataclass(frozen=True)
class _View:
    """Some links, one a row, and the flows that cross each, one a column.

    Args:
        axis: 0 where the links are senders', 1 where they are receivers'.
        group: whose uplink; None for all hosts.
        layout: hosts and groups.
    """

    axis: int
    group: int | None
    layout: Layout

    def of(self, flows: Floats) -> Floats:
        """Return (links, flows of each)."""
        turned = flows if self.axis == 0 else flows.T
        if self.group is None:
            return turned
        is_inside = self.layout.group_of == self.group
        return turned[np.ix_(is_inside, ~is_inside)].reshape(1, -1)


def _views(layout: Layout) -> Iterator[_View]:
    for axis in (0, 1):
        yield _View(axis, None, layout)
    if layout.groups > 1:
        for axis in (0, 1):
            for group in range(layout.groups):
                yield _View(axis, group, layout)


def middle_mean(ascending: Floats, weights: Floats) -> Floats:
    """(links,) the mean without the least and the greatest quarter by weight; 0 where none is.

    Args:
        ascending: (links, flows) values, each row in ascending order.
        weights: (links, flows) of these values.
    """
    ends = np.cumsum(weights, axis=1)
    total = ends[:, -1:].copy()
    np.clip(ends, _QUARTER * total, (1.0 - _QUARTER) * total, out=ends)
    kept = np.diff(ends, axis=1, prepend=_QUARTER * total)
    summed = np.einsum("ij,ij->i", kept, ascending)
    half = (1.0 - 2.0 * _QUARTER) * total[:, 0]
    mean: Floats = np.divide(summed, half, out=np.zeros_like(half), where=half > 0.0)
    return mean


def by_link(flows: Floats, layout: Layout) -> Floats:
    """Return (L,) the sum of what crosses each link."""
    sums = [flows.sum(axis=1), flows.sum(axis=0)]
    if layout.groups > 1:
        crossing = np.where(crosses_groups(layout), flows, 0.0)
        sums += [
            np.bincount(layout.group_of, crossing.sum(axis=axis), layout.groups) for axis in (1, 0)
        ]
    return np.concatenate(sums)


def crosses_groups(layout: Layout) -> Flags:
    """Return (H, H) whether a flow leaves its group."""
    crosses: Flags = layout.group_of[:, None] != layout.group_of[None, :]
    return crosses


def flows_of(links: Flags, layout: Layout) -> Flags:
    """Return (H, H) the flows that cross any of the chosen links, given as (L,)."""
    hosts = layout.hosts
    flows: Flags = links[:hosts, None] | links[None, hosts : 2 * hosts]
    if layout.groups > 1:
        out, into = links[2 * hosts : 2 * hosts + layout.groups], links[2 * hosts + layout.groups :]
        beyond = out[layout.group_of][:, None] | into[layout.group_of][None, :]
        flows = flows | (beyond & crosses_groups(layout))
    return flows
