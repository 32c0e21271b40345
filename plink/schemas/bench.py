"""Schema of the output of `plink bench`."""

from __future__ import annotations

from plink.files.comparison import Comparison
from plink.schemas import parts
from plink.schemas.parts import MAX_COUNT, MAX_SECONDS, Schema, closed_object, list_of, or_null

_MAX_BYTES = 1 << 62
_MAX_COUNT = 1_000_000


def bench_output() -> Schema:
    """Return the schema of what `plink bench --json` prints."""
    what = "What was measured: what `plink bench --json` prints"
    by_case = parts.by_case([(parts.has("format"), parts.struct(Comparison))], _orders())
    return parts.document("plink bench --json", what, by_case)


def _texts(what: str) -> Schema:
    return parts.by_name(what, {"type": "string", "minLength": 1})


def _setting() -> dict[str, Schema]:
    return {
        "warmups": parts.whole("of each launch", 0, _MAX_COUNT),
        "repetitions": parts.whole("of each launch", 1, _MAX_COUNT),
        "rounds": parts.whole("how often everything was to be launched", 1, _MAX_COUNT),
        "seed": parts.whole("of the random choices", 0, MAX_COUNT),
        "congestion_control": _texts("the default of TCP on each host"),
        "made_from": parts.made_from(),
    }


def _rounds_done() -> Schema:
    return parts.whole("the rounds in which everything ran", 0, _MAX_COUNT)


def _stop_reason() -> Schema:
    return or_null(parts.text("why not all rounds ran; null if they did"))


def _times() -> dict[str, Schema]:
    which = {"median_s": "the median", "min_s": "the least", "max_s": "the greatest"}
    times = {
        name: {
            "description": f"{what} time of one collective, in s",
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": MAX_SECONDS,
        }
        for name, what in which.items()
    }
    rate = parts.number("bits that a rank must send over the median time, in Mbit/s", 0, _MAX_BYTES)
    return {**times, "bus_mbit": rate}


def _hosts() -> Schema:
    return list_of("the host of each rank", {"type": "string"}, minItems=1)


def _orders() -> Schema:
    correlation = closed_object(
        "Spearman's rank correlation of predicted and measured times",
        {
            "value": parts.number("the correlation", -1.0, 1.0),
            "low": or_null(parts.number("of its 95 % interval", -1.0, 1.0)),
            "high": or_null(parts.number("of its 95 % interval", -1.0, 1.0)),
        },
    )
    return closed_object(
        "several orders of one client, algorithm and size",
        {
            "client": parts.text("that ran"),
            "versions": _texts("of its parts"),
            "settings": _texts("that it was given"),
            "algorithm": parts.text("that ran"),
            "size_bytes": parts.whole("the whole buffer, in bytes", 1),
            **_setting(),
            "rounds_done": _rounds_done(),
            "stopped": _stop_reason(),
            "time_of_a_repetition": parts.text("whose time it is, in words"),
            "filled_pairs": parts.whole("pairs whose distance was filled from others"),
            "unmeasured_hosts": parts.texts("names of hosts without any measurement"),
            "spearman": closed_object(
                "how well predictions ranked the orders; null if not defined",
                {"latency": or_null(correlation), "contention": or_null(correlation)},
            ),
            "rows": list_of("order by order", _order_row()),
        },
    )


def _order_row() -> Schema:
    return closed_object(
        "an order",
        {
            "order": parts.text("its label: `given`, `plink`, `random-1`, ..."),
            "hosts": _hosts(),
            **_times(),
            "speedup_over_given": or_null(parts.number("times as fast as the given order")),
            "speedup_over_random": or_null(parts.number("times as fast as random orders (median)")),
            "predicted_us": or_null(parts.number("the latency form of its cost, in µs")),
            "predicted_s": or_null(parts.number("its predicted time, in s")),
            "samples_s": parts.numbers("each repetition, in s"),
        },
    )
