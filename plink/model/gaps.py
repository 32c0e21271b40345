"""Ranges of an order's cost, by latency or time, over what unmeasured pairs of hosts may take.

The search is on distances that were filled in. What it proves of these is no proof for the network,
where any pair that was not measured may be nearer, or farther
(`plink.model.distance.DistanceLimits`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from plink.base.replacing import replace
from plink.formats.limits import Amount
from plink.formats.matrices import Matrix
from plink.model.distance import DistanceLimits
from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.form import Form, RingForm
from plink.solvers.collectives.steps import PeerTable
from plink.solvers.contention.bound import lower_bound_s
from plink.solvers.contention.network import Network
from plink.solvers.contention.time import TableTimer
from plink.solvers.limits import Deadline
from plink.solvers.search import SearchProgress

Hosts = Sequence[int] | npt.NDArray[np.intp]

# Times are computed of finite numbers. A pair without an upper limit takes longer than any time
# that occurs: some 30,000 years.
_ENDLESS_US = 1e18
_ENDLESS_S = _ENDLESS_US / 4.0 * 1e-6
# Least and greatest cost; None without an upper limit.
Range = tuple[Amount, Amount | None]


def latency_range_us(form: Form, limits: DistanceLimits, placement: Hosts) -> Range:
    """Return least and greatest latency cost of a placement of ranks in µs; None if no greatest."""
    hosts = _hosts(form, placement)
    low_us, high_us = (
        latency_cost(form, matrix, hosts) for matrix in (limits.lowest_us, limits.highest_us)
    )
    return low_us, high_us if np.isfinite(high_us) else None


def measured_latency_us(form: Form, limits: DistanceLimits, placement: Hosts) -> float:
    """Return an order's latency cost in µs, infinite if it uses an unmeasured pair."""
    return latency_cost(form, limits.measured_us, _hosts(form, placement))


def drop_bounds(on_progress: Callable[[SearchProgress], None]) -> Callable[[SearchProgress], None]:
    """Wrap a progress callback to report the bound 0, as filled-in distances prove none."""
    return lambda progress: on_progress(replace(progress, lower_bound=0.0))


def _hosts(form: Form, placement: Hosts) -> list[int]:
    hosts = [int(host) for host in placement]
    # A ring leaves every host once, however many ranks are there.
    return list(dict.fromkeys(hosts)) if isinstance(form, RingForm) else hosts


def time_range_s(
    table: PeerTable, network: Network, limits: DistanceLimits, placement: Hosts
) -> Range:
    """Return a collective's least and greatest time in s over unmeasured pairs; None: no limit."""
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
    """Return a lower bound in µs on a collective's time in any order; 0 if Ctrl-C ends it."""
    try:
        at_best = with_latency(network, limits.lowest_us)
        return lower_bound_s(TableTimer(table, at_best, position_of), deadline) * 1e6
    except KeyboardInterrupt:
        return 0.0


def with_latency(network: Network, distance_us: Matrix) -> Network:
    """Return a network model whose latencies are half of the given round-trip times in µs."""
    return replace(network, latency_s=distance_us / 2.0 * 1e-6)
