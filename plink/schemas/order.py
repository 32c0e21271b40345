"""Schema of the output of `plink order`."""

from __future__ import annotations

from plink.files.order import Order
from plink.schemas import parts
from plink.schemas.parts import Schema, closed_object, list_of, or_null

# Members of the order file that are printed otherwise, or not.
_HIDDEN = ("format", "version", "hosts", "groups", "unused")


def order_output() -> Schema:
    """Return the schema of what `plink order --json` prints."""
    what = "The order and its costs: what `plink order --json` prints"
    order = parts.struct(Order)
    members = {name: part for name, part in order["properties"].items() if name not in _HIDDEN}
    required = {
        "order": parts.texts("names of the hosts in rank order"),
        "slots": parts.whole_numbers("ranks of each of them", 1),
        "unused": parts.texts("names of hosts that were not chosen"),
        "gap": parts.number("the largest share of the cost that could be saved, 0 to 1", 0.0, 1.0),
        **{name: part for name, part in members.items() if name in order["required"]},
    }
    optional = {name: part for name, part in members.items() if name not in required}
    found = {
        "outliers": list_of("hosts that stand out", outlier()),
        "leaving_out": or_null(_left_out()),
    }
    schema = closed_object(what, required, {**optional, **found})
    return parts.document("plink order --json", what, schema)


def outlier() -> Schema:
    """Return the schema of an outlying host in `--json` output."""
    return closed_object(
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
    return closed_object(
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
