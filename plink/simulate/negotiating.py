"""Simulate the negotiation of ranks on a network: `control:MODE` of `plink simulate`."""

from __future__ import annotations

import numpy as np

from plink.base.errors import WrongUseError
from plink.formats.cluster import Cluster
from plink.simulate.control.costs import Costs
from plink.simulate.control.negotiation import MODES, Negotiation, negotiation
from plink.simulate.simgrid.platforms import Platform, Zones

# What a processor does for each message, as in simulated trainings (docs/control.md).
_STEP_S, _IN_S, _OUT_S = 5e-7, 3e-7, 1e-7


def check_mode(mode: str) -> None:
    """Refuse a mode that there is not.

    Raises:
        WrongUseError: it is none of `MODES`.
    """
    if mode not in MODES:
        raise WrongUseError(f"ranks do not agree in a mode {mode!r}", f"modes: {', '.join(MODES)}")


def negotiating(mode: str, ranks: int, cluster: Cluster, platform: Platform | None) -> Negotiation:
    """Simulate one negotiation of ranks in the sequence of the cluster.

    On plink's clock, every message takes what the first host's to the last one does, or where they
    were measured, the median of all pairs.

    Raises:
        WrongUseError: no such mode, one rank, or no latency that is known.
    """
    check_mode(mode)
    if ranks < 2:
        raise WrongUseError("one rank agrees with itself")
    costs = Costs(_latency_s(cluster, platform), step_s=_STEP_S, in_s=_IN_S, out_s=_OUT_S)
    return negotiation(mode, ranks, costs)


def _latency_s(cluster: Cluster, platform: Platform | None) -> float:
    if cluster.rtt is not None:
        return float(np.nanmedian(cluster.rtt.readings_us)) * 0.5e-6
    if not isinstance(platform, Zones) or platform.between_s is not None:
        raise WrongUseError("no latency between hosts is known")
    # Zones stand after those around them.
    total = float(platform.host_latency_s[0] + platform.host_latency_s[-1])
    left, right = int(platform.zone_of[0]), int(platform.zone_of[-1])
    while left != right:
        lower = max(left, right)
        total += float(platform.latency_s[lower])
        above = int(platform.parent[lower])
        left, right = (above, right) if left == lower else (left, above)
    return total
