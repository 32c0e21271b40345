"""The lines of a timeline: JSON objects of Chrome's trace event format, each on a line of its own.

"Trace Event Format" (Google, 2016): phase `M` names processes and rows, `B` begins something on a
row (`tid`) of a process (`pid`, the rank), `E` ends what began there last, `i` is a moment. Times
are in µs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Of the event that says what a file is.
FORMAT = "plink.timeline"
VERSION = 1

# The mode in which ranks release without asking each other.
BY_GRAPH = "graph"

# An error that stands for any.
UNKNOWN_US = 1e17

OPENING = "[\n"
BETWEEN = ",\n"
CLOSING = "\n]\n"

# Announced here, and not by all ranks.
WAIT = "wait"
# Agreed on, and not handed to the engine.
QUEUE = "queue"
# From the hand-over, copies included, until the result is where the program has it.
REDUCE = "reduce"
# A rank without data awaits the others.
JOIN = "join"


@dataclass(frozen=True)
class Head:
    """Header of a rank's file.

    Args:
        rank: whose.
        ranks: of its group.
        group: the same in all files of one group of one run, and in no others.
        clock: names the clock of `ts`: those of processes with the same one need no alignment.
        ahead_us: of that clock, what the time since 1970 was ahead of it as the file began.
        part: 0 for the first file of a rank, one more for each that went on.
        mode: of the control machines.
        error_us: where times were put beside those of the first rank already, by how much they can
            be wrong, `UNKNOWN_US` where that is not known; None in what a rank writes.
    """

    rank: int
    ranks: int
    group: str
    clock: str
    ahead_us: float
    part: int = 0
    mode: str = ""
    error_us: float | None = None


def head_lines(head: Head) -> list[str]:
    """Return the first lines of a file."""
    return [
        _name_line(FORMAT, head.rank, 0, {"version": VERSION, **vars(head)}),
        _name_line("process_name", head.rank, 0, {"name": f"rank {head.rank}"}),
        _name_line("process_sort_index", head.rank, 0, {"sort_index": head.rank}),
    ]


def row_lines(rank: int, row: int, name: str, place: int) -> list[str]:
    """Return the lines with a row's name and its place among the rows of its rank."""
    return [
        _name_line("thread_name", rank, row, {"name": name}),
        _name_line("thread_sort_index", rank, row, {"sort_index": place}),
    ]


def format_fields(category: str, name: str, args: str) -> str:
    """Format what begins. `name` and `args` are JSON already."""
    return f'"cat":"{category}","name":{name},"args":{args}'


def begin_line(rank: int, row: int, at_us: float, what: str) -> str:
    """Format the beginning of something on a row; `what` is `format_fields`."""
    return f'{{"ph":"B","pid":{rank},"tid":{row},"ts":{at_us:.1f},{what}}}'


def end_line(rank: int, row: int, at_us: float, args: str) -> str:
    """Format the end of what began last on a row. `args` is JSON already."""
    return f'{{"ph":"E","pid":{rank},"tid":{row},"ts":{at_us:.1f},"args":{args}}}'


def moment_line(rank: int, at_us: float, name: str, args: Mapping[str, Any]) -> str:
    """Format something without a duration, of the whole rank."""
    return dump_line(
        {"ph": "i", "s": "p", "name": name, "pid": rank, "tid": 0, "ts": at_us, "args": args}
    )


def dump_line(value: object) -> str:
    """Format a value as JSON, in one line."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _name_line(name: str, rank: int, row: int, args: Mapping[str, Any]) -> str:
    return dump_line({"name": name, "ph": "M", "pid": rank, "tid": row, "args": args})
