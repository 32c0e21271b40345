"""What an order by bandwidth has in its file in place of times (`docs/files.md`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plink.base.errors import WrongUseError
from plink.files.bandwidth import MAX_GBIT_S
from plink.files.fields import Fields
from plink.files.measurement import without_nones

# Members of an order file that follow from these here, and are times.
TIMES = ("hops_us", "cost_us", "cost_given_us", "cost_random_us", "lower_bound_us")

# Less than a bit a second is no bandwidth.
_LEAST_GBIT_S = 1e-9
_MAX_S_PER_GBIT = 1e15
_US_PER_S = 1e6
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class OrderBandwidth:
    """The least bandwidth between hosts that exchange data, and what a Gbit takes in all.

    Args:
        hops_gbit_s: from every host to the next, from the last to the first.
        bottleneck_gbit_s: the least bandwidth that the algorithm uses in this order.
        bottleneck_given_gbit_s: in the given order.
        bottleneck_random_gbit_s: the median of random orders.
        bottleneck_bound_gbit_s: proven: no order has more; None where that is not known.
        sum_s_per_gbit: what the algorithm's latency form sums up (Luo 2020, §5.2.1), with the time
            that a Gbit takes in place of latencies: of a ring, the sum over the hops.
        sum_given_s_per_gbit: in the given order.
        sum_random_s_per_gbit: the median of random orders.
        sum_bound_s_per_gbit: proven: no order with this bottleneck has less; None where unknown.
    """

    hops_gbit_s: Sequence[float]
    bottleneck_gbit_s: float
    bottleneck_given_gbit_s: float
    bottleneck_random_gbit_s: float
    bottleneck_bound_gbit_s: float | None
    sum_s_per_gbit: float
    sum_given_s_per_gbit: float
    sum_random_s_per_gbit: float
    sum_bound_s_per_gbit: float | None

    @property
    def gain(self) -> float:
        """The share of what a Gbit takes in all in a random order that this one saves."""
        random = self.sum_random_s_per_gbit
        return 1.0 - self.sum_s_per_gbit / random if random else 0.0

    def times(self) -> dict[str, Any]:
        """The costs of an order as the times in µs that a Gbit takes: of a hop, the bottleneck."""
        bound = self.bottleneck_bound_gbit_s
        return {
            "hops_us": [_US_PER_S / hop for hop in self.hops_gbit_s],
            "cost_us": _US_PER_S / self.bottleneck_gbit_s,
            "cost_given_us": _US_PER_S / self.bottleneck_given_gbit_s,
            "cost_random_us": _US_PER_S / self.bottleneck_random_gbit_s,
            "lower_bound_us": 0.0 if bound is None else _US_PER_S / bound,
        }


def to_json(bandwidth: OrderBandwidth) -> dict[str, Any]:
    """The JSON object that stands for it."""
    return without_nones({**vars(bandwidth), "hops_gbit_s": list(bandwidth.hops_gbit_s)})


def parse(fields: Fields, hosts: int) -> OrderBandwidth:
    """What an order of so many hosts has.

    Raises:
        WrongUseError: values that cannot be, or that contradict each other.
    """

    def rate(name: str) -> float:
        return fields.number(name, _LEAST_GBIT_S, MAX_GBIT_S)

    def total(name: str) -> float:
        return fields.number(name, 0.0, _MAX_S_PER_GBIT)

    hops = fields.numbers("hops_gbit_s", hosts, MAX_GBIT_S)
    if min(hops, default=0.0) < _LEAST_GBIT_S:
        raise fields.error("hops_gbit_s", "bandwidths above 0")
    bound, least = "bottleneck_bound_gbit_s", "sum_bound_s_per_gbit"
    found = OrderBandwidth(
        hops_gbit_s=hops,
        bottleneck_gbit_s=rate("bottleneck_gbit_s"),
        bottleneck_given_gbit_s=rate("bottleneck_given_gbit_s"),
        bottleneck_random_gbit_s=rate("bottleneck_random_gbit_s"),
        bottleneck_bound_gbit_s=None if fields.values.get(bound) is None else rate(bound),
        sum_s_per_gbit=total("sum_s_per_gbit"),
        sum_given_s_per_gbit=total("sum_given_s_per_gbit"),
        sum_random_s_per_gbit=total("sum_random_s_per_gbit"),
        sum_bound_s_per_gbit=None if fields.values.get(least) is None else total(least),
    )
    if (found.sum_bound_s_per_gbit or 0.0) > found.sum_s_per_gbit * (1.0 + _TOLERANCE):
        raise WrongUseError(f"{fields.place}: sum_bound_s_per_gbit is above sum_s_per_gbit")
    return found


def check_ring(bandwidth: OrderBandwidth, place: str) -> None:
    """Refuse a ring whose hops do not have the bottleneck and the sum that it tells.

    Raises:
        WrongUseError: they have not; `place` says where it stands.
    """
    hops = bandwidth.hops_gbit_s
    if not math.isclose(min(hops), bandwidth.bottleneck_gbit_s, rel_tol=_TOLERANCE):
        raise WrongUseError(f"{place}: the least of hops_gbit_s is not bottleneck_gbit_s")
    total = math.fsum(1.0 / hop for hop in hops)
    if not math.isclose(total, bandwidth.sum_s_per_gbit, rel_tol=_TOLERANCE):
        raise WrongUseError(f"{place}: hops_gbit_s do not give sum_s_per_gbit")
