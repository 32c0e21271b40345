"""Quicktune: all shares at once, from what links are believed to carry (Luo 2020, §4.2.3).

The paper gives groups global masters in proportion to their aggregate bandwidth, and members local
masters likewise. Its objective leaves out that every host sends its own contribution and receives
the result whatever it is a master of: in proportion, a host throttled to 40 % among eight keeps
5 % of the masters and ends after 3.3 units of time; without any it ends after 2.5. So shares are
in proportion to what links have room for beyond their own part (`plink.solvers.forests.servers`),
which is the least maximum there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from plink.autotune.tuner.bandwidth import Belief
from plink.autotune.tuner.interface import Floats, TunerOptions
from plink.autotune.tuner.loads import BY_MASTERS, link_loads
from plink.autotune.tuner.masters import Layout, Masters, normalise_shares
from plink.plans.names import ALL_REDUCE
from plink.solvers.forests.kinds import master_shares

# A plan that is so little slower than the best one is as good.
_AS_GOOD = 0.02

# What is left to hosts at the ends of slow flows.
_PARTS = (0.5, 0.25, 0.0)


def quicktune(
    belief: Belief, layout: Layout, home: Masters, options: TunerOptions, most_bytes_s: Floats
) -> Masters:
    """Return the masters that these links call for; those of the first plan where they are as good.

    Args:
        belief: what links carry.
        layout: hosts and groups.
        home: the masters of the plan that the job came with.
        options: what is alike.
        most_bytes_s: (H,) what each host is trusted with at most, however fast it is believed.
    """
    hosts, uplinks = _levels(belief, layout, options, most_bytes_s)
    shares = master_shares(layout.group_of, hosts, uplinks)
    best = normalise_shares(shares.share_by_group, shares.share_by_member, layout)
    candidates = [best, *_around_slow_flows(best, belief, layout)]
    times_s = [link_s(each, belief, layout, options, most_bytes_s) for each in candidates]
    best_s = min(times_s)
    if link_s(home, belief, layout, options, most_bytes_s) <= best_s * (1.0 + _AS_GOOD):
        return home
    return candidates[times_s.index(best_s)]


def link_s(
    masters: Masters,
    belief: Belief,
    layout: Layout,
    options: TunerOptions,
    most_bytes_s: Floats,
    *,
    collective: str = ALL_REDUCE,
) -> float:
    """Return the seconds per byte of whole buffer that the busiest link, or slow flow, needs."""
    hosts, uplinks = _levels(belief, layout, options, most_bytes_s)
    on_hosts, on_groups = link_loads(masters, layout, collective)
    of_hosts, of_groups = on_hosts / hosts, on_groups / uplinks
    if collective != ALL_REDUCE:
        # What a flow carries of a segment depends on its owner, hardly on masters.
        return float(max(of_hosts.max(), of_groups.max()))
    return float(max(of_hosts.max(), of_groups.max(), _slow_flow_s(masters, belief, layout)))


def needed_s(
    bytes_of: Mapping[str, float],
    masters: Masters,
    belief: Belief,
    layout: Layout,
    options: TunerOptions,
    *,
    most_bytes_s: Floats,
) -> float:
    """Return the seconds of an iteration that depend on masters: the sum over its collectives.

    Args:
        bytes_of: of the whole buffers in an iteration, by collective.
        masters, belief, layout, options, most_bytes_s: as of `link_s`.
    """
    return sum(
        moved * link_s(masters, belief, layout, options, most_bytes_s, collective=collective)
        for collective, moved in bytes_of.items()
        if collective in BY_MASTERS
    )


def level_rates(rates: Floats, alike: float) -> Floats:
    """Return rates that are near the usual one made equal to it, so that noise makes no shares."""
    usual = float(np.median(rates))
    if not np.isfinite(usual):
        return rates
    return np.where(np.abs(rates - usual) <= alike * usual, usual, rates)


def _around_slow_flows(best: Masters, belief: Belief, layout: Layout) -> Iterator[Masters]:
    """Candidates with less on the hosts at both ends of slow flows, in a flat plan.

    A flow carries the contribution for what its receiver is a master of, and the result of what its
    sender is. In two levels that depends on routes, which are not looked at here.
    """
    ends = {host for flow in belief.slow_flows for host in (flow.sender, flow.receiver)}
    if layout.groups > 1 or not ends or len(ends) == layout.hosts:
        return
    for part in _PARTS:
        of_hosts = best.of_hosts.copy()
        of_hosts[list(ends)] *= part
        if of_hosts.any():
            yield normalise_shares(best.of_groups, of_hosts, layout)


def _slow_flow_s(masters: Masters, belief: Belief, layout: Layout) -> float:
    if layout.groups > 1:
        return 0.0
    shares = masters.of_hosts
    times = [
        float(shares[flow.sender] + shares[flow.receiver]) / flow.rate_bytes_s
        for flow in belief.slow_flows
    ]
    return max(times, default=0.0)


def _levels(
    belief: Belief, layout: Layout, options: TunerOptions, most_bytes_s: Floats
) -> tuple[Floats, Floats]:
    hosts = np.minimum(belief.hosts_bytes_s(layout), most_bytes_s)
    return level_rates(hosts, options.alike), level_rates(
        belief.uplinks_bytes_s(layout), options.alike
    )
