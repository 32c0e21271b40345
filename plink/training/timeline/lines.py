"""The lines of a timeline: JSON objects of Chrome's trace event format, each on a line of its own.

"Trace Event Format" (Google, 2016): phase `M` names processes and rows, `B` begins something on a
row (`tid`) of a process (`pid`, the rank), `E` ends what began there last, `i` is a moment. Times
are in µs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from plink.formats.limits import Positive, Text, Whole, constrain_to_words

# Of the event that says what a file is.
FORMAT: Final = "plink.timeline"
VERSION: Final = 1

# The mode in which ranks release without asking each other.
BY_GRAPH = "graph"

# An error that stands for any.
UNKNOWN_US = 1e17
# No clock of a machine is so far.
MOST_US = 1e17
MOST_RANKS = 65_536
NO_BUFFER = -1

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


Time = Annotated[float, Meta(ge=-MOST_US, le=MOST_US)]
Number = Annotated[int, Meta(ge=0, le=(1 << 53) - 1)]


class Head(Struct, frozen=True, forbid_unknown_fields=True):
    """Header of a rank's file.

    Attributes:
        rank: rank that wrote the file
        ranks: number of ranks of its group
        group: name that all files of one group of one run have, and no others
        clock: name of the clock of `ts`; processes with the same one need no alignment
        ahead_us: time since 1970 minus that clock when the file began, in µs
        part: 0 for the first file of a rank, one more for each that went on
        mode: mode of the negotiation
        error_us: in a merged file, how far times may be off beside those of the first rank, in µs;
            1e17 if unknown; null in what a rank writes
        version: version of the format
    """

    rank: Whole
    ranks: Annotated[int, Meta(ge=1, le=MOST_RANKS)]
    group: Text
    clock: Text
    ahead_us: Time
    part: Number = 0
    mode: str = ""
    error_us: Annotated[float, Meta(ge=0, le=UNKNOWN_US)] | None = None
    version: Literal[1] = VERSION

    def __post_init__(self) -> None:
        if self.rank >= self.ranks:
            raise ValueError(f"rank is {self.rank} of {self.ranks} ranks")


class HeadEvent(Struct, frozen=True, forbid_unknown_fields=True):
    """First event of a file, or of a rank in a merged one.

    Attributes:
        name: name of the format
        ph: phase of an event that names something
        pid: the rank
        tid: no row
        args: header of the file
    """

    name: Literal["plink.timeline"]
    ph: Literal["M"]
    pid: Whole
    tid: Whole
    args: Head


class EventArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Details of an event.

    Attributes:
        bytes: size of the tensors, or of the buffer, in bytes
        buffer: number of the buffer, the same on all ranks
        collectives: number of collectives in the buffer
        tensors: number of tensors of a group
        kind: kind of collective, if it is no all-reduce
        failed: whether it failed before it was agreed on
        missed: whether its end is not known
        events: number of events that were missed
        last: rank that joined last
        name: name of a process or a row
        sort_index: place of a process or a row
    """

    bytes: Number = 0
    buffer: Number = NO_BUFFER
    collectives: Annotated[int, Meta(ge=1, le=(1 << 53) - 1)] = 1
    tensors: Positive = 1
    kind: Text = ""
    failed: bool = False
    missed: bool = False
    events: Number = 0
    last: Whole = 0
    name: Text = ""
    sort_index: Whole = 0


class Event(Struct, frozen=True, forbid_unknown_fields=True):
    """Any other event.

    Attributes:
        ph: phase: M names, B begins, E ends what began last on the row, i is a moment
        pid: the rank
        tid: the row
        args: details
        name: name of a collective, or of what is named
        cat: wait: announced, not agreed on; queue: agreed on, not begun; reduce: begun; join: the
            rank has no more data
        ts: time of anything but a name, in µs
        s: scope of a moment: the whole process
    """

    ph: Annotated[str, constrain_to_words("M", "B", "E", "i")]
    pid: Whole
    tid: Whole
    args: EventArgs
    name: Text = ""
    cat: Annotated[str, constrain_to_words(WAIT, QUEUE, REDUCE, JOIN)] = ""
    ts: Time = math.nan
    s: Literal["p"] = "p"

    def __post_init__(self) -> None:
        if self.ph != "M" and math.isnan(self.ts):
            raise ValueError("has no ts")
        if self.ph == "B" and not self.name:
            raise ValueError("has no name")
        if self.ph == "B" and self.cat in (QUEUE, REDUCE) and self.args.buffer == NO_BUFFER:
            raise ValueError("has no number of its buffer")


def head_lines(head: Head) -> list[str]:
    """Return the first lines of a file."""
    return [
        _name_line(FORMAT, head.rank, 0, {"version": VERSION, **asdict(head)}),
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
