"""Schemas of the output of `plink show`, `plink group` and `plink report`."""

from __future__ import annotations

from plink.files.cluster import FORMAT
from plink.files.comparison import Comparison
from plink.files.groups import Grouping, Uplink
from plink.files.hosts import Group
from plink.files.measurements import Failure
from plink.files.order import Order
from plink.model.outliers import Outlier
from plink.schemas import parts
from plink.schemas.autotune import shown_log
from plink.schemas.parts import Schema, closed_object, list_of, or_null
from plink.schemas.timeline import shown_timeline
from plink.show.terminal.plan import ShownPlan


def show_output() -> Schema:
    """Return the schema of what `plink show --json` prints."""
    what = "A file: what `plink show --json` prints"
    cases = [
        (parts.says("of", "plink.plan"), parts.struct(ShownPlan)),
        (parts.says("of", "plink.autotune"), shown_log()),
        (parts.says("of", "plink.timeline"), shown_timeline()),
        (parts.says("format", "plink.order"), parts.struct(Order)),
        (parts.says("format", "plink.comparison"), parts.struct(Comparison)),
    ]
    return parts.document("plink show --json", what, parts.by_case(cases, _shown_cluster()))


def _shown_cluster() -> Schema:
    rtt = _rtt()
    statistics = closed_object(
        "statistics of a cluster",
        {
            "of": {"description": "the kind of file", "const": FORMAT},
            "hosts": parts.texts("names"),
            "unreachable": list_of("hosts that were not reached", _unreachable()),
            "outliers": list_of("hosts that stand out", parts.struct(Outlier)),
        },
        {
            **rtt,
            "bandwidth": _bandwidth(),
            "uplinks": list_of("of each group that was measured", _uplink()),
            "routes": _routes(),
        },
    )
    # All that is said of round-trip times, or nothing.
    return {**statistics, "dependentRequired": {name: list(rtt) for name in ("tool", "measured")}}


def _unreachable() -> Schema:
    return closed_object(
        "a host that was not reached",
        {"source": parts.text("its name"), "reason": parts.text("why, in words")},
        {
            "user": parts.text("of SSH"),
            "port": parts.whole("of SSH", 1),
            "slots": parts.whole("ranks that it takes", 1),
            "position": parts.whole("index in the host list"),
        },
    )


def _rtt() -> dict[str, Schema]:
    least, middle, most = (
        or_null(parts.number(f"the {which} round-trip time, in µs"))
        for which in ("least", "median", "greatest")
    )
    ends = {"source": parts.text("a host"), "destination": parts.text("another host")}
    pair = closed_object("a pair", {**ends, "rtt_us": parts.number("the longer direction, in µs")})
    sent = {"lost": parts.whole("probes that did not return"), "sent": parts.whole("all probes")}
    gap = {"host": parts.text("its name"), "pairs": parts.whole("directed pairs that it misses")}
    mode = {
        "rtt_us": parts.number("in µs"),
        "share": parts.number("of the readings, 0 to 1", 0.0, 1.0),
    }
    asymmetry = {
        "median": parts.number("share, of all pairs"),
        "worst": parts.number("share, of the pair below"),
        **ends,
    }
    return {
        "tool": parts.text("that measured the round-trip times"),
        "options": parts.settings("it ran with"),
        "started": or_null(parts.text("when, ISO 8601 in UTC")),
        "seconds": parts.number("how long the probing took, in s"),
        "percentile": {**parts.text("that is shown, such as `p10`"), "pattern": "^p[0-9.]+$"},
        "pairs": parts.whole("ordered pairs"),
        "measured": parts.whole("ordered pairs that were measured"),
        "min_us": least,
        "median_us": middle,
        "max_us": most,
        "modes": list_of("around which readings gather", closed_object("a mode", mode)),
        "nearest": list_of("unordered pairs", pair),
        "farthest": list_of("unordered pairs", pair),
        "asymmetry": or_null(closed_object("how much directions differ", asymmetry)),
        "sent": parts.whole("probes"),
        "lost": parts.whole("probes that did not return"),
        "lossy_pairs": parts.whole("ordered pairs that lost any"),
        "losses": list_of("the worst", closed_object("a lossy pair", {**ends, **sent})),
        "gaps": list_of("hosts that explain missing pairs", closed_object("a host", gap)),
        "sample": or_null(_sample()),
        "failures": list_of("what could not be measured", parts.struct(Failure)),
        "notes": parts.texts("what to know before trusting the readings"),
    }


def _sample() -> Schema:
    seed = parts.whole("of the random choices")
    rounds = closed_object(
        "some rounds of all",
        {"rounds": parts.whole("gone through", 1), "in_all": parts.whole("all", 1), "seed": seed},
    )
    share = parts.number("of the pairs at most, 0 to 1", 0.0, 1.0)
    followed = closed_object("pairs chosen by earlier readings", {"share": share, "seed": seed})
    return parts.any_of("which pairs were to be measured; null for all", [rounds, followed])


def _bandwidth() -> Schema:
    least, middle, most = (
        or_null(parts.number(f"the {which}, in Gbit/s"))
        for which in ("least", "median", "greatest")
    )
    return closed_object(
        "bandwidths",
        {
            "tool": parts.text("that measured them"),
            "options": parts.settings("it ran with"),
            "measured": parts.whole("ordered pairs"),
            "min_gbit_s": least,
            "median_gbit_s": middle,
            "max_gbit_s": most,
        },
    )


def _uplink() -> Schema:
    ratio = "what its hosts can do alone, over what the uplink carries; at least 1"
    uplink = parts.struct(Uplink)
    members = {**uplink["properties"], "oversubscription": parts.number(ratio, 1.0)}
    return {**uplink, "properties": members}


def _routes() -> Schema:
    return closed_object(
        "the paths between hosts",
        {
            "tool": parts.text("that traced them"),
            "options": parts.settings("it ran with"),
            "measured": parts.whole("ordered pairs"),
            "min_hops": or_null(parts.whole("the least number of hops")),
            "median_hops": or_null(parts.number("the median number of hops")),
            "max_hops": or_null(parts.whole("the greatest number of hops")),
            "distinct": parts.whole("different routes"),
            "with_silent": parts.whole("routes with a router that does not answer"),
            "with_repeated": parts.whole("routes that pass a router more than once"),
        },
    )


def group_output() -> Schema:
    """Return the schema of what `plink group --json` prints."""
    what = "Groups of near hosts: what `plink group --json` prints"
    send, receive = (
        or_null(parts.number(f"{verb}, in Gbit/s; null if unknown"))
        for verb in ("sends", "receives")
    )
    rates = {"send_gbit_s": send, "receive_gbit_s": receive}
    capacity = closed_object(
        "what links carry",
        {
            "hosts": list_of(
                "of each host",
                closed_object("a host's link", {"name": parts.text("its name"), **rates}),
            ),
            "uplinks": list_of(
                "of each group",
                closed_object("an uplink", {"group": parts.text("its name"), **rates}),
            ),
            "assumptions": parts.texts("what was assumed"),
        },
    )
    required = {
        "groups": list_of("that were found", parts.struct(Group)),
        "grouping": or_null(parts.struct(Grouping)),
        "capacity": capacity,
    }
    return parts.document(
        "plink group --json", what, closed_object(what, required, {"truth": _judgement()})
    )


def _judgement() -> Schema:
    share = "share of triplets in the true order, 0 to 1 (PAIA)"
    level = closed_object(
        "a level of the truth",
        {
            "name": parts.text("such as `1 of 2`"),
            "groups": parts.whole("true groups", 1),
            "of_groups": parts.number("adjusted mutual information of the groups", -1.0, 1.0),
            "of_levels": or_null(
                parts.number("adjusted mutual information of the best level", -1.0, 1.0)
            ),
            "rand": parts.number("adjusted Rand index of the groups", -1.0, 1.0),
        },
    )
    elsewhere = closed_object(
        "a host that the truth has elsewhere",
        {
            "host": parts.text("its name"),
            "stands": parts.text("the true group that it is in"),
            "found_with": or_null(parts.text("the true group whose hosts it was found with")),
        },
    )
    return closed_object(
        "how groups and distances stand to the truth (`--truth`)",
        {
            "hosts": parts.whole("that the truth has a place for"),
            "triplets": parts.whole("that can be compared"),
            "raw": or_null(parts.number(f"of the readings, {share}", 0.0, 1.0)),
            "embedded": or_null(parts.number(f"of the embedding, {share}", 0.0, 1.0)),
            "levels": list_of("the widest first", level),
            "compared": or_null(parts.text("the level with which the groups agree most")),
            "elsewhere": list_of("at that level", elsewhere),
        },
    )


def report_output() -> Schema:
    """Return the schema of what `plink report --json` prints."""
    what = "What a page shows: what `plink report --json` prints"
    cell: Schema = {"type": ["string", "null", "array"], "items": {"type": "string"}}
    table = closed_object(
        "a table",
        {
            "caption": {"description": "above it", "type": "string"},
            "header": parts.texts("of its columns"),
            "rows": list_of("each a list of cells: a text, names, or null", list_of("cells", cell)),
        },
    )
    section = closed_object(
        "a section",
        {
            "anchor": parts.text("of its heading, for links"),
            "title": parts.text("its heading"),
            "texts": parts.texts("its paragraphs"),
            "tables": list_of("its tables", table),
        },
    )
    command = or_null(parts.text("to type; null if there is none"))
    step = closed_object("what to do next", {"why": parts.text("in words"), "command": command})
    required = {
        "output": parts.text("the page that was written"),
        "bytes": parts.whole("its size, in bytes", 1),
        "title": parts.text("of the page"),
        "sections": list_of("of the page", section),
        "next": list_of("steps", step),
    }
    return parts.document("plink report --json", what, closed_object(what, required))
