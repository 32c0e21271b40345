"""Names of collectives in plans, predictions and benchmarks, checked and formatted."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from plink.base.errors import WrongUseError
from plink.base.text import brief

ALL_REDUCE = "all-reduce"
REDUCE_SCATTER = "reduce-scatter"
ALL_GATHER = "all-gather"
BROADCAST = "broadcast"
REDUCE = "reduce"
GATHER = "gather"
SCATTER = "scatter"
ALL_TO_ALL = "all-to-all"
BARRIER = "barrier"
SEND_RECEIVE = "send-receive"

COLLECTIVES = (
    ALL_REDUCE,
    REDUCE_SCATTER,
    ALL_GATHER,
    BROADCAST,
    REDUCE,
    GATHER,
    SCATTER,
    ALL_TO_ALL,
    BARRIER,
    SEND_RECEIVE,
)

_HINT = f"the collectives are {', '.join(COLLECTIVES)}"

# These go directly from rank to rank, along no tree.
DIRECT = (GATHER, SCATTER, ALL_TO_ALL, SEND_RECEIVE)

# So many calls tell every mix of collectives well enough.
MOST_CALLS = 64


def check_collectives(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return names of collectives, given as a list or as text with commas; raise if one is unknown.

    Raises:
        WrongUseError: none, too many, or one that plink does not know; the hint says which it does.
    """
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",")]
    if not isinstance(names, Sequence):
        raise WrongUseError(
            f"{{collective}} is {brief(names)}, expected a name or a list of names",
            _HINT,
            arguments={"collective": names},
        )
    for name in names:
        if name not in COLLECTIVES:
            near = difflib.get_close_matches(str(name), COLLECTIVES, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise WrongUseError(f"there is no collective {str(name)!r}{meant}", _HINT)
    if not 0 < len(names) <= MOST_CALLS:
        raise WrongUseError(f"{len(names)} collectives are given, expected 1 to {MOST_CALLS}")
    return tuple(names)


def format_collectives(names: Sequence[str]) -> str:
    """Return the names as text with counts, such as `2 all-gather, reduce-scatter`."""
    counts = {name: names.count(name) for name in names}
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in counts.items())
