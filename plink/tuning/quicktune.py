"""Quicktune: all shares at once, from what links are believed to carry (Luo 2020, §4.2.3).

The paper gives groups global masters in proportion to their aggregate bandwidth, and members local
masters likewise. Its objective leaves out that every host sends its own contribution and receives
the result whatever it is a master of: in proportion, a host throttled to 40 % among eight keeps
5 % of the masters and ends after 3.3 units of time; without any it ends after 2.5. So shares are
in proportion to what links have room for beyond their own part (`solvers.forests.balance`), which
is the least maximum there is.
"""

from __future__ import annotations

import numpy as np

from plink.tuning.bandwidth import Belief
from plink.tuning.masters import Layout, Masters, host_loads, normalised, uplink_loads
from plink.tuning.options import TunerOptions
from plink.tuning.window import Floats
from solvers.forests.balance import master_shares

# A plan that is so little slower than the best one is as good.
_AS_GOOD = 0.02


def quicktune(
    belief: Belief, layout: Layout, home: Masters, options: TunerOptions, most_bytes_s: Floats
) -> Masters:
    """The masters that these links call for; those of the first plan where they are as good.

    Args:
        belief: what links carry.
        layout: hosts and groups.
        home: the masters of the plan that the job came with.
        options: what is alike.
        most_bytes_s: (H,) what each host is trusted with at most, however fast it is believed.
    """
    hosts, uplinks = _levels(belief, layout, options, most_bytes_s)
    shares = master_shares(layout.group_of, hosts, uplinks)
    best = normalised(shares.of_groups, shares.of_members, layout)
    best_s = _link_s(best, layout, hosts, uplinks)
    return home if _link_s(home, layout, hosts, uplinks) <= best_s * (1.0 + _AS_GOOD) else best


def link_s(
    masters: Masters,
    belief: Belief,
    layout: Layout,
    options: TunerOptions,
    most_bytes_s: Floats,
) -> float:
    """The seconds per byte of buffer that the busiest link needs."""
    return _link_s(masters, layout, *_levels(belief, layout, options, most_bytes_s))


def _levels(
    belief: Belief, layout: Layout, options: TunerOptions, most_bytes_s: Floats
) -> tuple[Floats, Floats]:
    hosts = np.minimum(belief.hosts_bytes_s(layout), most_bytes_s)
    return levelled(hosts, options.alike), levelled(belief.uplinks_bytes_s(layout), options.alike)


def levelled(rates: Floats, alike: float) -> Floats:
    """Rates that are near the usual one made equal to it, so that noise makes no shares."""
    usual = float(np.median(rates))
    if not np.isfinite(usual):
        return rates
    return np.where(np.abs(rates - usual) <= alike * usual, usual, rates)


def _link_s(masters: Masters, layout: Layout, hosts: Floats, uplinks: Floats) -> float:
    of_hosts = host_loads(masters, layout) / hosts
    of_groups = uplink_loads(masters, layout) / uplinks
    return float(max(of_hosts.max(), of_groups.max()))
