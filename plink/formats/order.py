"""The order file: hosts in rank order, the order's cost, and proven bounds on it.

The structs below are the format; `docs/files.md` shows one. Costs are of two kinds: times, which
are better when smaller, and bandwidths, which are better when larger.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from plink.base.given_way import GivenWay
from plink.formats import document
from plink.formats.host_names import check_host_names
from plink.formats.hosts import Group, Host, check_groups, check_hosts, check_way
from plink.formats.limits import (
    MAX_INT,
    BufferBytes,
    CostUs,
    Count,
    Positive,
    RttUs,
    Seconds,
    Share,
    Text,
    Word,
    check_settings,
    constrain_to_words,
)
from plink.formats.mesh import MESH, Mesh
from plink.formats.structs import Output, convert, encode

FORMAT: Final = "plink.order"
VERSION: Final = 1

# What an order may minimise.
OBJECTIVES = ("latency", "contention", "bandwidth")

_US_PER_S = 1e6
# Costs are sums of rounded readings, which another program may add up in another order.
_TOLERANCE = 1e-6
# A bound is lowered by what rounding may have added to it.
_ROUNDING = 1e-9

Rate = Annotated[float, Meta(ge=1e-9, le=1e6)]
SecondsPerGbit = Annotated[float, Meta(ge=0, le=1e15)]


class Solver(Struct, frozen=True, forbid_unknown_fields=True):
    """Record of the search that found an order: solver, options and seed that repeat it.

    Attributes:
        name: name of the search
        options: options that it ran with
        seed: seed of its random choices
        steps: number of steps that it took
        ended_by: what ended it, such as `time`, `exact` or `interrupt`
    """

    name: Word
    options: Mapping[str, Any]
    seed: Count
    steps: Count
    ended_by: Word

    def __post_init__(self) -> None:
        check_settings(self.options, "options")


class Proof(Struct, frozen=True, forbid_unknown_fields=True):
    """Verdict of an exact engine (Z3 or CP-SAT) on whether any order costs less.

    Attributes:
        engine: name of the engine
        outcome: `improved`, `optimal` or `gave-up`
        seconds: time that it took, in s
    """

    engine: Word
    outcome: Word
    seconds: Seconds


class CostRange(Struct, frozen=True, forbid_unknown_fields=True):
    """Range of an order's cost in µs, over what pairs that were not measured may take.

    Attributes:
        low_us: cost if every unmeasured hop takes no time, in µs
        high_us: cost if every unmeasured hop is as long as its shortest measured detour, in µs;
            absent if a hop has no such detour
    """

    low_us: CostUs
    high_us: CostUs | None = None


class TimeCost(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="time"):
    """Cost of an order in µs (latency of its critical path, or predicted time), and of others.

    Attributes:
        objective: `latency`, the sum of round-trip times on the algorithm's critical path (Luo
            2020, §5.2.1), or `contention`, the predicted time of one collective whose flows share
            links
        cost_us: cost of this order, in µs
        listed_us: cost of the hosts in the order in which they were listed, in µs
        random_us: median cost of random orders, in µs
        hops_us: distance from each host to the next, and from the last to the first, in µs
        lower_bound_us: no order costs less, proven, in µs; 0 if nothing is proven
        range_us: the least and the most that the order may cost; absent if every pair was measured
        size_bytes: size of the buffer whose time is predicted, in bytes
    """

    objective: Annotated[str, constrain_to_words("latency", "contention")]
    cost_us: CostUs
    listed_us: CostUs
    random_us: CostUs
    hops_us: Sequence[RttUs]
    lower_bound_us: CostUs = 0.0
    range_us: CostRange | None = None
    size_bytes: BufferBytes | None = None

    def __post_init__(self) -> None:
        slack = 1.0 + _TOLERANCE
        if self.lower_bound_us > self.cost_us * slack:
            raise ValueError("lower_bound_us must not be above cost_us")
        if self.cost_us > self.listed_us * slack:
            raise ValueError("cost_us must not be above listed_us")
        if self.range_us is None:
            return
        if self.range_us.low_us > self.cost_us * slack:
            raise ValueError("range_us.low_us must not be above cost_us")
        if self.range_us.high_us is not None and self.cost_us > self.range_us.high_us * slack:
            raise ValueError("cost_us must not be above range_us.high_us")
        if self.lower_bound_us > self.range_us.low_us * slack:
            raise ValueError("lower_bound_us must not be above range_us.low_us")


class BandwidthCost(
    Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="bandwidth"
):
    """Cost of an order by bandwidth: least Gbit/s that its algorithm uses, and cost in s per Gbit.

    Attributes:
        bottleneck_gbit_s: smallest bandwidth that the algorithm uses in this order, in Gbit/s
        listed_gbit_s: the same in the order in which the hosts were listed, in Gbit/s
        random_gbit_s: median of random orders, in Gbit/s
        hops_gbit_s: bandwidth from each host to the next, and from the last to the first, in
            Gbit/s
        sum_s_per_gbit: what the algorithm's latency form adds up (Luo 2020, §5.2.1), with the time
            of a Gbit in place of latencies, in s
        listed_s_per_gbit: the same in the order in which the hosts were listed, in s
        random_s_per_gbit: median of random orders, in s
        bound_gbit_s: no order has a larger bottleneck, proven, in Gbit/s
        bound_s_per_gbit: no order with this bottleneck has a smaller sum, proven, in s
    """

    bottleneck_gbit_s: Rate
    listed_gbit_s: Rate
    random_gbit_s: Rate
    hops_gbit_s: Sequence[Rate]
    sum_s_per_gbit: SecondsPerGbit
    listed_s_per_gbit: SecondsPerGbit
    random_s_per_gbit: SecondsPerGbit
    bound_gbit_s: Rate | None = None
    bound_s_per_gbit: SecondsPerGbit | None = None

    def __post_init__(self) -> None:
        slack = 1.0 + _TOLERANCE
        if self.bound_gbit_s is not None and self.bottleneck_gbit_s > self.bound_gbit_s * slack:
            raise ValueError("bottleneck_gbit_s must not be above bound_gbit_s")
        if (self.bound_s_per_gbit or 0.0) > self.sum_s_per_gbit * slack:
            raise ValueError("bound_s_per_gbit must not be above sum_s_per_gbit")

    @property
    def objective(self) -> str:
        """Name of the search objective, always `bandwidth`."""
        return "bandwidth"

    @property
    def size_bytes(self) -> None:
        """Buffer size in bytes, always None: a cost by bandwidth is of buffers of any size."""
        return None

    @property
    def cost_us(self) -> float:
        """Time of a Gbit over the bottleneck, in µs."""
        return _US_PER_S / self.bottleneck_gbit_s

    @property
    def listed_us(self) -> float:
        """Time of a Gbit over the bottleneck of the listed order, in µs."""
        return _US_PER_S / self.listed_gbit_s

    @property
    def random_us(self) -> float:
        """Time of a Gbit over the median bottleneck of random orders, in µs."""
        return _US_PER_S / self.random_gbit_s

    @property
    def hops_us(self) -> list[float]:
        """Time of a Gbit over each hop of the ring of hosts, in µs."""
        return [_US_PER_S / hop for hop in self.hops_gbit_s]

    @property
    def lower_bound_us(self) -> float:
        """Time of a Gbit over the widest bottleneck of any order, in µs; 0 if unproven."""
        return 0.0 if self.bound_gbit_s is None else _US_PER_S / self.bound_gbit_s

    @property
    def range_us(self) -> None:
        """Range of the cost over unmeasured pairs in µs: always None for bandwidths."""
        return None

    @property
    def gain(self) -> float:
        """Share of the time of a Gbit over a random order's hops that this order saves."""
        return 1.0 - self.sum_s_per_gbit / self.random_s_per_gbit if self.random_s_per_gbit else 0.0


class Order(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rank order of hosts, as an order file records it: cost, bound, solver and basis.

    Attributes:
        format: name of the format
        version: version of the format
        made_from: SHA-256 (`sha256:...`) of the cluster that the order was made from
        algorithm: collective algorithm whose cost was minimised, such as `ring`
        mesh: dimensions whose groups the cost is of, if the algorithm is `mesh`
        hosts: hosts in rank order, each with as many slots as ranks; by first rank if the ranks of
            a host are apart
        unused: hosts that got no rank, with the slots that they have
        host_of_rank: index in `hosts` for every rank; absent if each host's ranks are adjacent
        listed: names of all hosts in the order in which they were listed
        cost: what the order costs, beside other orders
        random_orders: number of random orders that were priced
        solver: the search that found the order
        seconds: time that the search took, in s
        filled_pairs: number of pairs whose distance was not measured but filled in
        filled_hops: indices of the hops whose pair was not measured
        unmeasured_hosts: names of hosts without any measurement, whose place is arbitrary
        confirmed_gain: share of a random order's cost that an order found on one direction's
            readings saves on the other's
        proof: verdict of an exact engine
        groups: groups of hosts that are near each other
        way: what plink had to be told to reach the hosts, as the cluster file records it
    """

    format: Literal["plink.order"] = FORMAT
    version: Literal[1] = VERSION
    made_from: Text | None = None
    algorithm: Word
    mesh: Mesh | None = None
    hosts: Annotated[Sequence[Host], Meta(min_length=1)]
    unused: Sequence[Host] = []
    host_of_rank: Sequence[Count] | None = None
    listed: Sequence[str]
    cost: TimeCost | BandwidthCost
    random_orders: Annotated[int, Meta(ge=1, le=MAX_INT)]
    solver: Solver
    seconds: Seconds
    filled_pairs: Count = 0
    filled_hops: Sequence[Count] = []
    unmeasured_hosts: Sequence[str] = []
    confirmed_gain: Annotated[float, Meta(ge=-1e6, le=1)] | None = None
    proof: Proof | None = None
    groups: Sequence[Group] = []
    way: GivenWay | None = None

    def __post_init__(self) -> None:
        everyone = [*self.hosts, *self.unused]
        names = [host.name for host in everyone]
        check_hosts(everyone, "hosts and unused")
        check_groups(self.groups, names)
        check_way(self.way)
        if sorted(self.listed) != sorted(names):
            raise ValueError("listed must name the same hosts as hosts and unused together")
        if not set(self.unmeasured_hosts) <= set(self.names):
            raise ValueError("unmeasured_hosts names a host that is not in hosts")
        pairs = len(names) * (len(names) - 1) // 2
        if self.filled_pairs > pairs:
            raise ValueError(f"filled_pairs is {self.filled_pairs}, but there are {pairs} pairs")
        if max(self.filled_hops, default=0) >= len(self.hosts):
            raise ValueError(f"filled_hops must be indices of hops, below {len(self.hosts)}")
        if len(self.cost.hops_us) != len(self.hosts):
            hops, hosts = len(self.cost.hops_us), len(self.hosts)
            raise ValueError(f"cost has {hops} hops, expected {hosts}, one for each host")
        self._check_ranks()
        self._check_ring()

    def _check_ranks(self) -> None:
        if (self.mesh is not None) != (self.algorithm == MESH):
            raise ValueError(f"algorithm must be {MESH} if there is a mesh, and only then")
        if self.mesh is not None and self.mesh.ranks != self.ranks:
            raise ValueError(
                f"the mesh has {self.mesh.ranks} ranks, but the hosts have {self.ranks}"
            )
        if self.host_of_rank is None:
            return
        ranks_on = Counter(self.host_of_rank)
        if any(ranks_on[place] != host.slots for place, host in enumerate(self.hosts)):
            raise ValueError("host_of_rank must give each host as many ranks as it has slots")
        if list(ranks_on) != list(range(len(self.hosts))):
            raise ValueError("host_of_rank must have hosts in the order of their first ranks")

    def _check_ring(self) -> None:
        if self.algorithm != "ring" or len(self.hosts) < 2:
            return
        if isinstance(self.cost, BandwidthCost):
            hops = self.cost.hops_gbit_s
            if not _is_close(min(hops), self.cost.bottleneck_gbit_s):
                raise ValueError("bottleneck_gbit_s must be the smallest of hops_gbit_s")
            if not _is_close(math.fsum(1.0 / hop for hop in hops), self.cost.sum_s_per_gbit):
                raise ValueError("sum_s_per_gbit must be the sum of a Gbit's time over hops_gbit_s")
        elif self.is_ring_of_latencies and not _is_close(sum(self.cost.hops_us), self.cost.cost_us):
            raise ValueError("cost_us must be the sum of hops_us")

    @property
    def names(self) -> list[str]:
        """Names of the hosts in rank order."""
        return [host.name for host in self.hosts]

    @property
    def ranks(self) -> int:
        """Number of ranks of the order."""
        return sum(host.slots for host in self.hosts)

    @property
    def runs(self) -> list[Host]:
        """Runs of adjacent ranks on one host, as launchers list them: host and number of slots."""
        if self.host_of_rank is None:
            return list(self.hosts)
        return [
            msgspec.structs.replace(self.hosts[place], slots=len(list(run)))
            for place, run in itertools.groupby(self.host_of_rank)
        ]

    @property
    def objective(self) -> str:
        """Name of the minimised cost: `latency`, `contention` or `bandwidth`."""
        return self.cost.objective

    @property
    def bandwidth(self) -> BandwidthCost | None:
        """Cost of the order if it was searched by bandwidth; None for other objectives."""
        return self.cost if isinstance(self.cost, BandwidthCost) else None

    @property
    def is_score(self) -> bool:
        """Whether the cost is a sum of latencies, which compares orders but predicts no time."""
        return self.bandwidth is None and self.cost.size_bytes is None

    @property
    def cost_name(self) -> str:
        """Word for the cost in messages: `score` for a sum of latencies, else `cost`."""
        return "score" if self.is_score else "cost"

    @property
    def is_ring_of_latencies(self) -> bool:
        """Whether the order is a ring's by latency: its cost is the sum of the hops' latencies."""
        return self.algorithm == "ring" and self.objective == "latency"

    @property
    def is_ring_of_hops(self) -> bool:
        """Whether the cost follows from the ring's hops alone: a ring by latency or bandwidth."""
        return self.algorithm == "ring" and self.objective != "contention"

    @property
    def gain(self) -> float:
        """Share of a random order's cost that this order saves, at most 1; 0 if unknown."""
        return 1.0 - self.cost.cost_us / self.cost.random_us if self.cost.random_us else 0.0

    @property
    def most_us(self) -> float | None:
        """Greatest possible cost of the order in µs; None if unknown."""
        if self.cost.range_us is not None:
            return self.cost.range_us.high_us
        return None if self.filled_pairs else self.cost.cost_us

    @property
    def gap(self) -> float:
        """Largest share of the cost that any other order could save, 0 to 1; 1 if not proven."""
        cost_us = self.cost.cost_us
        if self.cost.range_us is not None:
            if self.cost.range_us.high_us is None:
                return 1.0
            cost_us = self.cost.range_us.high_us
        if cost_us <= self.cost.lower_bound_us * (1.0 + _ROUNDING):
            return 0.0
        return (cost_us - self.cost.lower_bound_us) / cost_us


class OrderHosts(Output, frozen=True):
    """Names of an order's hosts: those with ranks, in rank order, and the unused ones.

    Attributes:
        order: names of the hosts in rank order
        slots: number of ranks on each of them
        unused: names of hosts that were not chosen
        gap: largest share of the cost that any other order could save, 0 to 1
    """

    order: Sequence[str]
    slots: Sequence[Positive]
    unused: Sequence[str]
    gap: Share


# Members of the file that are printed otherwise, or not.
NOT_SHOWN = frozenset(("format", "version", "hosts", "groups", "unused", "way"))


def summarize_order(order: Order) -> dict[str, Any]:
    """Return an order's costs and hosts' names as a JSON object, without their addresses."""
    hosts = OrderHosts(
        order.names,
        [host.slots for host in order.hosts],
        [host.name for host in order.unused],
        order.gap,
    )
    members = {name: value for name, value in encode(order).items() if name not in NOT_SHOWN}
    summary = encode(hosts)
    gap = summary.pop("gap")
    return {**summary, **members, "gap": gap}


def read_order(path: str) -> Order:
    """Read an order file (`-`: standard input), or raise WrongUseError if it is none."""
    found = document.read(path)
    return decode_order(found.data, found.source)


def write_order(path: str, order: Order) -> None:
    """Write an order file atomically; `-` is standard output."""
    document.write_bytes(path, document.dump(encode(order)))


def decode_order(data: Mapping[str, Any], source: str) -> Order:
    """Return the order in the JSON object of file `source`, or raise WrongUseError."""
    document.check_format(data, source, FORMAT, VERSION)
    order = convert(data, Order, source)
    check_host_names(order.hosts, source)
    check_host_names(order.unused, source, "unused")
    return order


def _is_close(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=_TOLERANCE)
