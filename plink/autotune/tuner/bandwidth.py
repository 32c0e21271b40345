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

from plink.autotune.tuner.interface import Floats, TunerOptions, Window, merge_windows
from plink.autotune.tuner.masters import Layout
from plink.autotune.tuner.names import Names
from plink.autotune.tuner.readings import Flags, Reader, Readings, by_link, flows_of, middle_mean
from plink.base.text import share_text

# How much of a link's bytes has to have been limited there for it to be a cause. The clearest
# causes are taken first, since they explain flows that make others look slow.
_CLEARNESS = (0.9, 0.75, 0.6)

# A flow that is slow by itself is busy so many times as long as the busiest link.
_FLOW_STANDS_OUT = 1.5

# So many hosts are looked at for the noise of all.
_SAMPLED = 64

# Where nothing is known yet: most links are about as fast as this one of them.
_USUAL = 0.75

# More hosts, flows or uplinks are not named in a sentence.
_NAMED = 3


@dataclass(frozen=True)
class SlowFlow:
    """A flow that is slow though neither its hosts nor their groups are.

    Args:
        sender, receiver: hosts.
        rate_bytes_s: while it was busy.
        retransmissions: segments sent again in the latest window.
    """

    sender: int
    receiver: int
    rate_bytes_s: float
    retransmissions: int


@dataclass(frozen=True)
class Belief:
    """Estimated rates of links.

    Args:
        rate_bytes_s: (L,) of each link, in the order of `Readings`; infinite for an uplink that was
            never seen to limit.
        certainty: (L,) from 0 to 1: the share of the link's bytes that were limited there, less
            what its readings differ from window to window.
        slow_flows: that no link explains.
        readings: of links by flows that no other link explains.
    """

    rate_bytes_s: Floats
    certainty: Floats
    slow_flows: Sequence[SlowFlow]
    readings: Readings

    def hosts_bytes_s(self, layout: Layout) -> Floats:
        """Return (H,) of each host, the slower of its two directions: plans load both alike."""
        return hosts_bytes_s(self.rate_bytes_s, layout)

    def uplinks_bytes_s(self, layout: Layout) -> Floats:
        """Return (G,) of each group, likewise."""
        if layout.groups == 1:
            return np.array([np.inf])
        pair = self.rate_bytes_s[2 * layout.hosts :].reshape(2, -1)
        slower: Floats = pair.min(axis=0)
        return slower


def hosts_bytes_s(rate_bytes_s: Floats, layout: Layout) -> Floats:
    """(H,) what each host carries, of the rates of all links: the slower of its two directions."""
    slower: Floats = rate_bytes_s[: 2 * layout.hosts].reshape(2, -1).min(axis=0)
    return slower


def first_belief(windows: Sequence[Window], layout: Layout, options: TunerOptions) -> Belief:
    """Estimate rates without prior knowledge: hosts are alike except those seen to be slow.

    So a host that was slow, and limits nothing any more, is as fast as most again: a plan that fits
    a slow host makes it limit.
    """
    evidence = _Evidence(windows, layout)
    rates = evidence.first.rate_bytes_s
    prior = np.full(len(rates), np.inf)
    hosts = rates[: 2 * layout.hosts]
    prior[: 2 * layout.hosts] = np.nanquantile(hosts, _USUAL)
    return _believe(prior, evidence, options)


def believe(
    prior_bytes_s: Floats, windows: Sequence[Window], layout: Layout, options: TunerOptions
) -> Belief:
    """Estimate rates after some windows of one plan.

    A link that limited its flows to less than was believed is slow. One that carried more than was
    believed is faster, though no faster than the fastest of its kind: flows that come in bursts
    would promise too much. About the others nothing new is known.

    Args:
        prior_bytes_s: (L,) what was believed before.
        windows: one or more, under the same plan.
        layout: hosts and groups.
        options: what is alike.
    """
    return _believe(prior_bytes_s, _Evidence(windows, layout), options)


class _Evidence:
    """Evidence of windows, before anything is concluded."""

    def __init__(self, windows: Sequence[Window], layout: Layout) -> None:
        self.layout = layout
        self.window = merge_windows(windows)
        self.reader = Reader(self.window, layout)
        self.first = self.reader.read()
        self.steadiness = _steadiness(windows, layout)


def _believe(prior_bytes_s: Floats, evidence: _Evidence, options: TunerOptions) -> Belief:
    layout, steadiness = evidence.layout, evidence.steadiness
    rates = prior_bytes_s.copy()
    explained = np.zeros((layout.hosts, layout.hosts), dtype=bool)
    readings = evidence.first
    certainty = readings.limited * steadiness
    for clearness in _CLEARNESS:
        for kind in _kinds(layout):
            slow = kind & _is_slow(readings, rates, options) & (certainty >= clearness)
            if slow.any():
                rates = np.where(slow, readings.rate_bytes_s, rates)
                explained |= flows_of(slow, layout)
                readings = evidence.reader.read(explained)
                certainty = np.maximum(certainty, readings.limited * steadiness)
    for kind in _kinds(layout):
        most = float(prior_bytes_s[kind].max())
        seen = np.nan_to_num(readings.rate_bytes_s, nan=0.0)
        is_faster = kind & (seen > rates * (1.0 + options.alike))
        rates = np.where(is_faster, np.minimum(seen, most), rates)
    return Belief(rates, certainty, _slow_flows(evidence.window, readings, explained), readings)


def reading_noise(windows: Sequence[Window], layout: Layout) -> float:
    """Return the standard deviation of a host's readings from window to window, as a share.

    It is the median over hosts, so that a few that are out of line do not count.
    """
    # Some hosts tell what most do.
    chosen = np.unique(np.linspace(0, layout.hosts - 1, min(layout.hosts, _SAMPLED)).astype(int))
    readings = []
    for window in windows:
        busy_s, sent = window.busy_s[chosen], window.sent_bytes[chosen]
        order = np.argsort(busy_s, axis=1)
        readings.append(
            middle_mean(*(np.take_along_axis(a, order, axis=1) for a in (busy_s, sent)))
        )
    busy_s = np.array(readings)
    middle = np.median(busy_s, axis=0)
    is_used = middle > 0.0
    if len(windows) < 2 or not is_used.any():
        return 0.0
    deviation = np.std(busy_s[:, is_used], axis=0, ddof=1) / middle[is_used]
    return float(np.median(deviation))


def describe_slow(belief: Belief, layout: Layout, options: TunerOptions, names: Names) -> str:
    """Name the flows, hosts or uplinks believed to be slow, as part of a decision's reason."""
    if belief.slow_flows:
        flows = [
            f"{names.hosts[flow.sender]} to {names.hosts[flow.receiver]}, "
            f"{flow.retransmissions} segments sent again"
            for flow in belief.slow_flows[:_NAMED]
        ]
        more = " and others" if len(belief.slow_flows) > _NAMED else ""
        return f"flows are slow whose hosts are not ({'; '.join(flows)}{more})"
    hosts = belief.hosts_bytes_s(layout)
    usual = float(np.median(hosts))
    slow = np.flatnonzero(hosts < usual * (1.0 - options.alike))
    if len(slow):
        # The slowest first.
        first = slow[np.argsort(hosts[slow], kind="stable")].tolist()
        return f"slow hosts: {_with_shares(first, hosts / usual, names.hosts)}"
    uplinks = belief.uplinks_bytes_s(layout)
    is_slow = np.isfinite(uplinks) & (uplinks < np.median(uplinks) * (1 - options.alike))
    if is_slow.any():
        # Most may be unlimited, as far as was seen: there is no share of that.
        named = [names.groups[group] for group in np.flatnonzero(is_slow)[:_NAMED].tolist()]
        more = " and others" if int(is_slow.sum()) > _NAMED else ""
        return f"slow uplinks: {', '.join(named)}{more}"
    return "all hosts are alike"


def _with_shares(slow: Sequence[int], shares: Floats, names: Sequence[str]) -> str:
    """Return names, and what each carries as a share of what is usual."""
    text = ", ".join(
        f"{names[host]} at {share_text(float(shares[host]))}" for host in slow[:_NAMED]
    )
    return text + (" and others" if len(slow) > _NAMED else "")


def _kinds(layout: Layout) -> list[Flags]:
    """Return (L,) which links are hosts', and which are groups'."""
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


def _slow_flows(window: Window, readings: Readings, explained: Flags) -> list[SlowFlow]:
    """Unexplained flows that take much longer than any link."""
    longest_s = float(readings.busy_s.max(initial=0.0))
    stands_out = (window.sent_bytes > 0.0) & (window.busy_s > _FLOW_STANDS_OUT * longest_s)
    slow = np.argwhere(~explained & stands_out)
    rates = window.sent_bytes / np.where(window.busy_s > 0.0, window.busy_s, np.inf)
    return [
        SlowFlow(
            sender,
            receiver,
            float(rates[sender, receiver]),
            int(window.retransmissions[sender, receiver]),
        )
        for sender, receiver in slow.tolist()
    ]
