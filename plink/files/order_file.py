"""The order file: parsing, checking and writing (`docs/files.md`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from plink.base.errors import WrongUseError
from plink.files import cluster, document, way_record
from plink.files.bandwidth import MAX_GBIT_S
from plink.files.cluster import Host
from plink.files.fields import Fields
from plink.files.groups import groups_to_json, parse_groups
from plink.files.measurement import without_nones
from plink.files.mesh import MESH, mesh_from_json, mesh_to_json
from plink.files.order import OBJECTIVES, Order, OrderBandwidth, Proof, Solver
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

# Less than a bit a second is no bandwidth.
_LEAST_GBIT_S = 1e-9
_MAX_S_PER_GBIT = 1e15

# Members that a file of an order by bandwidth does not have, since they follow from its bandwidths.
_TIMES = ("hops_us", "cost_us", "cost_given_us", "cost_random_us", "lower_bound_us")

# Costs are sums of rounded readings, added up in another order by another program perhaps.
_TOLERANCE = 1e-6


def read(path: str) -> Order:
    """The order in a file.

    Raises:
        WrongUseError: not an order file, or one with values that cannot be.
    """
    found = document.read(path)
    return from_json(found.data, found.source)


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
        bandwidth = _parse_bandwidth(fields.object("bandwidth"), len(hosts))
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
        mesh=mesh_from_json(fields),
        way=way_record.parse(fields),
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
        **({} if order.mesh is None else {"mesh": mesh_to_json(order.mesh)}),
        "objective": order.objective,
        **({} if order.size_bytes is None else {"size_bytes": order.size_bytes}),
        "hosts": cluster.hosts_to_json(order.hosts),
        **({"unused": cluster.hosts_to_json(order.unused)} if order.unused else {}),
        **way_record.to_json(order.way),
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
    in_place = {"bandwidth": _bandwidth_to_json(order.bandwidth)}
    others = {key: value for key, value in data.items() if key not in _TIMES}
    return {**others, **in_place}


def summary(order: Order) -> dict[str, Any]:
    """The JSON object with what an order costs, and its hosts by name alone."""
    data = to_json(order)
    hidden = {"format", "version", "hosts", "groups", "unused", "host_of_rank", "ssh", "via"}
    slots = [host.slots for host in order.hosts]
    chosen = {"unused": [host.name for host in order.unused]} if order.unused else {}
    apart = {} if order.host_of_rank is None else {"host_of_rank": list(order.host_of_rank)}
    shown = {key: data[key] for key in data if key not in hidden}
    return {"order": order.names, "slots": slots, **chosen, **apart, **shown}


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
    if (order.mesh is not None) != (order.algorithm == MESH):
        raise fields.error("algorithm", f"{MESH} where there is a mesh, and another one elsewhere")
    if order.mesh is not None and order.mesh.ranks != order.ranks:
        raise WrongUseError(
            f"{fields.place}: the mesh has {order.mesh.ranks} ranks, the hosts {order.ranks}"
        )
    if order.objective not in OBJECTIVES:
        raise fields.error("objective", " or ".join(OBJECTIVES))
    if order.bandwidth is not None and order.algorithm == "ring" and len(order.hosts) > 1:
        _check_ring(order.bandwidth, fields.place)
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


def _bandwidth_to_json(bandwidth: OrderBandwidth) -> dict[str, Any]:
    """The JSON object that stands for it."""
    return without_nones({**vars(bandwidth), "hops_gbit_s": list(bandwidth.hops_gbit_s)})


def _parse_bandwidth(fields: Fields, hosts: int) -> OrderBandwidth:
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


def _check_ring(bandwidth: OrderBandwidth, place: str) -> None:
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
