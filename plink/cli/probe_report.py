"""What `plink probe` and `plink check` say of a run: what was found, and what is missing."""

from __future__ import annotations

import click

from plink.base.errors import EXIT_PARTIAL
from plink.cli.stderr import name_some, warn
from plink.files import document
from plink.files.cluster import Cluster
from plink.files.measurement import Measurement
from plink.measure.probing.run import ProbeResult
from plink.measure.probing.tools import DEFAULT_TOOL
from plink.measure.probing.tools.transfers import UplinkOptions
from plink.measure.probing.uplinks import UplinkResult
from plink.show.terminal.bandwidth import uplink_lines


def resume_command(tool: str, output: str) -> str:
    """What goes on with a run of this tool that wrote `output`."""
    chosen = "" if tool == DEFAULT_TOOL else f" --tool {tool}"
    return f"{_resume(output)}{chosen}"


def resume_all_command(output: str) -> str:
    """What goes on with a run of all stages that wrote `output`."""
    return f"{_resume(output)} --all"


def _resume(output: str) -> str:
    return f"plink probe --resume {document.argument(document.label(output))}"


def report_pairs(result: ProbeResult, output: str, again: str) -> int:
    """Say what was found, which is written by now, and what goes on; return the exit code."""
    cluster = result.cluster
    if result.interrupted:
        warn(f"interrupted; go on with: {again}")
    for warning in result.warnings:
        warn(f"{warning}; measure them again when it is quiet: {again}")
    part = "" if result.sample is None else f" (sampled: {result.sample})"
    click.echo(
        f"{len(cluster.hosts)} hosts, {result.measured} of {result.asked} directed pairs{part}, "
        f"{result.how}, {result.measurement.seconds:.1f} s of probing{_where(output)}",
        err=True,
    )
    is_whole = result.measured == result.asked and not cluster.unreachable
    return 0 if is_whole else EXIT_PARTIAL


def report_uplinks(result: UplinkResult, output: str, again: str | None = None) -> int:
    """Say what was found, which is written by now; return the exit code.

    Args:
        again: what goes on where it was interrupted; None for the command of the uplinks alone.
    """
    cluster, measurement = result.cluster, result.measurement
    if result.interrupted:
        warn(f"interrupted; go on with: {again or resume_command(UplinkOptions.tool, output)}")
    for line in uplink_lines(cluster):
        click.echo(line, err=True)
    whole = [uplink for uplink in measurement.uplinks if uplink.is_whole]
    click.echo(
        f"{len(cluster.hosts)} hosts, {len(whole)} of {len(cluster.groups)} groups, "
        f"{measurement.seconds:.1f} s of probing{_where(output)}",
        err=True,
    )
    missing = cluster.unreachable or measurement.failures or len(whole) < len(cluster.groups)
    return EXIT_PARTIAL if missing else 0


def _where(output: str) -> str:
    return "" if output == document.STANDARD_STREAM else f" -> {output}"


def warn_of_gaps(cluster: Cluster, measurement: Measurement) -> None:
    """Name the hosts that are missing, and the first of the pairs."""
    hosts = [failure for failure in measurement.failures if failure.destination is None]
    for failure in [*cluster.unreachable, *hosts]:
        warn(str(failure))
    pairs = [failure for failure in measurement.failures if failure.destination is not None]
    name_some(pairs, "directed pairs, named in the file")
