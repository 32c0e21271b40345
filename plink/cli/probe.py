"""`plink probe`: measure every pair of hosts. What it does is in `probe_action`."""

from __future__ import annotations

import ipaddress
from typing import Any

import click

from plink.cli.progress import StageProgress
from plink.cli.ssh_options import with_ssh_options
from plink.cli.transfer_options import with_transfer_options
from plink.cli.types import FiniteRange
from plink.probing.limits import DEFAULT_COUNTS, MAX_COUNT, TOOL_NAMES
from probes.hosts.address import IPNetwork


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


@click.command(
    epilog="Example: plink probe hosts.txt -o cluster.json, or, without a file: "
    "echo 'gpu[01-16]' | plink probe - -o cluster.json",
)
@click.argument("hosts", required=False)
@click.option("-o", "--output", metavar="FILE", help="Cluster file to write; - for stdout.")
@click.option(
    "--tool",
    type=click.Choice(TOOL_NAMES),
    default="echo",
    show_default=True,
    help="What measures: our own UDP echo agent, or fping where it is installed on the hosts; "
    "bandwidth: iperf3, installed there",
)
@click.option(
    "--count",
    type=click.IntRange(1, MAX_COUNT),
    help="Probes per direction of a pair.  [default: "
    + ", ".join(f"{count} for {tool}" for tool, count in DEFAULT_COUNTS.items())
    + "]",
)
@click.option(
    "--percentile",
    type=FiniteRange(0, 100),
    default=10.0,
    show_default=True,
    help="The percentile of the round-trip times that stands for a pair.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1 << 16),
    help="Pairs in flight.  [default: all, fewer where hosts share a machine]",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=FiniteRange(0.05, 600),
    default=2.0,
    show_default=True,
    help="Seconds of silence after which a partner is given up.",
)
@click.option("--resume", metavar="FILE", help="Measure only what this cluster file lacks.")
@click.option("--strict", is_flag=True, help="Stop if any host cannot be reached.")
@click.option("--network", type=NetworkType(), help="Use the hosts' addresses in this network.")
@click.option("--interface", metavar="NAME", help="Use the hosts' addresses on this interface.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any",
    help="UDP port of the echo agents, TCP port of iperf3, where a firewall wants one.",
)
@click.option("--remote-cache", metavar="DIR", help="Folder on the hosts for the echo agent.")
@with_transfer_options
@with_ssh_options
def command(**options: Any) -> int:
    """Measure the round-trip time of every pair of hosts, in both directions, over SSH.

    HOSTS is a file with a host a line (user@host:port, ranges such as gpu[01-16], `slots=8`, a
    Slurm node list, comments), or - for standard input. With --resume it may be left out.
    """
    from plink.cli.probe_action import run_command  # noqa: PLC0415  imports numpy and paramiko

    with StageProgress() as progress:
        return run_command(options, progress)
