"""Schemas of the output of verbs about plans."""

from __future__ import annotations

from plink.files.plan import FORMAT, Predicted
from plink.schemas import parts
from plink.schemas.hub_figures import ports_verdict
from plink.schemas.parts import Schema, closed_object, list_of, or_null


def _counts() -> dict[str, Schema]:
    return {
        "ranks": parts.whole("how many there are", 1),
        "hosts": parts.whole("how many there are", 1),
        "groups": parts.whole("how many there are"),
        "routes": parts.whole("how many there are", 1),
    }


def _purpose() -> dict[str, Schema]:
    return {
        "kind": parts.word("how the routes were built"),
        "size_bytes": parts.whole("the buffer, in bytes", 1),
        "collectives": list_of(
            "that it was made for", parts.collective("a collective"), minItems=1
        ),
    }


def _measures() -> dict[str, Schema]:
    return {
        "rounds": parts.whole("messages that the longest way takes"),
        "wire_bytes": parts.number("what hosts send to each other, in bytes"),
        "cross_group_bytes": parts.number("what goes from a group to another, in bytes"),
        "balance": _balance(),
    }


def _balance() -> Schema:
    return parts.number("what the busiest rank sends and receives, over the mean of all ranks")


def plan_output() -> Schema:
    """Return the schema of what `plink plan --json` prints."""
    what = "The plan that was chosen, beside the others: what `plink plan --json` prints"
    candidate = closed_object(
        "a kind of plan that fits",
        {
            "kind": parts.word("of the plan"),
            "time_s": parts.number("predicted, of all collectives together, in s"),
            "routes": parts.whole("how many there are", 1),
            **_measures(),
        },
        {"ports": list_of("of servers, where it uses any", _port_use())},
    )
    refused = closed_object(
        "a kind of plan that does not fit",
        {"kind": parts.word("of the plan"), "reason": parts.text("why, in words")},
    )
    required = {
        **_purpose(),
        "reason": parts.text("why this kind was chosen"),
        **_counts(),
        "bound_s": or_null(parts.number("no plan takes less on this network, in s")),
        "balance": _balance(),
        "candidates": list_of("kinds that fit, with what they take", candidate),
        "refused": list_of("kinds that do not fit", refused),
        "assumptions": parts.texts("what was assumed of the network"),
        "seed": parts.whole("of the random choices"),
        "made_from": or_null(parts.made_from()),
    }
    with_servers = {
        "servers": parts.whole("ranks of the plan that are servers"),
        "ports": ports_verdict(),
    }
    return parts.document("plink plan --json", what, closed_object(what, required, with_servers))


def _port_use() -> Schema:
    return closed_object(
        "a server's port",
        {
            "host": parts.word("name of the server"),
            "port": parts.whole("of the server, from 0"),
            "sent_bytes": parts.number("in all, in bytes"),
            "received_bytes": parts.number("in all, in bytes"),
        },
    )


def shown_plan() -> Schema:
    """Return the schema of `plink show --json` for a plan."""
    share = "for every rank the share of the buffer that it is the root of, 0 to 1"
    return closed_object(
        "what a plan does",
        {
            "of": {"description": "the kind of file", "const": FORMAT},
            **_purpose(),
            **_counts(),
            **_measures(),
            "root_shares": parts.numbers(share, 0.0),
            "predicted": list_of(
                "times of the kinds of plan that were compared", parts.struct(Predicted)
            ),
            "bound_s": or_null(parts.number("no plan takes less on this network, in s")),
            "assumptions": parts.texts("what was assumed of the network"),
        },
        {"ports": list_of("of servers, where there are any", _port_use())},
    )


def predict_output() -> Schema:
    """Return the schema of what `plink predict --json` prints."""
    what = "What algorithms or collectives take: what `plink predict --json` prints"
    by_case = parts.by_case([(parts.has("kind"), _predicted_plan())], _predicted_order())
    return parts.document("plink predict --json", what, by_case)


def _predicted_order() -> Schema:
    row = closed_object(
        "an algorithm",
        {
            "algorithm": parts.text("its name, or a dimension: `mesh: tp`"),
            "order": or_null(_cost("in the order; null without one")),
            "given": _cost("in the given order"),
            "random": _cost("in random orders (median)"),
        },
        {"expected": _expected_time()},
    )
    refused = closed_object(
        "an algorithm that does not take so many ranks",
        {"algorithm": parts.word("its name"), "reason": parts.text("why, in words")},
    )
    return closed_object(
        "of an order",
        {
            "source": parts.text("the file"),
            "hosts": parts.whole("how many have a rank", 1),
            "ranks": parts.whole("how many there are", 1),
            "size_bytes": parts.whole("the buffer of each rank, in bytes", 0),
            "random_orders": parts.whole("how many were drawn", 1),
            "assumptions": parts.texts("what was assumed of the network"),
            "rows": list_of("algorithm by algorithm", row),
            "refused": list_of("algorithms that are left out", refused),
        },
    )


def _expected_time() -> Schema:
    return closed_object(
        "what the client takes that was fitted (`plink fit`); null where nobody can say",
        {
            "seconds": or_null(parts.number("the median, in s")),
            "low_s": or_null(parts.number("5 % of times are below, in s")),
            "high_s": or_null(parts.number("5 % of times are above, in s")),
            "refused": or_null(parts.text("why nobody can say")),
        },
    )


def _cost(what: str) -> Schema:
    return closed_object(
        what,
        {
            "latency_us": or_null(parts.number("the latency form of the cost, in µs")),
            "time_s": or_null(parts.number("the predicted time, in s; null without bandwidths")),
        },
        {
            "latency_range_us": _range("least and most latency, in µs, if pairs are missing"),
            "time_range_s": _range("least and most time, in s, if pairs are missing"),
        },
    )


def _range(what: str) -> Schema:
    limit = {"type": ["number", "null"], "minimum": 0}
    return list_of(what, limit, minItems=2, maxItems=2)


def _predicted_plan() -> Schema:
    row = closed_object(
        "a collective",
        {
            "collective": parts.collective("its name"),
            "time_s": parts.number("predicted, in s"),
            "bound_s": parts.number("no way of doing it takes less, in s"),
            "rounds": parts.whole("messages that the longest way takes"),
            "wire_bytes": parts.number("what hosts send to each other, in bytes"),
            "cross_group_bytes": parts.number("what goes from a group to another, in bytes"),
        },
        {"expected": _expected_time()},
    )
    return closed_object(
        "of a plan",
        {
            "source": parts.text("the file"),
            "kind": parts.word("of the plan"),
            "hosts": parts.whole("how many there are", 1),
            "ranks": parts.whole("how many there are", 1),
            "size_bytes": parts.whole("the buffer of each rank, in bytes", 0),
            "rows": list_of("collective by collective", row),
            "assumptions": parts.texts("what was assumed of the network"),
        },
    )
