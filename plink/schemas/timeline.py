"""Schema of a rank's timeline file."""

from __future__ import annotations

from plink.schemas import parts
from plink.schemas.parts import Schema, closed_object, or_null
from plink.training.timeline.lines import FORMAT, UNKNOWN_US, VERSION

_MOST_US = 1e17
_MOST = (1 << 53) - 1


def timeline_file() -> Schema:
    """Return the schema of one event in a rank's timeline file."""
    what = "An event of a timeline: what a rank writes with PLINK_TIMELINE, or `plink timeline -o`"
    event = parts.by_case([(parts.says("name", FORMAT), _head())], _event())
    return parts.document(FORMAT, what, event)


def _head() -> Schema:
    says = {
        "version": {"description": "of the format", "enum": [VERSION]},
        "rank": parts.whole("whose it is", 0),
        "ranks": parts.whole("of its group", 1),
        "group": parts.text("the same in all files of one group of one run"),
        "clock": parts.text("the name of the clock of `ts`"),
        "ahead_us": parts.number("what the time since 1970 is ahead of it, in µs", -_MOST_US),
        "part": parts.whole("0 for the first file of a rank", 0, _MOST),
        "mode": {"description": "of the control machines", "type": "string"},
        "error_us": or_null(
            parts.number(
                "in a merged file, how wrong times may be beside those of the first rank, in µs; "
                f"{UNKNOWN_US:g} where that is not known",
            )
        ),
    }
    return closed_object(
        "the first event of a file, or of a rank in a merged one",
        {
            "name": {"description": "what it is", "const": FORMAT},
            "ph": {"description": "its phase: a name", "const": "M"},
            "pid": parts.whole("the rank"),
            "tid": parts.whole("no row"),
            "args": closed_object("what the file says of itself", says),
        },
    )


def _event() -> Schema:
    args = {
        "bytes": parts.whole("of the tensors, or of the buffer", 0, _MOST),
        "buffer": parts.whole("the number of the buffer, the same on all ranks", 0, _MOST),
        "collectives": parts.whole("in the buffer", 1),
        "tensors": parts.whole("of a group", 1),
        "kind": parts.text("of collective, where it is no all-reduce"),
        "failed": parts.flag("it failed before it was agreed on"),
        "missed": parts.flag("its end is not known"),
        "events": parts.whole("that were missed", 0, _MOST),
        "last": parts.whole("the rank that joined last"),
        "name": parts.text("of a process or a row"),
        "sort_index": parts.whole("the place of a process or a row"),
    }
    return closed_object(
        "any other event",
        {
            "ph": parts.one_of(
                "M names, B begins, E ends what began last on the row, i is a moment",
                ["M", "B", "E", "i"],
            ),
            "pid": parts.whole("the rank"),
            "tid": parts.whole("the row"),
            "args": closed_object("more of it", {}, args),
        },
        {
            "name": parts.text("of a collective, or of what is named"),
            "cat": parts.one_of(
                "wait: announced, not agreed on; queue: agreed on, not begun; reduce: begun; join: "
                "the rank has no more data",
                ["wait", "queue", "reduce", "join"],
            ),
            "ts": parts.number("when, in µs", -_MOST_US, _MOST_US),
            "s": {"description": "of the whole process", "const": "p"},
        },
    )
