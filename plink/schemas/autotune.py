"""Schemas of the tuner's log and of the output of `plink autotune`."""

from __future__ import annotations

from dataclasses import fields

from plink.autotune.log.records import FORMAT, VERSION
from plink.autotune.tuner.interface import Action, TunerOptions
from plink.files.plan import Plan
from plink.files.structs import describe_struct
from plink.schemas import parts
from plink.schemas.parts import Schema, closed_object, or_null

_MAX_CLOCK_S = 1e15
_MOST_WINDOWS = 1 << 53


def autotune_log() -> Schema:
    """Return the schema of one line of the tuner's log."""
    what = "A line of the log of a tuned job: what `plink autotune serve --log` writes"
    by_line = parts.by_case([(parts.has("format"), _first_line())], _entry())
    return parts.document("plink.autotune", what, by_line)


def _first_line() -> Schema:
    options = {
        field.name: parts.whole("see `TunerOptions`", 1, 1000)
        if isinstance(field.default, int)
        else parts.number(_unit_of(field.name), 0.0, 1e9)
        for field in fields(TunerOptions)
    }
    return closed_object(
        "the first line",
        {
            **parts.head(FORMAT, VERSION),
            "plan": describe_struct(Plan),
            "options": closed_object("the options of the tuner", options),
        },
        {"state": or_null(_state())},
    )


def _unit_of(option: str) -> str:
    return "in s; see `TunerOptions`" if option.endswith("_s") else "see `TunerOptions`"


def _state() -> Schema:
    return parts.settings("the tuner's state, private to it")


def _entry() -> Schema:
    flows = "from host to host, [sender][receiver], row by row"
    window = closed_object(
        "what was measured",
        {
            "plan": parts.whole("the plan in force, as the tuner counts", 0, _MOST_WINDOWS),
            "iteration_s": parts.numbers("the time of each iteration, in s"),
            "sent_bytes": parts.numbers(f"bytes of an iteration {flows}"),
            "busy_s": parts.numbers(f"busy time of an iteration, in s, {flows}"),
            "retransmissions": parts.numbers(f"segments sent again {flows}"),
            "rtt_s": parts.numbers("the longest round trip of each host, in s"),
        },
        {"bytes_of": parts.by_name("bytes of an iteration by collective", parts.number("bytes"))},
    )
    decision = closed_object(
        "what was decided",
        {
            "action": _action(),
            "reason": parts.text("why, in words"),
            "plan": parts.whole("the plan in force from then on", 0, _MOST_WINDOWS),
        },
        {
            "hosts": parts.whole_numbers("indices of the hosts to probe again"),
            "masters": closed_object("where the masters of a new plan are", _masters()),
        },
    )
    unlogged = "windows before it that could not be written; then there is a `state`"
    return {
        **closed_object(
            "any other line",
            {
                "now_s": parts.number(
                    "the daemon's clock, in s since 1970", -_MAX_CLOCK_S, _MAX_CLOCK_S
                ),
                "window": window,
                "decision": decision,
            },
            {
                "state": or_null(_state()),
                "unlogged": parts.whole(unlogged, 0, _MOST_WINDOWS),
            },
        ),
        "if": {"properties": {"unlogged": {"minimum": 1}}, "required": ["unlogged"]},
        "then": {"required": ["state"], "properties": {"state": {"type": "object"}}},
    }


def _action() -> Schema:
    return parts.one_of("what was done", [each.value for each in Action])


def _masters() -> dict[str, Schema]:
    return {
        "of_groups": parts.numbers("the share of the buffer with masters in each group"),
        "of_hosts": parts.numbers("each host's share of its group's"),
    }
