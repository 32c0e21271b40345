"""The order file: hosts in rank order, what that costs, and how good it is (`docs/order.md`)."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plink.base.errors import WrongUseError
from plink.files import cluster, document, order_bandwidth
from plink.files.cluster import Host
from plink.files.fields import Fields
from plink.files.groups import Group, groups_to_json, parse_groups
from plink.files.order_bandwidth import OrderBandwidth
from plink.files.rtt import MAX_RTT_US

FORMAT = "plink.order"
# What is written, what is where older readers would miss hosts without ranks or ranks apart, and
# what is where they would miss that a cost is a range, or no time.
_VERSION, _VERSION_WITH_SLOTS, _VERSION_WITH_RANGE = 1, 2, 3

_MAX_SECONDS = 1e9
_MAX_LOSS = 1e6
_MAX_COUNT = (1 << 63) - 1

_MAX_COST_US = 1e15
_MAX_SIZE_BYTES = (1 << 63) - 1

# What an order file may minimise.
OBJECTIVES = ("latency", "contention", "bandwidth")

# Costs are sums of rounded readings, added up in another order by another program perhaps.
_TOLERANCE = 1e-6

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


def read(path: str) -> Order:
    """The order in a file.

    Raises:
        WrongUseError: not an order file, or one with values that cannot be.
    """
    return parse(document.read_bytes(path), document.label(path))


def write(path: str, order: Order) -> None:
    """Write an order file, whole or not at all."""
    document.write_bytes(path, document.dump(to_json(order)))


def parse(content: bytes, source: str) -> Order:
    """The order in the JSON text `content`; `source` names it in errors."""
    return from_json(document.parse(content, source), source)


def from_json(data: Mapping[str, Any], source: str) -> Order:
    """The order that a JSON object stands for; `source` names it in errors."""
    is_by_bandwidth = data.get("objective") == "bandwidth"
    found = data.get("version")
    older = [version for version in (_VERSION, _VERSION_WITH_SLOTS) if version == found]
    known = older if older and not is_by_bandwidth else [_VERSION_WITH_RANGE]
    document.check_format(data, source, FORMAT, *known)
    fields = Fields(data, source)
    hosts = cluster.parse_hosts(fields)
    bandwidth = None
    if is_by_bandwidth:
        bandwidth = order_bandwidth.parse(fields.object("bandwidth"), len(hosts))
        fields = Fields({**data, **bandwidth.times()}, source)
    unused = tuple(cluster.parse_hosts(fields, "unused")) if "unused" in data else ()
    everyone = [host.name for host in (*hosts, *unused)]
    size = len(everyone)
    solver = fields.object("solver")
    proof = fields.optional_object("proof")
    order = Order(
        algorithm=fields.word("algorithm"),
        hosts=hosts,
        hops_us=fields.numbers(
            "hops_us", len(hosts), MAX_RTT_US if bandwidth is None else _MAX_COST_US
        ),
        given=fields.texts("given"),
        cost_us=fields.number("cost_us", 0.0, _MAX_COST_US),
        cost_given_us=fields.number("cost_given_us", 0.0, _MAX_COST_US),
        cost_random_us=fields.number("cost_random_us", 0.0, _MAX_COST_US),
        random_orders=fields.integer("random_orders", 1, _MAX_COUNT),
        lower_bound_us=fields.number("lower_bound_us", 0.0, _MAX_COST_US),
        solver=Solver(
            name=solver.word("name"),
            options=solver.settings("options"),
            seed=solver.integer("seed", 0, _MAX_COUNT),
            steps=solver.integer("steps", 0, _MAX_COUNT),
            ended_by=solver.word("ended_by"),
        ),
        seconds=fields.number("seconds", 0.0, _MAX_SECONDS),
        filled_pairs=fields.integer("filled_pairs", 0, size * (size - 1) // 2),
        unmeasured_hosts=fields.texts("unmeasured_hosts"),
        confirmed_gain=fields.optional_number("confirmed_gain", -_MAX_LOSS, 1.0),
        made_from=fields.optional_text("made_from"),
        objective=fields.optional_word("objective") or "latency",
        size_bytes=fields.optional_integer("size_bytes", low=1, high=_MAX_SIZE_BYTES),
        proof=None
        if proof is None
        else Proof(
            engine=proof.word("engine"),
            outcome=proof.word("outcome"),
            seconds=proof.number("seconds", 0.0, _MAX_SECONDS),
        ),
        groups=tuple(parse_groups(fields, everyone)),
        unused=unused,
        host_of_rank=_parse_ranks(fields, hosts),
        bandwidth=bandwidth,
        cost_range_us=_parse_range(fields),
        filled_hops=_parse_filled_hops(fields, len(hosts)),
    )
    _check(order, fields)
    return _without_claims(order)


def to_json(order: Order) -> dict[str, Any]:
    """The JSON object that stands for `order`."""
    data = {
        "format": FORMAT,
        "version": _version(order),
        **({} if order.made_from is None else {"made_from": order.made_from}),
        "algorithm": order.algorithm,
        "objective": order.objective,
        **({} if order.size_bytes is None else {"size_bytes": order.size_bytes}),
        "hosts": cluster.hosts_to_json(order.hosts),
        **({"unused": cluster.hosts_to_json(order.unused)} if order.unused else {}),
        **({} if order.host_of_rank is None else {"host_of_rank": list(order.host_of_rank)}),
        "hops_us": list(order.hops_us),
        **({"filled_hops": list(order.filled_hops)} if order.filled_hops else {}),
        "given": list(order.given),
        "cost_us": order.cost_us,
        **_range_to_json(order),
        "cost_given_us": order.cost_given_us,
        "cost_random_us": order.cost_random_us,
        "random_orders": order.random_orders,
        "lower_bound_us": order.lower_bound_us,
        "gap": order.gap,
        "solver": {
            "name": order.solver.name,
            "options": dict(order.solver.options),
            "seed": order.solver.seed,
            "steps": order.solver.steps,
            "ended_by": order.solver.ended_by,
        },
        "seconds": round(order.seconds, 3),
        "filled_pairs": order.filled_pairs,
        "unmeasured_hosts": list(order.unmeasured_hosts),
        **({} if order.confirmed_gain is None else {"confirmed_gain": order.confirmed_gain}),
        **({} if order.proof is None else {"proof": vars(order.proof)}),
        **({"groups": groups_to_json(order.groups)} if order.groups else {}),
    }
    if order.bandwidth is None:
        return data
    in_place = {"bandwidth": order_bandwidth.to_json(order.bandwidth)}
    others = {key: value for key, value in data.items() if key not in order_bandwidth.TIMES}
    return {**others, **in_place}


def _version(order: Order) -> int:
    if order.cost_range_us is not None or order.bandwidth is not None:
        return _VERSION_WITH_RANGE
    has_slots = bool(order.unused) or order.host_of_rank is not None
    return _VERSION_WITH_SLOTS if has_slots else _VERSION


def _range_to_json(order: Order) -> dict[str, float]:
    if order.cost_range_us is None:
        return {}
    low_us, high_us = order.cost_range_us
    return {"cost_low_us": low_us, **({} if high_us is None else {"cost_high_us": high_us})}


def _parse_range(fields: Fields) -> tuple[float, float | None] | None:
    high_us = fields.optional_number("cost_high_us", 0.0, _MAX_COST_US)
    if high_us is None and fields.values.get("cost_low_us") is None:
        return None
    return fields.number("cost_low_us", 0.0, _MAX_COST_US), high_us


def _parse_filled_hops(fields: Fields, hosts: int) -> list[int]:
    found = fields.values.get("filled_hops", [])
    if not isinstance(found, list):
        raise fields.error("filled_hops", "a list of places in hops_us")
    if not found:
        return []
    return fields.integers("filled_hops", len(found), 0, hosts - 1)


def _without_claims(order: Order) -> Order:
    """The order without what earlier versions took for proven of distances that were filled in."""
    if not order.filled_pairs or order.cost_range_us is not None:
        return order
    proof = order.proof
    if proof is not None and proof.outcome == "optimal":
        proof = replace(proof, outcome="gave-up")
    return replace(order, lower_bound_us=0.0, proof=proof)


def _parse_ranks(fields: Fields, hosts: Sequence[Host]) -> list[int] | None:
    if "host_of_rank" not in fields.values:
        return None
    ranks = sum(host.slots for host in hosts)
    numbers = fields.numbers("host_of_rank", ranks, len(hosts) - 1)
    if not all(number.is_integer() for number in numbers):
        raise fields.error("host_of_rank", "indices of hosts")
    found = [int(number) for number in numbers]
    counts = Counter(found)
    if any(counts[place] != host.slots for place, host in enumerate(hosts)):
        raise fields.error("host_of_rank", "every host as often as it has slots")
    if list(counts) != list(range(len(hosts))):
        raise fields.error("host_of_rank", "the hosts by their first rank")
    return found


def _check(order: Order, fields: Fields) -> None:
    everyone = [*order.names, *(host.name for host in order.unused)]
    if len(set(everyone)) < len(everyone):
        raise WrongUseError(f"{fields.place}: a host is in hosts and in unused")
    if sorted(order.given) != sorted(everyone):
        which = "hosts and unused" if order.unused else "hosts"
        raise WrongUseError(f"{fields.place}: given does not name the same hosts as {which}")
    if not set(order.unmeasured_hosts) <= set(order.names):
        raise WrongUseError(f"{fields.place}: unmeasured_hosts names others than hosts")
    if order.objective not in OBJECTIVES:
        raise fields.error("objective", " or ".join(OBJECTIVES))
    if order.bandwidth is not None and order.algorithm == "ring" and len(order.hosts) > 1:
        order_bandwidth.check_ring(order.bandwidth, fields.place)
    hops_us = sum(order.hops_us)
    if order.is_ring_of_latencies and not math.isclose(hops_us, order.cost_us, rel_tol=_TOLERANCE):
        raise WrongUseError(f"{fields.place}: hops_us does not sum up to cost_us")
    slack = 1.0 + _TOLERANCE
    if order.lower_bound_us > order.cost_us * slack:
        raise WrongUseError(f"{fields.place}: lower_bound_us is above cost_us")
    if order.cost_range_us is not None:
        _check_range(order, fields, slack)
    if order.bandwidth is None and order.cost_us > order.cost_given_us * slack:
        raise WrongUseError(f"{fields.place}: cost_us is above cost_given_us")
    gap = fields.number("gap", 0.0, 1.0)
    if not math.isclose(gap, order.gap, abs_tol=_TOLERANCE):
        raise fields.error("gap", f"{order.gap:.6f}, which its costs give")


def _check_range(order: Order, fields: Fields, slack: float) -> None:
    low_us, high_us = order.cost_range_us or (0.0, None)
    if low_us > order.cost_us * slack:
        raise WrongUseError(f"{fields.place}: cost_low_us is above cost_us")
    if high_us is not None and order.cost_us > high_us * slack:
        raise WrongUseError(f"{fields.place}: cost_us is above cost_high_us")
    if order.lower_bound_us > low_us * slack:
        raise WrongUseError(f"{fields.place}: lower_bound_us is above cost_low_us")
