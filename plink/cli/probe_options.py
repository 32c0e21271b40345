"""The options of `plink probe`, but for those of SSH and of transfers."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

import click

from plink.cli.options import FiniteRange, RoundsType, options_of, with_options
from plink.measure.probing.limits import (
    CHECK_PASSES,
    DEFAULT_COUNTS,
    DEFAULT_MAX_HOPS,
    DEFAULT_PASSES,
    DEFAULT_PRECISION_PERCENT,
    DEFAULT_REMOTE_PYTHON,
    DEFAULT_TOOL,
    MAX_COUNT,
    MAX_PASSES,
    TOOL_NAMES,
)
from probes.hosts.address import IPNetwork

_what = options_of("What to measure")
_pairs = options_of("Which pairs")
_hosts = options_of("Hosts and their networks")
_check = options_of("An earlier file")
_dpdk = options_of("dpdk")
_trace = options_of("trace")


class NetworkType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A network in CIDR form."""

    name = "network"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> IPNetwork:
        """The network, or a usage error."""
        try:
            return ipaddress.ip_network(str(value), strict=False)
        except ValueError:
            self.fail(f"{value!r} is no network such as 10.0.0.0/16", param, ctx)


def _defaults(counts: Mapping[str, int]) -> str:
    tools: dict[int, list[str]] = {}
    for tool, count in counts.items():
        tools.setdefault(count, []).append(tool)
    return ", ".join(f"{count} for {' and '.join(names)}" for count, names in tools.items())


with_probe_options = with_options(
    (
        click.option("-o", "--output", metavar="FILE", help="Cluster file to write; - for stdout."),
        _what(
            "--tool",
            type=click.Choice(TOOL_NAMES),
            default=DEFAULT_TOOL,
            show_default=True,
            help="What measures. Round-trip times: echo, our own UDP agent; dpdk, the same past "
            "the kernel, as root; fping, where hosts have it. Bandwidth: iperf3, where they have "
            "it; uplinks, what groups of hosts exchange. Routes: trace, as root, where Python "
            "has scapy.",
        ),
        _what(
            "--all",
            "all_stages",
            is_flag=True,
            help="Round-trip times, the groups that they show, and what the groups' uplinks carry, "
            "in that order, into one file.",
        ),
        _what(
            "--count",
            type=click.IntRange(1, MAX_COUNT),
            help="Probes per direction of a pair, each time it meets.  "
            f"[default: {_defaults(DEFAULT_COUNTS)}]",
        ),
        _what(
            "--passes",
            type=click.IntRange(1, MAX_PASSES),
            help="How often a pair meets at most: the least reading counts. With --resume, more "
            "than the file has are so many more for every pair.  "
            f"[default: {_defaults(DEFAULT_PASSES)}; {CHECK_PASSES} with --check]",
        ),
        _what(
            "--precision",
            "precision_percent",
            type=FiniteRange(0, 100),
            metavar="PERCENT",
            help="Pairs whose passes disagree by no more meet twice; 0 for all passes of all.  "
            f"[default: {DEFAULT_PRECISION_PERCENT:g}]",
        ),
        _what(
            "--percentile",
            type=FiniteRange(0, 100),
            default=10.0,
            show_default=True,
            help="The percentile of the round-trip times that stands for a pair.",
        ),
        _what(
            "--timeout",
            "timeout_s",
            type=FiniteRange(0.05, 600),
            default=2.0,
            show_default=True,
            help="Seconds of silence after which a partner is given up.",
        ),
        _pairs(
            "--rounds",
            type=RoundsType(),
            help="Rounds of the tournament to go through, so many partners for every host; auto "
            "for the pairs of a large cluster that show its groups.  [default: all]",
        ),
        _pairs(
            "--seed",
            type=click.IntRange(0, (1 << 63) - 1),
            metavar="NUMBER",
            help="Decides which rounds, where not all are asked for, and the order in which pairs "
            "meet again.  [default: 0]",
        ),
        _pairs(
            "--concurrency",
            type=click.IntRange(1, 1 << 16),
            help="Pairs in flight.  [default: all, fewer where hosts share a machine or disturb "
            "each other]",
        ),
        _check(
            "--resume",
            metavar="FILE",
            help="Measure only what this cluster file lacks, "
            "and again what its passes disagree about.",
        ),
        _check(
            "--check",
            metavar="FILE",
            help="Measure a small sample again and say whether this cluster file still holds.",
        ),
        _check("--json", "as_json", is_flag=True, help="With --check: the verdict as JSON."),
        _hosts("--strict", is_flag=True, help="Stop if any host cannot be reached."),
        _hosts("--network", type=NetworkType(), help="Use the hosts' addresses in this network."),
        _hosts("--interface", metavar="NAME", help="Use the hosts' addresses on this interface."),
        _hosts(
            "--port",
            type=click.IntRange(0, 65535),
            default=0,
            show_default="any",
            help="UDP port of echo, dpdk and trace, TCP port of iperf3, the first of uplinks, "
            "where a firewall wants one.",
        ),
        _hosts(
            "--remote-cache",
            metavar="DIR",
            help="Folder on the hosts for the agents of echo and dpdk.",
        ),
        _dpdk(
            "--nics",
            metavar="FILE",
            help="NICs that hosts give to DPDK altogether, a line each: HOST PCI-ADDRESS "
            "ADDRESS/PREFIX [GATEWAY].  [default: the interfaces that carry their traffic]",
        ),
        _trace(
            "--max-hops",
            type=click.IntRange(1, 255),
            default=DEFAULT_MAX_HOPS,
            show_default=True,
            help="How many hops away a host may be.",
        ),
        _trace(
            "--remote-python",
            metavar="PATH",
            default=DEFAULT_REMOTE_PYTHON,
            show_default=True,
            help="Python with scapy on the hosts.",
        ),
    )
)
