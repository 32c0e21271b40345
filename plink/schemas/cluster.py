"""The schema of the cluster file (`plink.files.cluster`)."""

from __future__ import annotations

from plink.files.bandwidth import MAX_GBIT_S
from plink.files.clients import FITTED
from plink.files.cluster import FORMAT, VERSION
from plink.files.link_facts import LEAST_GBIT_S, MAX_BURST_BYTES
from plink.files.measurement import MAX_HOSTS
from plink.files.routes import MAX_HOPS
from plink.files.rtt import MAX_RTT_US
from plink.probes.hosts.names import MAX_PORT
from plink.schemas import parts
from plink.schemas.doctor import condition
from plink.schemas.parts import MAX_SECONDS, Schema, closed, listed, or_null

_MAX_SLOTS = 1 << 16


def cluster_file() -> Schema:
    """Hosts, and what was measured between them."""
    what = "Hosts, and what was measured between them: what `plink probe` and `plink import` write"
    return parts.document(
        "plink.cluster",
        what,
        closed(
            what,
            {**parts.head(FORMAT, [VERSION]), "hosts": hosts("all hosts; none has a name twice")},
            {
                "made_from": or_null(parts.made_from()),
                **parts.way(),
                "unreachable": listed("hosts that were listed but not reached", _unreachable()),
                "groups": listed("groups of near hosts; no host is in two", parts.group()),
                "grouping": or_null(grouping()),
                "rtt": or_null(_rtt()),
                "bandwidth": or_null(_bandwidth()),
                "routes": or_null(_routes()),
                "uplinks": or_null(_uplinks()),
                "conditions": or_null(_conditions()),
                "links": or_null(_links()),
                "clients": listed("what clients' software costs (`plink fit`)", client()),
            },
        ),
    )


def _links() -> Schema:
    rate = or_null(parts.number("Gbit/s; null: unlimited", LEAST_GBIT_S, MAX_GBIT_S))
    row = closed(
        "groups that share a link further up",
        {"name": parts.word("its name"), "groups": parts.texts("names; no group is in two rows")},
        {"send_gbit_s": rate, "receive_gbit_s": rate},
    )
    burst = parts.whole("what a limited link lets pass at once, in bytes", 0, MAX_BURST_BYTES)
    return closed(
        "what is known of links beside what was measured",
        {"burst_bytes": burst},
        {"rows": listed("rows of groups", row)},
    )


def client() -> Schema:
    """What a client costs (`plink.files.clients`)."""

    def estimate(what: str) -> Schema:
        figures = ("value", "low", "high")
        return closed(f"{what}, and its 90 % range", {each: parts.number(each) for each in figures})

    spread = closed(
        "of a size",
        {
            "size_bytes": parts.whole("of the buffer, in bytes"),
            "spread": parts.number("standard deviation of the logarithm of times"),
        },
    )
    sample = closed(
        "an all-reduce that it was fitted to",
        {
            "algorithm": parts.word("of the client"),
            "hosts": parts.texts("in rank order"),
            "size_bytes": parts.whole("of the buffer, in bytes"),
            "seconds": parts.numbers("of every repetition, in s"),
        },
    )
    return closed(
        "a client",
        {
            "client": parts.one_of("which", list(FITTED)),
            "overhead_us": estimate("before a message begins, beside latency, in µs"),
            "rendezvous_us": estimate("the same above 64 KiB, for asking first, in µs"),
            "reduction_s_per_gb": estimate("to add 10^9 bytes that arrived, in s"),
            "flow_share": estimate("what flows get together of a link's rate"),
            "serialised": estimate("share of exchanges with one message after the other"),
            "spreads": listed("how far times are from predicted ones, by size", spread),
        },
        {
            "processor_s_per_gb": or_null(estimate("of a rank's process, per 10^9 bytes, in s")),
            "burst_bytes": or_null(estimate("what links let pass at once, in bytes")),
            "turn_us": or_null(estimate("a spinning rank keeps a core that it shares, in µs")),
            "shared_cores": or_null(parts.whole("of the one machine of all hosts", 1)),
            "versions": or_null(parts.by_name("of its parts", parts.text("a version"))),
            "started": or_null(parts.text("when it was fitted, ISO 8601 in UTC")),
            "samples": listed("what it was fitted to", sample),
        },
    )


def hosts(what: str) -> Schema:
    """A list of hosts, as cluster and order files have it."""
    return listed(what, _host(), minItems=1, maxItems=MAX_HOSTS)


def _host() -> Schema:
    return closed(
        "a host",
        {
            "name": parts.address("its name"),
            "address": parts.address("the address that traffic uses"),
        },
        {
            "ssh_address": or_null(parts.address("the address that SSH uses, if another")),
            **_reached(),
        },
    )


def _reached() -> dict[str, Schema]:
    user = {
        **parts.text("the user that SSH logs in as"),
        "pattern": "^[A-Za-z0-9_.][A-Za-z0-9_.+@-]{0,63}$",
    }
    return {
        "user": or_null(user),
        "port": or_null(parts.whole("the TCP port of SSH", 1, MAX_PORT)),
        "slots": parts.whole("how many ranks the host takes; 1 if absent", 1, _MAX_SLOTS),
    }


def _unreachable() -> Schema:
    position = parts.whole("index in the host list", 0, 1 << 32)
    return closed(
        "a host that was not reached",
        {"source": parts.address("its name"), "reason": parts.text("why, in words")},
        {**_reached(), "position": or_null(position)},
    )


def _record() -> tuple[dict[str, Schema], dict[str, Schema]]:
    """What every measurement has, and what it may have."""
    required = {
        "tool": parts.text("what measured it: `echo`, `fping`, `iperf3`, `import`, ..."),
        "options": parts.settings("the options it ran with"),
        "seconds": parts.number("how long the probing took, in s", 0.0, MAX_SECONDS),
    }
    optional = {
        "started": or_null(parts.text("when, ISO 8601 in UTC")),
        "notes": parts.texts("what to know before trusting the readings"),
        "failures": listed(
            "what could not be measured", _with_null(parts.failure(), "destination")
        ),
    }
    return required, optional


def _with_null(schema: Schema, member: str) -> Schema:
    members = schema["properties"]
    return {**schema, "properties": {**members, member: or_null(members[member])}}


def _rtt() -> Schema:
    required, optional = _record()
    readings = parts.matrix("round-trip times in µs", MAX_RTT_US)
    return closed(
        "round-trip times",
        {
            **required,
            "reading": {**parts.text("the percentile that stands for a pair"), "pattern": "^p"},
            "rtt_us": parts.by_name(
                "for each percentile (`p10`, `p50`, `p99.9`) the round-trip times in µs",
                readings,
                r"^p[0-9.e+-]+$",
            ),
            "samples": parts.counts("echoes that came back in time"),
            "losses": parts.counts("probes that did not"),
        },
        {
            **optional,
            "passes": or_null(parts.counts("how many meetings read the direction")),
            "halves_us": or_null(
                closed(
                    "the least reading of the odd and of the even passes, in µs; with `passes`",
                    dict.fromkeys(("odd", "even"), readings),
                )
            ),
            "precision_percent": or_null(
                parts.matrix("by how much the larger half exceeds the smaller, in per cent", 1e9)
            ),
            "disturbance": or_null(
                parts.matrix("the share of the time that other work took from the two hosts", 1.0)
            ),
        },
    )


def _bandwidth() -> Schema:
    required, optional = _record()
    return closed(
        "bandwidths",
        {
            **required,
            "gbit_s": parts.matrix("what the destination received, in Gbit/s", MAX_GBIT_S),
            "retransmits": parts.matrix("TCP segments sent again", 1e15),
        },
        {
            **optional,
            "message_bytes": or_null(parts.matrix("the size of the messages, in bytes", 1e18)),
        },
    )


def _routes() -> Schema:
    required, optional = _record()
    router = {**or_null(parts.word("a router's address; null for one that does not answer"))}
    route = listed("routers, nearest first", router, maxItems=MAX_HOPS)
    return closed(
        "the paths between hosts",
        {
            **required,
            "hops": parts.whole_matrix("hops, as traceroute counts", MAX_HOPS),
            "routes": listed("every distinct list of routers, once", route),
            "route_of": parts.whole_matrix("index of the pair's list in `routes`", MAX_HOSTS**2),
        },
        optional,
    )


def _uplinks() -> Schema:
    required, optional = _record()
    rate = or_null(parts.number("Gbit/s", 0.0, MAX_GBIT_S))
    link = closed(
        "what a host does by itself at best",
        {"host": parts.text("its name")},
        {"send_gbit_s": rate, "receive_gbit_s": rate},
    )
    return closed(
        "what the groups' uplinks carry",
        {**required, "uplinks": listed("one for each group that was measured", uplink())},
        {**optional, "links": listed("what hosts do by themselves", link)},
    )


def _conditions() -> Schema:
    required, optional = _record()
    said = listed("one for each host that could be asked", condition())
    return closed("what hosts said of their networks", {**required, "hosts": said}, optional)


def uplink(further: dict[str, Schema] | None = None) -> Schema:
    """What a group's uplink carries, with further members."""
    rates = {
        "send_gbit_s": "all its hosts at once to others, in Gbit/s",
        "receive_gbit_s": "all its hosts at once from others, in Gbit/s",
        "hosts_gbit_s": "the sum of what its hosts can do alone, in Gbit/s",
        "both_gbit_s": "sent and received together, both at once, in Gbit/s",
    }
    bounds = {
        "send_is_lower_bound": "something else may have limited sending",
        "receive_is_lower_bound": "something else may have limited receiving",
    }
    return closed(
        "the uplink of a group",
        {"group": parts.word("the group's name")},
        {
            **{name: or_null(parts.number(what, 0.0, MAX_GBIT_S)) for name, what in rates.items()},
            **{name: parts.flag(what) for name, what in bounds.items()},
            **(further or {}),
        },
    )


def grouping() -> Schema:
    """How plink found the groups."""
    names = parts.texts("names of hosts")
    share = parts.number("a probability, 0 to 1", 0.0, 1.0)
    level = closed("one grouping", {"groups": listed("its groups", names)})
    doubtful = closed(
        "a host that may belong elsewhere",
        {"host": parts.word("its name"), "probability": share},
    )
    return closed(
        "how the groups were found",
        {
            "method": parts.word("`levels`, `linkage` or `kmeans`"),
            "matrix": parts.word("the distances that were grouped: `raw` or `embedding`"),
            "options": parts.settings("the options of the method"),
        },
        {
            "seed": parts.whole("of the random choices", 0, parts.MAX_COUNT),
            "probability": or_null({**share, "description": "that there are groups, 0 to 1"}),
            "rival": or_null(parts.text("the best explanation without groups")),
            "confirmed": or_null(
                parts.number("adjusted mutual information of two halves", -1.0, 1.0)
            ),
            "quality": listed("of every group", _quality()),
            "doubtful": listed("hosts that may belong elsewhere, the least sure first", doubtful),
            "alone": parts.texts("names of hosts that fit nowhere"),
            "unmeasured": parts.texts("names of hosts with too few measurements"),
            "levels": listed("groupings that the distances show, fewest groups first", level),
            "notes": parts.texts("what to know before trusting the groups"),
        },
    )


def _quality() -> Schema:
    figures = {
        "within_us": "median distance between two of its hosts, in µs",
        "between_us": "median distance to the nearest other group, in µs",
        "within_gbit_s": "median bandwidth between two of its hosts, in Gbit/s",
        "between_gbit_s": "median bandwidth to the nearest other group, in Gbit/s",
    }
    probability = parts.number("that it is a group, 0 to 1", 0.0, 1.0)
    return closed(
        "how far a group is from the others, and how sure it is",
        {"group": parts.word("its name")},
        {
            **{name: or_null(parts.number(what, 0.0, 1e12)) for name, what in figures.items()},
            "probability": or_null(probability),
        },
    )
