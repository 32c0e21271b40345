"""`plink probe`: measure every pair of hosts."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any

import click

from plink.cli.progress import StageProgress
from plink.cli.ssh_options import from_values, with_ssh_options
from plink.errors import EXIT_PARTIAL, WrongUseError
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files.cluster import Cluster, Failure
from plink.probing.request import MAX_COUNT, ProbeRequest, check_resumable, hosts_of
from plink.probing.run import ProbeResult, probe
from plink.probing.tools import TOOLS
from probes.hosts.address import IPNetwork
from probes.hosts.host import ListedHost
from probes.hosts.hostlist import parse_host_list

_MAX_NAMED_PAIRS = 5


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
@click.option("--tool", type=click.Choice(list(TOOLS)), default="echo", show_default=True)
@click.option(
    "--count",
    type=click.IntRange(1, MAX_COUNT),
    help="Probes per direction of a pair.  [default: "
    + ", ".join(f"{tool.default_count} for {name}" for name, tool in TOOLS.items())
    + "]",
)
@click.option(
    "--percentile",
    type=click.FloatRange(0, 100),
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
    type=click.FloatRange(0.05, 600),
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
    help="UDP port of the echo agents, where a firewall wants one.",
)
@click.option("--remote-cache", metavar="DIR", help="Folder on the hosts for the echo agent.")
@with_ssh_options
def command(
    *,
    hosts: str | None,
    output: str | None,
    resume: str | None,
    tool: str,
    percentile: float,
    count: int | None,
    **options: Any,
) -> int:
    """Measure the round-trip time of every pair of hosts, in both directions, over SSH.

    HOSTS is a file with a host a line (user@host:port, ranges such as gpu[01-16], `slots=8`, a
    Slurm node list, comments), or - for standard input. With --resume it may be left out.
    """
    output = output or resume
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    document.check_writable(output)
    ssh = from_values(
        **{
            name: options.pop(name)
            for name in ("ssh_config", "identity", "user", "ssh_concurrency")
        },
        accept_new_host_keys=options.pop("accept_new_host_keys"),
    )
    earlier: Cluster | None = None
    if resume is not None:
        earlier, _ = cluster_file.read(resume)
        rtt = check_resumable(earlier, resume, tool=tool, reading=percentile)
        recorded = rtt.options.get("count")
        if count is None and isinstance(recorded, int) and 1 <= recorded <= MAX_COUNT:
            count = recorded
    listed, made_from = _listed_hosts(hosts, earlier, resume)
    request = ProbeRequest(
        hosts=listed,
        made_from=made_from,
        tool=tool,
        count=count,
        reading=percentile,
        ssh=ssh,
        earlier=earlier,
        **options,
    )
    with StageProgress() as progress:
        result = probe(request, progress)
    cluster_file.write(output, result.cluster)
    return _report(result, output)


def _listed_hosts(
    hosts: str | None, earlier: Cluster | None, resume: str | None
) -> tuple[list[ListedHost], str | None]:
    if hosts is not None:
        content = document.read_bytes(hosts)
        source = "standard input" if hosts == document.STANDARD_STREAM else hosts
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise WrongUseError(f"{source}: is not text") from None
        return parse_host_list(text, source), document.digest(content)
    if earlier is None or resume is None:
        raise click.UsageError("Missing argument 'HOSTS'.")
    return hosts_of(earlier, resume), earlier.made_from


def _report(result: ProbeResult, output: str) -> int:
    cluster, rtt = result.cluster, result.cluster.rtt
    assert rtt is not None  # noqa: S101
    total = len(cluster.hosts) * (len(cluster.hosts) - 1)
    for failure in [*cluster.unreachable, *(f for f in rtt.failures if f.destination is None)]:
        _warn(f"{failure.source}: {failure.reason}")
    _warn_pairs([failure for failure in rtt.failures if failure.destination is not None])
    if result.interrupted:
        _warn(f"interrupted; go on with: plink probe --resume {output}")
    where = "" if output == document.STANDARD_STREAM else f" -> {output}"
    click.echo(
        f"{len(cluster.hosts)} hosts, {result.measured} of {total} directed pairs, "
        f"{rtt.tool} x {rtt.options['count']}, {rtt.seconds:.1f} s of probing{where}",
        err=True,
    )
    is_whole = result.measured == total and not cluster.unreachable
    return 0 if is_whole else EXIT_PARTIAL


def _warn_pairs(failures: Sequence[Failure]) -> None:
    for failure in failures[:_MAX_NAMED_PAIRS]:
        _warn(f"{failure.source} to {failure.destination}: {failure.reason}")
    if len(failures) > _MAX_NAMED_PAIRS:
        _warn(f"... and {len(failures) - _MAX_NAMED_PAIRS} more directed pairs, named in the file")


def _warn(text: str) -> None:
    click.echo(f"{click.style('warning:', fg='yellow')} {text}", err=True)
