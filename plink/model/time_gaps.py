"""Ranges and bounds of a collective's time where some pairs of hosts were not measured."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plink.base.replacing import replace
from plink.formats.matrices import Matrix
from plink.model.distance import DistanceLimits
from plink.model.gaps import Hosts, Range
from plink.solvers.collectives.steps import PeerTable
from plink.solvers.contention.bound import lower_bound_s
from plink.solvers.contention.network import Network
from plink.solvers.contention.time import TableTimer
from plink.solvers.limits.deadline import Deadline

# Times are computed of finite numbers. A pair without an upper limit takes longer than any time
# that occurs: some 30,000 years.
_ENDLESS_US = 1e18
_ENDLESS_S = _ENDLESS_US / 4.0 * 1e-6


def time_range_s(
    table: PeerTable, network: Network, limits: DistanceLimits, placement: Hosts
) -> Range:
    """Return the range in seconds of a collective's time, as some latencies are unmeasured."""
    highest_us = np.where(np.isfinite(limits.highest_us), limits.highest_us, _ENDLESS_US)
    low_s, high_s = (
        TableTimer(table, with_latency(network, matrix)).time_s([int(host) for host in placement])
        for matrix in (limits.lowest_us, highest_us)
    )
    return low_s, high_s if high_s < _ENDLESS_S else None


def time_bound_us(
    table: PeerTable,
    network: Network,
    limits: DistanceLimits,
    position_of: npt.NDArray[np.intp],
    deadline: Deadline,
) -> float:
    """Return a lower bound in µs on the time of every order; 0 if Ctrl-C ends the search."""
    try:
        at_best = with_latency(network, limits.lowest_us)
        return lower_bound_s(table, at_best, position_of, deadline) * 1e6
    except KeyboardInterrupt:
        return 0.0


def with_latency(network: Network, distance_us: Matrix) -> Network:
    """Return a copy of the network with other latencies between its hosts."""
    return replace(network, latency_s=distance_us / 2.0 * 1e-6)
