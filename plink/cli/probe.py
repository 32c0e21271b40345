"""`plink probe`: measure every pair of hosts. What it does is in `probe_action`."""

from __future__ import annotations

import ipaddress
from typing import Any

import click
from click.core import ParameterSource

from plink.cli.progress import StageProgress
from plink.cli.ssh_options import with_ssh_options
from plink.cli.transfer_options import with_transfer_options
from plink.cli.types import FiniteRange, RoundsType
from plink.probing.limits import (
    DEFAULT_COUNTS,
    DEFAULT_MAX_HOPS,
    DEFAULT_PRECISION_PERCENT,
    DEFAULT_REMOTE_PYTHON,
    MAX_COUNT,
    TOOL_NAMES,
)
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
    help="What measures: our own UDP echo agent, the same past the kernel with DPDK (as root), or "
    "fping where it is installed on the hosts; trace finds hop counts and routes, as root and "
    "where Python has scapy; iperf3, installed there, measures bandwidth, and uplinks what groups "
    "of hosts exchange.",
)
@click.option(
    "--count",
    type=click.IntRange(1, MAX_COUNT),
    help="Probes per direction of a pair, at most.  [default: "
    + ", ".join(f"{count} for {tool}" for tool, count in DEFAULT_COUNTS.items())
    + "]",
)
@click.option(
    "--precision",
    "precision_percent",
    type=FiniteRange(0, 100),
    metavar="PERCENT",
    help="Send fewer probes once the reading's 95 % confidence interval reaches no further than "
    f"this to either side; 0 to send all.  [default: {DEFAULT_PRECISION_PERCENT:g}; echo only]",
)
@click.option(
    "--percentile",
    type=FiniteRange(0, 100),
    default=10.0,
    show_default=True,
    help="The percentile of the round-trip times that stands for a pair.",
)
@click.option(
    "--rounds",
    type=RoundsType(),
    help="Rounds of the tournament to go through, so many partners for every host.  [default: all]",
)
@click.option(
    "--seed",
    type=click.IntRange(0, (1 << 63) - 1),
    help="Decides which rounds, where not all are asked for.  [default: 0]",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1 << 16),
    help="Pairs in flight.  [default: all, fewer where hosts share a machine or disturb each "
    "other]",
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
@click.option(
    "--check",
    metavar="FILE",
    help="Measure a small sample again and say whether this cluster file still holds.",
)
@click.option("--json", "as_json", is_flag=True, help="With --check: print the verdict as JSON.")
@click.option("--strict", is_flag=True, help="Stop if any host cannot be reached.")
@click.option("--network", type=NetworkType(), help="Use the hosts' addresses in this network.")
@click.option("--interface", metavar="NAME", help="Use the hosts' addresses on this interface.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any",
    help="UDP port of the echo agents or of trace, TCP port of iperf3, where a firewall wants one.",
)
@click.option(
    "--max-hops",
    type=click.IntRange(1, 255),
    default=DEFAULT_MAX_HOPS,
    show_default=True,
    help="How many hops away a host may be, for --tool trace.",
)
@click.option(
    "--remote-python",
    metavar="PATH",
    default=DEFAULT_REMOTE_PYTHON,
    show_default=True,
    help="Python with scapy on the hosts, for --tool trace.",
)
@click.option(
    "--nics",
    metavar="FILE",
    help="NICs that hosts give to --tool dpdk altogether, a line each: HOST PCI-ADDRESS "
    "ADDRESS/PREFIX [GATEWAY].  [default: the interfaces that carry their traffic]",
)
@click.option("--remote-cache", metavar="DIR", help="Folder on the hosts for the echo agent.")
@with_transfer_options
@with_ssh_options
@click.pass_context
def command(context: click.Context, /, **options: Any) -> int:
    """Measure the round-trip time of every pair of hosts, in both directions, over SSH.

    HOSTS is a file with a host a line (user@host:port, ranges such as gpu[01-16], `slots=8`, a
    Slurm node list, comments), or - for standard input. With --resume it may be left out.

    With --check nothing is written, and the exit code is 0 where the file still describes the
    network, 4 where it does not, 3 where that is all that could be measured.
    """
    if options["check"] is not None:
        return _check(context, options)
    if options["as_json"]:
        raise click.UsageError("--json goes with --check.")
    del options["check"], options["as_json"]
    from plink.cli.probe_action import run_command  # noqa: PLC0415  imports numpy and paramiko

    with StageProgress() as progress:
        return run_command(options, progress)


# The file says the rest, such as the tool and the percentile.
_WITH_CHECK = {
    *("check", "as_json", "count", "precision_percent", "rounds", "seed", "concurrency"),
    *("timeout_s", "network", "interface", "port", "nics", "remote_cache"),
    *("ssh_config", "identity", "user", "accept_new_host_keys", "ssh_concurrency"),
}


def _check(context: click.Context, options: dict[str, Any]) -> int:
    for parameter in context.command.params:
        is_given = context.get_parameter_source(parameter.name or "") is not ParameterSource.DEFAULT
        if is_given and parameter.name not in _WITH_CHECK:
            raise click.UsageError(f"{parameter.get_error_hint(context)} does not go with --check.")
    from plink.cli.check_action import run_command  # noqa: PLC0415  imports numpy and paramiko

    with StageProgress() as progress:
        return run_command(options, progress)
