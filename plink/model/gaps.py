"""Ranges of an order's latency cost where some pairs of hosts were not measured.

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
from plink.model.distance import DistanceLimits
from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.form import Form, RingForm
from plink.solvers.search import SearchProgress

Hosts = Sequence[int] | npt.NDArray[np.intp]

# Least and greatest cost; None without an upper limit.
Range = tuple[Amount, Amount | None]


def latency_range_us(form: Form, limits: DistanceLimits, placement: Hosts) -> Range:
    """Return the range in µs of an algorithm's latency cost for a placement of ranks."""
    hosts = _hosts(form, placement)
    return (
        latency_cost(form, limits.lowest_us, hosts),
        _none_if_infinite(latency_cost(form, limits.highest_us, hosts)),
    )


def measured_latency_us(form: Form, limits: DistanceLimits, placement: Hosts) -> float:
    """Return an order's latency cost in µs, infinite if it uses an unmeasured pair."""
    return latency_cost(form, limits.measured_us, _hosts(form, placement))


def drop_bounds(
    on_progress: Callable[[SearchProgress], None],
) -> Callable[[SearchProgress], None]:
    """Return a progress callback that drops bounds, which filled-in distances do not prove."""
    return lambda progress: on_progress(replace(progress, lower_bound=0.0))


def _hosts(form: Form, placement: Hosts) -> list[int]:
    hosts = [int(host) for host in placement]
    # A ring leaves every host once, however many ranks are there.
    return list(dict.fromkeys(hosts)) if isinstance(form, RingForm) else hosts


def _none_if_infinite(value: float) -> float | None:
    return value if np.isfinite(value) else None
