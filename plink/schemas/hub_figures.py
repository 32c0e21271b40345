"""Schemas of the output of `plink hub bounds` and `plink hub cost`."""

from __future__ import annotations

from plink.schemas import parts
from plink.schemas.parts import Schema, closed_object, list_of, or_null

_PLACEMENTS = ["CC", "CS", "NCC", "NCS", "all-reduce"]


def bounds_output() -> Schema:
    """Return the schema of what `plink hub bounds --json` prints."""
    what = "What bandwidth hides a model's exchange: what `plink hub bounds --json` prints"
    placement = closed_object(
        "where servers are",
        {
            "placement": parts.one_of("its name", _PLACEMENTS),
            "server_bits_s": parts.number("a server's host needs so much, both ways, in bit/s"),
            "worker_bits_s": parts.number("a worker's host alone, both ways, in bit/s; 0: none"),
            "exchange_s": parts.number("of an iteration's bytes at the busiest interface, in s"),
            "is_hidden": parts.flag("whether that is not more than computing takes"),
        },
    )
    required = {
        "model_bytes": parts.whole("of the parameters, in bytes", 1),
        "iteration_s": parts.number("of computing, in s"),
        "workers": parts.whole("how many there are", 2),
        "link_bits_s": parts.number("a worker's link, one way, in bit/s"),
        "servers": parts.whole("of NCS", 1),
        "server_bits_s": parts.number("all ports of a server, one way, in bit/s"),
        "placements": list_of("where servers may be, then an all-reduce", placement),
        "ports": ports_verdict(),
        "printed_ncc_gbit_s": or_null(parts.number("what the paper prints for NCC, in Gbit/s")),
        "racks": or_null(_racks()),
    }
    return parts.document("plink hub bounds --json", what, closed_object(what, required))


def ports_verdict() -> Schema:
    """Return the schema of the greatest speed-up from servers' ports."""
    return closed_object(
        "what servers' ports bring at most",
        {
            "workers": parts.whole("how many there are", 1),
            "ports": parts.number("of all servers, in links of a worker"),
            "needed_ports": or_null(parts.number("more than so many beat an all-reduce")),
            "gain": parts.number("the time of an all-reduce over the servers'"),
            "equal_bandwidth": parts.number(
                "the same, had the workers the servers' interfaces, too"
            ),
            "sentence": parts.text("that, in words"),
        },
    )


def cost_output() -> Schema:
    """Return the schema of what `plink hub cost --json` prints."""
    what = "What a worker costs with quick links and with a hub: `plink hub cost --json` prints it"
    row = closed_object(
        "a deployment",
        {
            "name": parts.one_of("of it", ["baseline", "hub"]),
            "oversubscription": parts.number("of the uplinks; 1: none"),
            "workers": or_null(parts.whole("that share a hub", 1)),
            "network": parts.number("a worker's share, in dollars"),
            "hub": parts.number("a worker's share, in dollars"),
            "total": parts.number("a worker with everything, in dollars"),
            "per_dollar": parts.number("its throughput per dollar, over the baseline's"),
        },
    )
    contradiction = closed_object(
        "what the paper's Table 6.3 contradicts: a baseline worker's cost over one with a hub",
        {
            "implied": parts.number("by the table"),
            "least": parts.number("by the formulas and prices beside it"),
            "most": parts.number("by the formulas and prices beside it"),
            "readings": parts.whole("of the formulas", 1),
        },
    )
    required = {"rows": list_of("the baseline first", row), "contradiction": contradiction}
    return parts.document("plink hub cost --json", what, closed_object(what, required))


def _racks() -> Schema:
    return closed_object(
        "equal racks with a server in each; times are of the whole model",
        {
            "racks": parts.whole("how many there are", 2),
            "workers": parts.whole("of each", 1),
            "worker_bits_s": parts.number("a worker's link, in bit/s"),
            "server_bits_s": parts.number("all ports of a server, in bit/s"),
            "core_bits_s": parts.number("a rack's uplink, in bit/s"),
            "sharded_s": parts.number("sharded servers across racks, by the paper, in s"),
            "rack_s": parts.number("aggregation in a rack, by the paper, in s"),
            "between_s": parts.number("aggregation between racks, by the paper, in s"),
            "is_better": parts.flag("whether racks help by the paper's inequality"),
            "crossover_bits_s": parts.number("the uplink below which they do, in bit/s"),
            "links_sharded_s": parts.number("sharded servers, by the busiest link, in s"),
            "links_hierarchy_s": parts.number("by racks, by the busiest link, in s"),
            "links_two_level_s": parts.number("without servers, by the busiest link, in s"),
        },
    )
