"""What is certain of costs where pairs were not measured: from what to what they are, and a bound.

The search is on distances that were filled in. What it proves of these is no proof for the network,
where any pair that was not measured may be nearer, or farther (`plink.model.distance.Limits`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from plink.files.measurement import Matrix
from plink.model.distance import Limits
from plink.solvers.collectives.form import Form, RingForm
from plink.solvers.collectives.table import PeerTable
from plink.solvers.contention.bound import lower_bound_s
from plink.solvers.contention.network import Network
from plink.solvers.contention.time import Clock
from plink.solvers.limits.deadline import Deadline
from plink.solvers.orders.reference import cost
from plink.solvers.orders.solution import Progress

Hosts = Sequence[int] | npt.NDArray[np.intp]

# Times are computed of finite numbers. A pair without an upper limit takes longer than any time
# that occurs: some 30,000 years.
_ENDLESS_US = 1e18
_ENDLESS_S = _ENDLESS_US / 4.0 * 1e-6

# From what to what a cost is; None where it has no upper limit.
Range = tuple[float, float | None]


def latency_range_us(form: Form, limits: Limits, placement: Hosts) -> Range:
    """From what to what in µs the latency form of a cost is, with rank r on `placement[r]`."""
    hosts = _hosts(form, placement)
    return (
        cost(form, limits.lowest_us, hosts),
        _finite(cost(form, limits.highest_us, hosts)),
    )


def measured_latency_us(form: Form, limits: Limits, placement: Hosts) -> float:
    """The same in µs where no pair counts that was not measured, else infinite."""
    return cost(form, limits.measured_us, _hosts(form, placement))


def time_range_s(table: PeerTable, network: Network, limits: Limits, placement: Hosts) -> Range:
    """From what to what in seconds a table's time is, as far as latencies decide it."""
    highest_us = np.where(np.isfinite(limits.highest_us), limits.highest_us, _ENDLESS_US)
    low_s, high_s = (
        Clock(table, with_latency(network, matrix)).time_s([int(host) for host in placement])
        for matrix in (limits.lowest_us, highest_us)
    )
    return low_s, high_s if high_s < _ENDLESS_S else None


def time_bound_us(
    table: PeerTable,
    network: Network,
    limits: Limits,
    position_of: npt.NDArray[np.intp],
    deadline: Deadline,
) -> float:
    """What the time of no order is less than, in µs; 0 where an interrupt (Ctrl-C) ends that."""
    try:
        at_best = with_latency(network, limits.lowest_us)
        return lower_bound_s(table, at_best, position_of, deadline) * 1e6
    except KeyboardInterrupt:
        return 0.0


def with_latency(network: Network, distance_us: Matrix) -> Network:
    """The same network with other distances between its hosts."""
    return replace(network, latency_s=distance_us / 2.0 * 1e-6)


def without_bound(on_progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Tell of a search, but not of what it proves of distances that were filled in."""
    return lambda progress: on_progress(replace(progress, lower_bound=0.0))


def _hosts(form: Form, placement: Hosts) -> list[int]:
    hosts = [int(host) for host in placement]
    # A ring leaves every host once, however many ranks are there.
    return list(dict.fromkeys(hosts)) if isinstance(form, RingForm) else hosts


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
