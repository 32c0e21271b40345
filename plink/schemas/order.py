"""Schema of the output of `plink order`."""

from __future__ import annotations

from plink.files.order import Order
from plink.files.structs import describe_struct
from plink.optimize.leaving_out import Limiting
from plink.schemas import parts
from plink.schemas.parts import Schema, closed_object

# Members of the order file that are printed otherwise, or not.
_HIDDEN = ("format", "version", "hosts", "groups", "unused")


def order_output() -> Schema:
    """Return the schema of what `plink order --json` prints."""
    what = "The order and its costs: what `plink order --json` prints"
    order = describe_struct(Order)
    members = {name: part for name, part in order["properties"].items() if name not in _HIDDEN}
    required = {
        "order": parts.texts("names of the hosts in rank order"),
        "slots": parts.whole_numbers("ranks of each of them", 1),
        "unused": parts.texts("names of hosts that were not chosen"),
        "gap": parts.number("the largest share of the cost that could be saved, 0 to 1", 0.0, 1.0),
        **{name: part for name, part in members.items() if name in order["required"]},
    }
    optional = {name: part for name, part in members.items() if name not in required}
    found = describe_struct(Limiting)["properties"]
    schema = closed_object(what, required, {**optional, **found})
    return parts.document("plink order --json", what, schema)
