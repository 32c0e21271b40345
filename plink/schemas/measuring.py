"""Schemas of the output of verbs that measure, import and export."""

from __future__ import annotations

from typing import Any

from plink.files.clients import ClientFit
from plink.files.hosts import Group
from plink.files.measurements import Failure
from plink.schemas import parts
from plink.schemas.parts import Schema, closed_object, list_of, or_null


def probe_output() -> Schema:
    """Return the schema of what `plink probe --json` prints."""
    what = "What a run measured: what `plink probe --json` prints"
    stage = closed_object(
        "what one tool measured",
        {
            "tool": parts.text("that measured"),
            "asked": parts.whole("directed pairs, or groups, that were to be measured"),
            "measured": parts.whole("how many of these were"),
            "seconds": parts.number("how long the probing took, in s"),
            "interrupted": parts.flag("whether Ctrl-C ended it"),
            "warnings": parts.texts("why readings are not to be trusted"),
            "failures": list_of("what could not be measured", parts.struct(Failure)),
        },
    )
    resume = parts.text("the command that goes on; null if nothing is missing")
    required = {
        "output": parts.text("the file that was written"),
        "hosts": parts.whole("how many are in the file"),
        "unreachable": list_of("hosts that could not be reached", parts.unreached_host()),
        "stages": list_of("one for each tool", stage),
        "groups": list_of("groups of near hosts, if known", parts.struct(Group)),
        "resume": or_null(resume),
    }
    return parts.document("plink probe --json", what, closed_object(what, required))


def check_output() -> Schema:
    """Return the schema of what `plink check --json` prints."""
    what = "Whether a cluster file still describes its network: what `plink check --json` prints"
    address = closed_object(
        "a host at another address",
        {
            "host": parts.text("its name"),
            "file": parts.text("the address in the file"),
            "now": parts.text("the address now"),
        },
    )
    pair = list_of("names of both hosts", {"type": "string"}, minItems=2, maxItems=2)
    required = {
        "changed": parts.flag("whether the network is another than in the file"),
        "hosts": parts.whole("how many were compared"),
        "pairs": parts.whole("how many were compared"),
        "pairs_changed": list_of("pairs that changed", pair),
        "common_factor": parts.number("new over old round-trip time of the other pairs"),
        "noise_factor": parts.number("a change by less counts as noise"),
        "changes": list_of("hosts that changed, the most changed pairs first", _change()),
        "addresses": list_of("hosts at other addresses", address),
        "unreachable": list_of("hosts that could not be reached", parts.unreached_host()),
        "failures": list_of("what could not be measured", parts.struct(Failure)),
        "transfers": or_null(_transfers()),
        "not_checked": parts.texts("what was not measured again, and why"),
        "rounds": parts.whole("partners of each host"),
        "seed": parts.whole("decides which pairs are measured"),
        "seconds": parts.number("how long it took, in s"),
    }
    return parts.document("plink check --json", what, closed_object(what, required))


def _change() -> Schema:
    factor = or_null(parts.number("new over old round-trip time (median)"))
    return closed_object(
        "hosts that changed together",
        {
            "hosts": parts.texts("their names"),
            "pairs": parts.whole("of theirs that were compared"),
            "longer": parts.whole("pairs that take longer now"),
            "shorter": parts.whole("pairs that take less time now"),
            "longer_factor": factor,
            "shorter_factor": factor,
        },
    )


def _transfers() -> Schema:
    either: dict[str, Any] = {"oneOf": [{"required": ["host"]}, {"required": ["group"]}]}
    change = closed_object(
        "a link that carries another bandwidth now",
        {
            "direction": parts.one_of("of the link", ["send", "receive"]),
            "file_gbit_s": parts.number("in the file, in Gbit/s"),
            "now_gbit_s": parts.number("now, in Gbit/s"),
        },
        {
            "host": parts.text("whose link it is"),
            "group": parts.text("whose uplink it is"),
        },
    )
    return closed_object(
        "bandwidths that were measured again; null if none was",
        {
            "hosts": parts.texts("whose links were measured"),
            "groups": parts.texts("whose uplinks were measured"),
            "changes": list_of("what changed", {**change, **either}),
            "common_factor": parts.number("new over old bandwidth of the other links"),
            "seconds": parts.number("how long it took, in s"),
        },
    )


def import_output() -> Schema:
    """Return the schema of what `plink import --json` prints."""
    what = "What was found in a file: what `plink import --json` prints"
    found = closed_object(
        "what was found of a quantity",
        {
            "tool": parts.text("that measured it"),
            "pairs": parts.whole("directed pairs of all hosts"),
            "measured": parts.whole("how many of these are known"),
            "notes": parts.texts("what to know before trusting the readings"),
            "failures": list_of("what could not be measured", parts.struct(Failure)),
        },
    )
    required = {
        "output": parts.text("the file that was written"),
        "hosts": parts.texts("their names"),
    }
    optional = {"rtt": found, "bandwidth": found}
    return parts.document("plink import --json", what, closed_object(what, required, optional))


def fit_output() -> Schema:
    """Return the schema of what `plink fit --json` prints."""
    what = "What a client costs: what `plink fit --json` prints"
    required = {"output": parts.text("the file that was written"), "fit": parts.struct(ClientFit)}
    return parts.document("plink fit --json", what, closed_object(what, required))


def export_output() -> Schema:
    """Return the schema of what `plink export --json` prints."""
    what = "A matrix, or switches: what `plink export --json` prints"
    value: Schema = {"type": ["number", "null"], "minimum": 0}
    rows = list_of("of a source", value)
    required = {
        "quantity": parts.one_of("what was measured", ["rtt", "bandwidth"]),
        "unit": parts.one_of("of all values", ["ns", "us", "ms", "s", "gbit_s"]),
        "hosts": parts.texts("names, in the order of rows and columns"),
        "values": list_of("in `unit`, [source][destination]; null if not measured", rows),
    }
    optional = {"percentile": parts.number("of round-trip times", 0.0, 100.0)}
    matrix = closed_object("a matrix", required, optional)
    tier = list_of("its switches, and the hosts below each", parts.struct(Group))
    topology = closed_object(
        "a topology (`--format`)",
        {
            "format": parts.one_of("of the file", ["slurm-topology", "topograph"]),
            "tiers": list_of("the nearest to the hosts first", tier),
        },
    )
    return parts.document("plink export --json", what, parts.any_of(what, [matrix, topology]))
