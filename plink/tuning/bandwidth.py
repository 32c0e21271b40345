"""From readings to what each link is believed to carry, and which flows are slow by themselves.

A slow flow has one of three causes: a host (then all flows of that host are slow), a group's uplink
(then all flows that leave the group are, and those inside are not), or the flow's own path. The
fewest causes that explain what is seen are taken: hosts first, then uplinks, and what is left are
flows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plink.tuning.masters import Layout
from plink.tuning.options import TunerOptions
from plink.tuning.readings import Flags, Reader, Readings, by_link, flows_of
from plink.tuning.window import Floats, Window, merged

# How much of a link's bytes has to have been limited there for it to be a cause. The clearest
# causes are taken first, since they explain flows that make others look slow.
_CLEARNESS = (0.95, 0.8)

# A flow that is slow by itself is busy so many times as long as the busiest link.
_FLOW_STANDS_OUT = 1.5

# Of a normal distribution, the standard deviation as a multiple of the median deviation.
_DEVIATIONS_PER_MAD = 1.4826

# Where nothing is known yet: most links are about as fast as this one of them.
_USUAL = 0.75


@dataclass(frozen=True)
class Belief:
    """What links carry.

    Args:
        rate_bytes_s: (L,) of each link, in the order of `Readings`; infinite for an uplink that was
            never seen to limit.
        certainty: (L,) from 0 to 1: the share of the link's bytes that were limited there, less
            what its readings differ from window to window.
        slow_flows: (sender, receiver) that are slow though their hosts are not.
        readings: of links by flows that no other link explains.
    """

    rate_bytes_s: Floats
    certainty: Floats
    slow_flows: Sequence[tuple[int, int]]
    readings: Readings

    def hosts_bytes_s(self, layout: Layout) -> Floats:
        """(H,) of each host, the slower of its two directions: plans load both alike."""
        pair = self.rate_bytes_s[: 2 * layout.hosts].reshape(2, -1)
        slower: Floats = pair.min(axis=0)
        return slower

    def uplinks_bytes_s(self, layout: Layout) -> Floats:
        """(G,) of each group, likewise."""
        if layout.groups == 1:
            return np.array([np.inf])
        pair = self.rate_bytes_s[2 * layout.hosts :].reshape(2, -1)
        slower: Floats = pair.min(axis=0)
        return slower


def first_belief(windows: Sequence[Window], layout: Layout, options: TunerOptions) -> Belief:
    """What is believed after the first windows: hosts are alike but for those seen to be slow."""
    rates = Reader(merged(windows), layout).read().rate_bytes_s
    prior = np.full(len(rates), np.inf)
    hosts = rates[: 2 * layout.hosts]
    prior[: 2 * layout.hosts] = np.nanquantile(hosts, _USUAL)
    return believe(prior, windows, layout, options)


def believe(
    prior_bytes_s: Floats, windows: Sequence[Window], layout: Layout, options: TunerOptions
) -> Belief:
    """What is believed after some windows of one plan.

    A link that limited its flows to less than was believed is slow. One that carried more than was
    believed is faster, though no faster than the fastest of its kind: flows that come in bursts
    would promise too much. Of the others nothing new is known.

    Args:
        prior_bytes_s: (L,) what was believed before.
        windows: one or more, under the same plan.
        layout: hosts and groups.
        options: what is alike.
    """
    window = merged(windows)
    reader = Reader(window, layout)
    steadiness = _steadiness(windows, layout)
    rates = prior_bytes_s.copy()
    explained = np.zeros(window.sent_bytes.shape, dtype=bool)
    readings = reader.read()
    certainty = readings.limited * steadiness
    for clearness in _CLEARNESS:
        for kind in _kinds(layout):
            slow = kind & _is_slow(readings, rates, options) & (certainty >= clearness)
            if slow.any():
                rates = np.where(slow, readings.rate_bytes_s, rates)
                explained |= flows_of(slow, layout)
                readings = reader.read(explained)
                certainty = np.maximum(certainty, readings.limited * steadiness)
    for kind in _kinds(layout):
        most = float(prior_bytes_s[kind].max())
        seen = np.nan_to_num(readings.rate_bytes_s, nan=0.0)
        is_faster = kind & (seen > rates * (1.0 + options.alike))
        rates = np.where(is_faster, np.minimum(seen, most), rates)
    return Belief(rates, certainty, _slow_flows(window, readings, explained), readings)


def reading_noise(windows: Sequence[Window], layout: Layout) -> float:
    """The standard deviation of a link's readings from window to window, as a share."""
    steadiness = _steadiness(windows, layout)[: 2 * layout.hosts]
    return float(_DEVIATIONS_PER_MAD * np.median(1.0 - steadiness))


def _kinds(layout: Layout) -> list[Flags]:
    """(L,) which links are hosts', and which are groups'."""
    links = 2 * layout.hosts + (2 * layout.groups if layout.groups > 1 else 0)
    is_host = np.arange(links) < 2 * layout.hosts
    return [is_host, ~is_host] if layout.groups > 1 else [is_host]


def _is_slow(readings: Readings, rates: Floats, options: TunerOptions) -> Flags:
    seen = np.nan_to_num(readings.rate_bytes_s, nan=np.inf)
    slow: Flags = seen < rates * (1.0 - options.alike)
    return slow


def _steadiness(windows: Sequence[Window], layout: Layout) -> Floats:
    """(L,) 1 less the median deviation of how long each link's flows were busy, as a share."""
    busy_s = np.array([by_link(window.busy_s, layout) for window in windows])
    middle = np.median(busy_s, axis=0)
    spread = np.median(np.abs(busy_s - middle), axis=0)
    share = np.divide(spread, middle, out=np.zeros_like(middle), where=middle > 0.0)
    steadiness: Floats = np.clip(1.0 - share, 0.0, 1.0)
    return steadiness


def _slow_flows(window: Window, readings: Readings, explained: Flags) -> list[tuple[int, int]]:
    """Unexplained flows that take much longer than any link."""
    longest_s = float(readings.busy_s.max(initial=0.0))
    slow = np.argwhere(~explained & (window.busy_s > _FLOW_STANDS_OUT * longest_s))
    return [(int(sender), int(receiver)) for sender, receiver in slow]
