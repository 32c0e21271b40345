"""Schema of the output of `plink simulate`."""

from __future__ import annotations

from plink.schemas import parts
from plink.schemas.parts import Schema, closed_object, list_of, or_null


def simulate_output() -> Schema:
    """Return the schema of what `plink simulate --json` prints."""
    what = "What was simulated: what `plink simulate --json` prints"
    row = closed_object(
        "an algorithm, a collective along a plan, or a trace",
        {
            "algorithm": parts.text("its name"),
            "order": or_null(_times("in plink's order, the order file's, or along the plan")),
            "given": or_null(_times("in the given order; null of a plan")),
            "random": or_null(_times("in random orders (median); null without any")),
            "gain": or_null(parts.number("how many times as long a random order takes")),
            "seconds": parts.number("that its simulations took, in s"),
        },
    )
    refused = closed_object(
        "an algorithm that does not take so many ranks",
        {"algorithm": parts.word("its name"), "reason": parts.text("why, in words")},
    )
    required = {
        "source": parts.text("the file, or the data centre in words"),
        "hosts": parts.whole("how many there are", 1),
        "ranks": parts.whole("how many there are", 1),
        "size_bytes": parts.whole("the buffer of each rank, in bytes", 0),
        "random_orders": parts.whole("how many were drawn"),
        "notes": parts.texts("what was assumed of the network"),
        "rows": list_of("what was simulated", row),
        "refused": list_of("algorithms that are left out", refused),
    }
    return parts.document(
        "plink simulate --json", what, closed_object(what, required, {"tuned": _tuned_times()})
    )


def _tuned_times() -> Schema:
    plan = closed_object(
        "a new plan",
        {
            "window": parts.whole("after which, from 0"),
            "action": parts.text("what was done"),
            "reason": parts.text("why, in words"),
            "iteration_s": parts.number("that an iteration takes with it, in s"),
        },
    )
    return closed_object(
        "what iterations of a tuned job take, in s",
        {
            "before_s": parts.number("on the usual network, in s"),
            "changed_s": parts.number("on the changed one, with the first plan, in s"),
            "tuned_s": parts.number("there, with the tuner's, in s"),
            "fresh_s": parts.number("there, with one made for it, in s"),
            "recovered_s": parts.number("in the end, on the usual network, in s"),
            "plans": list_of("that the tuner handed out", plan),
        },
    )


def _times(what: str) -> Schema:
    return closed_object(
        what,
        {
            "simulated_s": or_null(parts.number("on SimGrid, in s; null where it took too long")),
            "predicted_s": or_null(parts.number("by plink's model, in s; null where it has none")),
        },
    )
