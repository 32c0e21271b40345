"""Finetune: move masters from the host with the most blame to the one with the least.

Blame is gamma times time and beta times load, both as multiples of the hosts' mean (Luo 2020,
§4.2.3). Where this departs from the paper:

- load is a multiple of the mean; the paper's (l - min) / (max - min) is 1 for the busiest host even
  where all are equal but for noise, so that moving would never end;
- a host that has nothing left to give is passed over, and where one such host is the slowest by
  far, nothing is moved at all: it would gain nothing;
- an LM can only go to a host of its group, so that the most and the least blamed are looked for
  within groups, and for GMs among groups by mean blame; the greatest ratio is acted on. With two
  groups it does not matter which has the GM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plink.autotune.tuner.bandwidth import Belief
from plink.autotune.tuner.interface import Floats, TunerOptions, Window, merge_windows
from plink.autotune.tuner.masters import Layout, Masters, normalise_shares
from plink.autotune.tuner.readings import Flags

# A host so near to the slowest has a part in how long an iteration takes.
_NEAR_SLOWEST = 0.9

# What the most and the least of several equal readings differ by, in times of what two may.
_EXTREMES = 1.5

# Below this share a host is a master of nothing.
_NOTHING = 1e-6


@dataclass(frozen=True)
class Move:
    """Step of Finetune.

    Args:
        masters: after it.
        giver, taker: hosts.
        doublings: how often the step was doubled, since the same host kept the blame.
        ratio: of the giver's blame to the taker's.
    """

    masters: Masters
    giver: int
    taker: int
    doublings: int
    ratio: float


def host_times_s(window: Window, belief: Belief, layout: Layout) -> Floats:
    """(H,) how long each host needs: its greatest round trip, and bytes through its slower link.

    A host whose group's uplink takes longer needs as long as that.
    """
    busy = belief.readings.busy_s
    hosts = layout.hosts
    # A host whose flows are all explained elsewhere needs what these take.
    own = busy[: 2 * hosts].reshape(2, -1).max(axis=0)
    flows_s = np.maximum(window.busy_s.max(axis=1), window.busy_s.max(axis=0))
    own = np.where(own > 0.0, own, flows_s)
    slow = np.divide(
        window.sent_bytes.sum(axis=1) + window.sent_bytes.sum(axis=0),
        2.0 * belief.hosts_bytes_s(layout),
    )
    times = np.maximum(own, slow)
    if layout.groups > 1:
        of_groups = busy[2 * hosts :].reshape(2, -1).max(axis=0)
        times = np.maximum(times, of_groups[layout.group_of])
    seconds: Floats = window.rtt_s + times
    return seconds


def blames(times_s: Floats, window: Window, options: TunerOptions) -> Floats:
    """Return (H,) the blame of each host."""
    loads = window.sent_bytes.sum(axis=1) + window.sent_bytes.sum(axis=0)
    blame: Floats = (
        options.blame_time_weight * times_s / times_s.mean()
        + options.blame_load_weight * loads / loads.mean()
    )
    return blame


def next_move(
    masters: Masters,
    windows: Sequence[Window],
    belief: Belief,
    layout: Layout,
    options: TunerOptions,
    *,
    last: Move | None = None,
    held: Sequence[int] = (),
) -> Move | None:
    """Return the next move, or None if there is nothing to gain.

    Args:
        masters: now.
        windows: what was measured under them.
        belief: what links carry, by these windows.
        layout: hosts and groups.
        options: weights, ratio and step.
        last: the move before, if it has just been made.
        held: hosts that neither give nor take for now.
    """
    window = merge_windows(windows)
    times_s = host_times_s(window, belief, layout)
    blame = blames(times_s, window, options)
    is_free = np.ones(layout.hosts, dtype=bool)
    is_free[list(held)] = False
    is_slowest = times_s >= _NEAR_SLOWEST * times_s.max()
    gives = is_free & (masters.of_hosts > _NOTHING) & is_slowest
    found = max(
        _pairs(masters, blame, gives, is_free, layout), key=lambda pair: pair[0], default=None
    )
    # The hosts at the two ends differ by more than two hosts do by chance.
    least = max(options.blame_ratio, 1.0 + _EXTREMES * options.alike)
    if found is None or found[0] <= least:
        return None
    ratio, giver, taker = found
    doublings = last.doublings + 1 if last is not None and last.giver == giver else 0
    moved = _move_masters(masters, layout, giver, taker, options.step_share * 2.0**doublings)
    return Move(moved, giver, taker, doublings, ratio)


def _pairs(
    masters: Masters, blame: Floats, gives: Flags, takes: Flags, layout: Layout
) -> Iterator[tuple[float, int, int]]:
    """Ratio, giver and taker: in each group for LMs, and between two groups for GMs."""
    groups = [layout.group_of == group for group in range(layout.groups)]
    for members in groups:
        giver, taker = _most(blame, gives & members), _most(-blame, takes & members)
        if giver is not None and taker is not None and giver != taker:
            yield float(blame[giver] / blame[taker]), giver, taker
    if layout.groups < 3:
        return
    of_groups = np.array([blame[members].mean() for members in groups])
    giving = np.array([(gives & members).any() for members in groups])
    source = _most(of_groups, giving & (masters.of_groups > _NOTHING))
    target = _most(-of_groups, np.array([(takes & members).any() for members in groups]))
    if source is not None and target is not None and source != target:
        giver, taker = _most(blame, gives & groups[source]), _most(-blame, takes & groups[target])
        if giver is not None and taker is not None:
            yield float(of_groups[source] / of_groups[target]), giver, taker


def _most(values: Floats, among: Flags) -> int | None:
    return int(np.argmax(np.where(among, values, -np.inf))) if among.any() else None


def _move_masters(masters: Masters, layout: Layout, giver: int, taker: int, step: float) -> Masters:
    """A step is a multiple of what a host, or a group, has on average."""
    of_groups, of_hosts = masters.of_groups.copy(), masters.of_hosts.copy()
    source, target = layout.group_of[giver], layout.group_of[taker]
    if source == target:
        share = min(step / layout.sizes[source], of_hosts[giver])
        of_hosts[giver] -= share
        of_hosts[taker] += share
    else:
        share = min(step / layout.groups, of_groups[source])
        of_groups[source] -= share
        of_groups[target] += share
    return normalise_shares(of_groups, of_hosts, layout)
