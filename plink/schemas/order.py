"""The schemas of the order file (`plink.files.order_file`) and of what `plink order` prints."""

from __future__ import annotations

from typing import Any

from plink.files.bandwidth import MAX_GBIT_S
from plink.files.mesh import MAX_MESH_RANKS
from plink.files.order import OBJECTIVES
from plink.files.order_file import FORMAT
from plink.files.rtt import MAX_RTT_US
from plink.schemas import parts
from plink.schemas.cluster import hosts
from plink.schemas.parts import MAX_COUNT, MAX_SECONDS, Schema, closed, listed, or_null

_MAX_COST_US = 1e15
_LEAST_GBIT_S = 1e-9
_TIMES = ("hops_us", "cost_us", "cost_given_us", "cost_random_us", "lower_bound_us")


def order_file() -> Schema:
    """Hosts in rank order."""
    what = "Hosts in rank order, and what the order costs: what `plink order -o` writes"
    optional = {
        **_optional(),
        **parts.way(),
        "unused": hosts("hosts that were not chosen, with their slots"),
        "groups": listed("groups of near hosts", parts.group()),
        "host_of_rank": _host_of_rank(),
    }
    required = {
        **parts.head(FORMAT, [1, 2, 3]),
        "hosts": hosts("in rank order, each with as many slots as ranks"),
        **_required(),
    }
    return parts.document("plink.order", what, _by_objective(what, required, optional))


def order_output() -> Schema:
    """What `plink order --json` prints."""
    what = "The order and its costs: what `plink order --json` prints"
    required = {
        "order": parts.texts("names of the hosts in rank order"),
        "slots": parts.whole_numbers("ranks of each of them", 1),
        **_required(),
        "objective": parts.one_of("what is minimised", OBJECTIVES),
    }
    optional = {
        **_optional(),
        "unused": parts.texts("names of hosts that were not chosen"),
        "host_of_rank": _host_of_rank(),
        "outliers": listed("hosts that stand out", outlier()),
        "leaving_out": or_null(_left_out()),
    }
    optional.pop("objective")
    return parts.document("plink order --json", what, _by_objective(what, required, optional))


def _by_objective(what: str, required: dict[str, Schema], optional: dict[str, Schema]) -> Schema:
    """Times in µs, or bandwidths in place of them."""
    refused = dict.fromkeys(_TIMES, False)
    is_by_bandwidth: dict[str, Any] = {
        "properties": {"objective": {"const": "bandwidth"}},
        "required": ["objective"],
    }
    bandwidths: dict[str, Any] = {"required": ["bandwidth"], "properties": refused}
    if "version" in required:
        bandwidths["properties"] = {**refused, "version": {"const": 3}}
    return {
        **closed(what, required, {**_times(), "bandwidth": _bandwidth(), **optional}),
        "if": is_by_bandwidth,
        "then": bandwidths,
        "else": {"required": list(_TIMES), "properties": {"bandwidth": False}},
    }


def _times() -> dict[str, Schema]:
    costs = {
        "cost_us": "the cost of this order, in µs",
        "cost_given_us": "the cost of the given order, in µs",
        "cost_random_us": "the median cost of random orders, in µs",
        "lower_bound_us": "proven: no order costs less, in µs; 0 if no bound is known",
    }
    hops = "the distance from every host to the next, and from the last to the first, in µs"
    return {
        "hops_us": parts.numbers(hops, 0.0, MAX_RTT_US),
        **{name: parts.number(what, 0.0, _MAX_COST_US) for name, what in costs.items()},
    }


def _required() -> dict[str, Schema]:
    solver = closed(
        "what found the order",
        {
            "name": parts.word("of the search"),
            "options": parts.settings("it ran with"),
            "seed": parts.whole("of the random choices", 0, MAX_COUNT),
            "steps": parts.whole("how many it took", 0, MAX_COUNT),
            "ended_by": parts.word("what ended it"),
        },
    )
    return {
        "algorithm": parts.word("whose cost was minimised, such as `ring`"),
        "given": parts.texts("names of all hosts, in the order of the cluster file"),
        "random_orders": parts.whole("how many random orders were compared", 1, MAX_COUNT),
        "gap": parts.number("the largest share of the cost that could be saved, 0 to 1", 0.0, 1.0),
        "solver": solver,
        "seconds": parts.number("how long the search took, in s", 0.0, MAX_SECONDS),
        "filled_pairs": parts.whole("pairs whose distance was filled from others", 0),
    }


def _optional() -> dict[str, Schema]:
    cost_us = parts.number("the least that the order may cost, in µs", 0.0, _MAX_COST_US)
    most_us = parts.number("the most that the order may cost, in µs", 0.0, _MAX_COST_US)
    proof = closed(
        "the result of an exact engine",
        {
            "engine": parts.word("its name"),
            "outcome": parts.word("`improved`, `optimal` or `gave-up`"),
            "seconds": parts.number("how long it took, in s", 0.0, MAX_SECONDS),
        },
    )
    return {
        "made_from": or_null(parts.made_from()),
        "mesh": or_null(_mesh()),
        "objective": or_null(parts.one_of("what is minimised; `latency` if absent", OBJECTIVES)),
        "size_bytes": or_null(parts.whole("of the buffer whose time is predicted", 1, MAX_COUNT)),
        "filled_hops": parts.whole_numbers("indices in `hops_us` of pairs that were not measured"),
        "cost_low_us": or_null(cost_us),
        "cost_high_us": or_null(most_us),
        "confirmed_gain": or_null(
            parts.number("the share that one direction's order saves on the other", -1e6, 1.0)
        ),
        "proof": or_null(proof),
        "unmeasured_hosts": parts.texts("names of hosts without any measurement"),
    }


def _host_of_rank() -> Schema:
    return parts.whole_numbers("for every rank the index of its host, if ranks are apart")


def _mesh() -> Schema:
    dimension = closed(
        "a dimension",
        {
            "name": {**parts.word("such as `tp`"), "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,31}$"},
            "size": parts.whole("ranks of each of its groups", 1, MAX_MESH_RANKS),
            "algorithm": {
                **parts.word("what these run"),
                "pattern": "^[a-z0-9][a-z0-9:-]{0,63}$",
            },
            "size_bytes": parts.whole("of the buffer of an iteration", 0, MAX_COUNT),
        },
    )
    return listed("dimensions of the mesh, the last one fastest", dimension, minItems=1, maxItems=8)


def _bandwidth() -> Schema:
    rates = {
        "bottleneck_gbit_s": "the least bandwidth that is used in this order, in Gbit/s",
        "bottleneck_given_gbit_s": "in the given order, in Gbit/s",
        "bottleneck_random_gbit_s": "in random orders (median), in Gbit/s",
    }
    totals = {
        "sum_s_per_gbit": "the time of a Gbit, added up like latencies, in s",
        "sum_given_s_per_gbit": "in the given order, in s",
        "sum_random_s_per_gbit": "in random orders (median), in s",
    }

    def rate(what: str) -> Schema:
        return parts.number(what, _LEAST_GBIT_S, MAX_GBIT_S)

    def total(what: str) -> Schema:
        return parts.number(what, 0.0, 1e15)

    hops = "from every host to the next, and from the last to the first, in Gbit/s"
    return closed(
        "bandwidths, in place of all members in µs",
        {
            "hops_gbit_s": parts.numbers(hops, _LEAST_GBIT_S, MAX_GBIT_S),
            **{name: rate(what) for name, what in rates.items()},
            **{name: total(what) for name, what in totals.items()},
        },
        {
            "bottleneck_bound_gbit_s": or_null(rate("proven: no order has more, in Gbit/s")),
            "sum_bound_s_per_gbit": or_null(total("proven: no such order takes less, in s")),
        },
    )


def outlier() -> Schema:
    """A host that stands out, as `--json` prints it."""
    return closed(
        "a host that stands out",
        {
            "host": parts.text("its name"),
            "kind": parts.one_of("what differs", ["send", "receive", "round trip"]),
            "unit": parts.one_of("of both values", ["us", "gbit_s"]),
            "value": parts.number("in `unit`"),
            "usual": parts.number("the median of the other hosts, in `unit`"),
        },
    )


def _left_out() -> Schema:
    return closed(
        "what leaving them all out would gain; null if not predicted",
        {
            "hosts": parts.texts("names of those that are left out"),
            "ranks": parts.whole("how many are left", 1),
            "is_time": parts.flag("the costs are predicted times; else sums of latencies"),
            "with_us": parts.number("the cost with them, in µs"),
            "without_us": or_null(parts.number("the cost without them, in µs")),
            "size_bytes": parts.whole("of the buffer", 1),
            "slots": or_null(parts.whole("of every host, if others than the cluster's", 1)),
            "gain": parts.number("the share of the cost that is saved", None, 1.0),
        },
    )
