"""Schemas of a rank's timeline file and of the output of `plink timeline`."""

from __future__ import annotations

from plink.schemas import parts
from plink.schemas.parts import Schema, closed_object, list_of, or_null
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


def timeline_output() -> Schema:
    """Return the schema of what `plink timeline --json` prints."""
    what = "Who kept whom waiting: what `plink timeline --json` prints"
    return parts.document("plink timeline --json", what, shown_timeline())


def shown_timeline() -> Schema:
    """Return the schema of `plink show --json` for a timeline."""
    rank = closed_object(
        "a rank",
        {
            "rank": parts.whole("its number"),
            "last": parts.whole("how often it was the last to announce"),
            "held_up_us": parts.number("for so long all others waited for it alone, in µs"),
            "median_us": or_null(parts.number("the median of these times, in µs")),
            "most_us": parts.number("the longest, in µs"),
            "waited_us": parts.number("something was announced and nothing reduced, in µs"),
            "reduced_us": parts.number("something was being reduced, in µs"),
            "span_us": parts.number("from its first event to its last, in µs"),
        },
    )
    last = closed_object(
        "the rank that was last most often",
        {"rank": parts.whole("its number"), "times": parts.whole("how often", 1)},
    )
    name = closed_object(
        "all collectives of one name",
        {
            "name": parts.text("of them"),
            "times": parts.whole("how often it was agreed on", 1),
            "size_bytes": parts.number("of its tensors, in bytes"),
            "waited_us": or_null(
                parts.number("from the first announcement to the last, the median, in µs")
            ),
            "held_up_us": parts.number("all but the last rank waited for that one, in µs"),
            "mostly_last": or_null(last),
        },
    )
    pending = closed_object(
        "a collective that was never agreed on",
        {
            "name": parts.text("of it"),
            "announced_by": parts.whole_numbers("ranks"),
            "at_us": parts.number("when the last of these did, from the beginning on, in µs"),
            "failed": parts.flag("whether a rank was told that it had failed"),
        },
    )
    agreeing = closed_object(
        "from the last announcement until a rank knew of it, in µs",
        {name: or_null(parts.number("percentile", None)) for name in ("p50", "p99")},
    )
    buffers = closed_object(
        "how collectives shared buffers",
        {
            "count": parts.whole("of buffers"),
            "collectives": parts.whole("in all of them"),
            "median_collectives": or_null(parts.number("in a buffer")),
            "most_collectives": parts.whole("in a buffer"),
            "median_bytes": or_null(parts.number("of a buffer")),
            "most_bytes": parts.number("of a buffer"),
        },
    )
    required = {
        "of": {"description": "the kind of file", "const": FORMAT},
        "ranks_of_group": parts.whole("how many the group has", 1),
        "clock_error_us": list_of(
            "of each rank that there is, how wrong its times may be beside those of the first; "
            "null where that is not known",
            or_null(parts.number("in µs")),
        ),
        "clocks_drifted_us": parts.number("by how much clocks contradict themselves, in µs"),
        "collectives": parts.whole("that were agreed on"),
        "missed_events": parts.whole("that came faster than they were written"),
        "agreeing_us": agreeing,
        "buffers": buffers,
        "ranks": list_of("those that others waited for longest are first", rank),
        "names": list_of("the same", name),
        "pending": list_of("the earliest first", pending),
    }
    return closed_object("who kept whom waiting", required)
