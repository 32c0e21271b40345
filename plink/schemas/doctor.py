"""Schema of the output of `plink doctor`."""

from __future__ import annotations

from plink.doctor.finding import FindingKind
from plink.schemas import parts
from plink.schemas.parts import Schema, closed_object, list_of, or_null


def doctor_output() -> Schema:
    """Return the schema of what `plink doctor --json` prints."""
    what = "What slows a cluster or a job down: what `plink doctor --json` prints"
    finding = closed_object(
        "one cause, with all that it explains",
        {
            "kind": parts.one_of("of trouble", [kind.value for kind in FindingKind]),
            "hosts": parts.texts("one, the two of a pair, or those of a group"),
            "group": or_null(parts.text("whose uplink it is")),
            "says": parts.text("what is wrong, with numbers and their units"),
            "probability": parts.number("that it is no chance, 0 to 1", 0.0, 1.0),
            "certainty": parts.text("the same in words"),
            "cost": parts.number("how many times longer a transfer takes", 1.0),
            "evidence": parts.texts("what else it explains"),
            "advice": parts.texts("what to try, the likeliest first"),
        },
    )
    required = {
        "findings": list_of("the weightiest first", finding),
        "looked_at": parts.texts("what there was to look at"),
        "not_looked_at": parts.texts("what there was not"),
        "not_asked": parts.texts("hosts that could not be asked, and why"),
    }
    return parts.document("plink doctor --json", what, closed_object(what, required))
