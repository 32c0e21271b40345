"""Load of each link in one collective, by a plan's masters."""

from __future__ import annotations

import numpy as np

from plink.autotune.tuner.interface import Floats
from plink.autotune.tuner.masters import Layout, Masters, forest_of, host_loads, uplink_loads
from plink.optimize.plans.traffic import Demand, build_traffic, traffic_bytes
from plink.plans.names import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER

# The time of others hardly depends on masters.
BY_MASTERS = (ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER)

# So large that every route has its share to the byte.
_WHOLE_BYTES = 1e15


def link_loads(masters: Masters, layout: Layout, collective: str) -> tuple[Floats, Floats]:
    """Return the traffic of links in the busier direction, for a buffer of 1.

    Of an all-reduce, masters say it all. Of a reduce-scatter or an all-gather each rank owns a
    segment, whatever it is a master of, so that masters decide only on whom others' segments pass
    through: what they pass through is looked up in the plan's routes.

    Args:
        masters: and so the plan.
        layout: hosts and groups.
        collective: of `BY_MASTERS`.

    Returns:
        (H,) of each host's link, and (G,) of each group's.
    """
    if collective == ALL_REDUCE:
        return host_loads(masters, layout), uplink_loads(masters, layout)
    traffic = build_traffic(Demand(collective, _WHOLE_BYTES), forest_of(masters, layout))
    between = np.zeros((layout.hosts, layout.hosts))
    of_pairs = traffic_bytes(traffic) / _WHOLE_BYTES
    np.add.at(between, (layout.host_of[:, None], layout.host_of[None, :]), of_pairs)
    np.fill_diagonal(between, 0.0)
    crosses = layout.group_of[:, None] != layout.group_of[None, :]
    crossing = np.where(crosses, between, 0.0)
    sent, received = (
        np.bincount(layout.group_of, crossing.sum(axis=axis), layout.groups) for axis in (1, 0)
    )
    hosts: Floats = np.maximum(between.sum(axis=1), between.sum(axis=0))
    return hosts, np.maximum(sent, received)
