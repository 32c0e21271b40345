"""A rank order of hosts: what it costs beside others, and how good it is (`docs/order.md`)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plink.base.next_command import GivenWay
from plink.files.cluster import Host
from plink.files.groups import Group
from plink.files.mesh import Mesh

# What an order may minimise.
OBJECTIVES = ("latency", "contention", "bandwidth")

_US_PER_S = 1e6

# A bound is lowered by what rounding may have added to it.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Solver:
    """What found an order: name, options, seed, steps taken, what ended it (`docs/order.md`)."""

    name: str
    options: Mapping[str, Any]
    seed: int
    steps: int
    ended_by: str


@dataclass(frozen=True)
class Proof:
    """What an exact engine said of the order: `improved`, `optimal` or `gave-up`, in what time."""

    engine: str
    outcome: str
    seconds: float


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


@dataclass(frozen=True)
class Order:
    """Hosts in rank order, each with as many ranks as it has slots here.

    Args:
        algorithm: whose cost was minimised: such as `ring` or `openmpi-rabenseifner`.
        hosts: in rank order; by their first rank where ranks are apart.
        hops_us: the distance from every host to the next, from the last to the first.
        given: the names of all hosts, `unused` included, in the order in which the user had them.
        cost_us: of this order: what the objective sums up (Luo 2020, §5.2.1), or the time that it
            predicts.
        cost_given_us: of the given order, never less than `cost_us`.
        cost_random_us: the median of `random_orders` random orders.
        random_orders: how many.
        lower_bound_us: proven: no order costs less, whatever pairs that were not measured are; 0
            where no more than that is known.
        solver: what found the order.
        seconds: how long that took.
        filled_pairs: unordered pairs whose distance was not measured but filled.
        unmeasured_hosts: names of the hosts without any measurement.
        confirmed_gain: the share of a random order's cost that an order found on the readings of
            one direction of the pairs saves on those of the other; None where not known.
        made_from: hash of the cluster file.
        objective: `latency`, `contention` or `bandwidth` (`docs/order.md`).
        size_bytes: of the buffer whose time is predicted; None where latencies are summed.
        proof: of the exact engine, where one was asked.
        groups: of near hosts, as in the cluster file.
        unused: hosts that were not chosen, with the slots that they have.
        host_of_rank: of every rank the index of its host in `hosts`; None where each host's ranks
            are adjacent.
        bandwidth: where that is the objective; the costs and hops above then are the times that a
            Gbit takes, over the bottleneck and over each hop, and are not in the file.
        cost_range_us: from what to what the cost is where pairs were not measured: hops between
            such pairs at nothing, and as long as the shortest way over measured pairs, or None
            where there is no such way; None in all where every pair was measured, and in older
            files.
        filled_hops: the places in `hops_us` whose pair was not measured.
        way: how the hosts were reached, as the cluster file records it.
        mesh: whose dimensions' groups the cost is of, where the algorithm is `mesh`; latencies then
            weigh as much as their dimension's share of all bytes.
    """

    algorithm: str
    hosts: Sequence[Host]
    hops_us: Sequence[float]
    given: Sequence[str]
    cost_us: float
    cost_given_us: float
    cost_random_us: float
    random_orders: int
    lower_bound_us: float
    solver: Solver
    seconds: float
    filled_pairs: int = 0
    unmeasured_hosts: Sequence[str] = ()
    confirmed_gain: float | None = None
    made_from: str | None = None
    objective: str = "latency"
    size_bytes: int | None = None
    proof: Proof | None = None
    groups: Sequence[Group] = ()
    unused: Sequence[Host] = ()
    host_of_rank: Sequence[int] | None = None
    bandwidth: OrderBandwidth | None = None
    cost_range_us: tuple[float, float | None] | None = None
    filled_hops: Sequence[int] = ()
    mesh: Mesh | None = None
    way: GivenWay | None = None

    @property
    def ranks(self) -> int:
        """How many there are."""
        return sum(host.slots for host in self.hosts)

    @property
    def ranked(self) -> list[Host]:
        """The hosts as launchers list them: a line for each of a host's stretches of ranks."""
        if self.host_of_rank is None:
            return list(self.hosts)
        return [
            replace(self.hosts[host], slots=len(list(run)))
            for host, run in itertools.groupby(self.host_of_rank)
        ]

    @property
    def is_ring_of_latencies(self) -> bool:
        """Whether the cost is the sum of the hops."""
        return self.algorithm == "ring" and self.objective == "latency"

    @property
    def is_ring_of_hops(self) -> bool:
        """Whether what it costs follows from its hops, whatever ranks its hosts have."""
        return self.algorithm == "ring" and self.objective != "contention"

    @property
    def names(self) -> list[str]:
        """The hosts' names in rank order."""
        return [host.name for host in self.hosts]

    @property
    def gain(self) -> float:
        """The share of a random order's cost that this one saves."""
        return 1.0 - self.cost_us / self.cost_random_us if self.cost_random_us else 0.0

    @property
    def most_us(self) -> float | None:
        """What the order costs at most; None where that is not known."""
        if self.cost_range_us is not None:
            return self.cost_range_us[1]
        return None if self.filled_pairs else self.cost_us

    @property
    def gap(self) -> float:
        """The share of the cost by which any order could be cheaper at most, 0 to 1.

        Where the cost is a range, of its upper end; 1 where that is not known.
        """
        cost_us = self.cost_us if self.cost_range_us is None else self.cost_range_us[1]
        if cost_us is None:
            return 1.0
        if cost_us <= self.lower_bound_us * (1.0 + _ROUNDING):
            return 0.0
        return (cost_us - self.lower_bound_us) / cost_us
