"""Options of `plink probe` and `plink check`, except those of SSH."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import click

from plink.cli.options import (
    CongestionType,
    FiniteRange,
    NetworkType,
    RoundsType,
    make_section_option,
    with_options,
)
from plink.measure.probing.limits import (
    CHECK_PARTNERS,
    CHECK_PASSES,
    CHECK_TRANSFERS_S,
    DIRECTIONS,
    MAX_COUNT,
    MAX_DURATION_S,
    MAX_PASSES,
    MAX_STREAMS,
)
from plink.measure.probing.tools import DEFAULT_TOOL, TOOLS

_what = make_section_option("What to measure")
_pairs = make_section_option("Which pairs")
_hosts = make_section_option("Hosts and their networks")
_earlier = make_section_option("An earlier file")
_dpdk = make_section_option("dpdk")
_trace = make_section_option("trace")
_transfers = make_section_option("iperf3 and uplinks")


def _default(tool: str, option: str) -> Any:
    (found,) = (field.default for field in fields(TOOLS[tool].options) if field.name == option)
    return found


def _defaults(option: str, *tools: str) -> str:
    """Return the tools' defaults of an option: `5 for echo and dpdk, 2 for fping`."""
    named: dict[Any, list[str]] = {}
    for tool in tools:
        named.setdefault(_default(tool, option), []).append(tool)
    return ", ".join(f"{value} for {' and '.join(names)}" for value, names in named.items())


_TIMEOUT = _what(
    "--timeout",
    "timeout_s",
    type=FiniteRange(0.05, 600),
    default=2.0,
    show_default=True,
    help="Seconds without an answer after which a partner is given up.",
)
_CONCURRENCY = _pairs(
    "--concurrency",
    type=click.IntRange(1, 1 << 16),
    help="Pairs in flight.  [default: all, fewer where hosts share a machine or disturb each "
    "other]",
)
_NETWORK = _hosts("--network", type=NetworkType(), help="Use the hosts' addresses in this network.")
_INTERFACE = _hosts(
    "--interface", metavar="NAME", help="Use the hosts' addresses on this interface."
)
_PORT = _hosts(
    "--port",
    type=click.IntRange(0, 65535),
    help="UDP port of echo, dpdk and trace, TCP port of iperf3 and first port of uplinks, if a "
    "firewall requires a fixed one.  [default: any]",
)
_REMOTE_CACHE = _hosts(
    "--remote-cache", metavar="DIR", help="Folder on the hosts for the agents of echo and dpdk."
)
_NICS = _dpdk(
    "--nics",
    metavar="FILE",
    help="File with the NICs that hosts dedicate to DPDK, a line each: HOST PCI-ADDRESS "
    "ADDRESS/PREFIX [GATEWAY].  [default: the interfaces that carry their traffic]",
)

with_probe_options = with_options(
    (
        click.option("-o", "--output", metavar="FILE", help="Cluster file to write; - for stdout."),
        click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON."),
        _what(
            "--tool",
            type=click.Choice(list(TOOLS)),
            default=DEFAULT_TOOL,
            show_default=True,
            help="Measuring tool. Round-trip times: echo, plink's own UDP agent; dpdk, the "
            "same without the kernel, as root; fping, if the hosts have it. Bandwidths: "
            "iperf3, if they have it; uplinks, between groups of hosts. Routes: trace, as "
            "root, if Python there has scapy.",
        ),
        _what(
            "--all",
            "all_stages",
            is_flag=True,
            help="Measure round-trip times, find groups, and measure the groups' uplinks, into "
            "one file.",
        ),
        _what(
            "--count",
            type=click.IntRange(1, MAX_COUNT),
            help="Probes per direction of a pair, each time it meets.  "
            f"[default: {_defaults('count', 'echo', 'dpdk', 'fping', 'trace')}]",
        ),
        _what(
            "--passes",
            type=click.IntRange(1, MAX_PASSES),
            help="How often a pair meets at most: the least reading counts. With --resume, more "
            "than the file has are so many more for every pair.  "
            f"[default: {_defaults('passes', 'echo', 'dpdk', 'fping')}]",
        ),
        _what(
            "--precision",
            "precision_percent",
            type=FiniteRange(0, 100),
            metavar="PERCENT",
            help="Pairs whose passes disagree by no more meet twice; 0 for all passes of all.  "
            f"[default: {_default('echo', 'precision_percent'):g}]",
        ),
        _what(
            "--percentile",
            type=FiniteRange(0, 100),
            default=_default("echo", "percentile"),
            show_default=True,
            help="Percentile of the round-trip times that stands for a pair.",
        ),
        _TIMEOUT,
        _pairs(
            "--rounds",
            type=RoundsType(),
            help="Number of rounds of disjoint pairs, which is each host's number of partners; "
            "auto for few pairs of a large cluster that suffice to find its groups.  [default: "
            "all]",
        ),
        _pairs(
            "--seed",
            type=click.IntRange(0, (1 << 63) - 1),
            metavar="NUMBER",
            help="Seed that decides which rounds are measured, if not all, and in which order "
            "pairs meet again.  [default: 0]",
        ),
        _CONCURRENCY,
        _earlier(
            "--resume",
            metavar="FILE",
            help="Cluster file to continue: measure what it lacks, and again what its passes "
            "disagree about.",
        ),
        # The spelling before there was `plink check`.
        _earlier("--check", metavar="FILE", hidden=True, help="Old spelling of plink check FILE."),
        _hosts("--strict", is_flag=True, help="Stop if any host cannot be reached."),
        _hosts(
            "--expect",
            type=click.IntRange(2, 1 << 16),
            metavar="N",
            help="With --listen and without HOSTS: number of hosts that will connect.",
        ),
        _NETWORK,
        _INTERFACE,
        _PORT,
        _REMOTE_CACHE,
        _NICS,
        _trace(
            "--max-hops",
            type=click.IntRange(1, 255),
            default=_default("trace", "max_hops"),
            show_default=True,
            help="Largest number of hops to a host.",
        ),
        _trace(
            "--remote-python",
            metavar="PATH",
            default=_default("trace", "remote_python"),
            show_default=True,
            help="Python with scapy on the hosts.",
        ),
        _transfers(
            "--duration",
            "duration_s",
            type=click.IntRange(1, MAX_DURATION_S),
            metavar="SECONDS",
            help="Seconds of a transfer.  [default: 1 for iperf3, 2 for uplinks]",
        ),
        _transfers(
            "--streams",
            type=click.IntRange(1, MAX_STREAMS),
            help="TCP connections of a transfer.  [default: 1]",
        ),
        _transfers(
            "--direction",
            type=click.Choice(DIRECTIONS),
            help=(
                "Directions of a pair to measure: one after the other, or both at once.  "
                "[default: each]"
            ),
        ),
        _transfers(
            "--congestion",
            type=CongestionType(),
            help="Congestion control of the senders.  [default: the hosts' own]",
        ),
        _transfers(
            "--groups",
            metavar="FILE",
            help="File with groups of hosts, a line `NAME: HOSTS` each, or a cluster file with "
            "groups.",
        ),
    )
)

with_check_options = with_options(
    (
        click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON."),
        _what(
            "--count",
            type=click.IntRange(1, MAX_COUNT),
            help="Probes per direction of a pair, each time it meets.  [default: as the file has]",
        ),
        _what(
            "--passes",
            type=click.IntRange(1, MAX_PASSES),
            help="How often a pair meets at most: the least reading counts.  "
            f"[default: {CHECK_PASSES}]",
        ),
        _what(
            "--precision",
            "precision_percent",
            type=FiniteRange(0, 100),
            metavar="PERCENT",
            help="Pairs whose passes disagree by no more meet twice; 0 for all passes of all.  "
            "[default: as the file has]",
        ),
        _TIMEOUT,
        _pairs(
            "--partners",
            "--rounds",
            "partners",
            type=RoundsType(),
            metavar="K|all",
            help="Partners of every host to measure again, half of them its nearest.  "
            f"[default: {CHECK_PARTNERS}]",
        ),
        _pairs(
            "--seed",
            type=click.IntRange(0, (1 << 63) - 1),
            metavar="NUMBER",
            help="Seed that decides which pairs are measured again.  [default: a new one each "
            "time]",
        ),
        _CONCURRENCY,
        _transfers(
            "--transfers",
            "transfers_s",
            type=FiniteRange(0, 3600),
            metavar="SECONDS",
            default=CHECK_TRANSFERS_S,
            show_default=True,
            help="Seconds for iperf3 transfers, if the file holds bandwidths or uplinks; 0 for "
            "none. Links that limit most come first; those that seem changed get as many "
            "seconds again.",
        ),
        _NETWORK,
        _INTERFACE,
        _PORT,
        _REMOTE_CACHE,
        _NICS,
    )
)
