"""Reports of `plink probe` and `plink check`: what was measured, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

import click

from plink.base.errors import EXIT_PARTIAL
from plink.base.next_command import next_command
from plink.cli.given import all_words, resuming_words
from plink.cli.json_output import print_json
from plink.cli.stderr import name_some, warn
from plink.formats import document
from plink.formats.cluster import Cluster
from plink.formats.measurements import Measurement
from plink.formats.outputs import ProbeOutput, ProbeStage, UnreachedHost
from plink.measure.probing.run import ProbeResult
from plink.measure.probing.tools import DEFAULT_TOOL, UplinkOptions
from plink.measure.probing.uplinks import UplinkResult
from plink.show.facts import uplink_lines


def resume_command(tool: str, output: str) -> str:
    """Return the command that resumes a run of this tool whose output is `output`."""
    chosen = [] if tool == DEFAULT_TOOL else ["--tool", tool]
    return _resume(output, *chosen, *resuming_words())


def resume_all_command(output: str) -> str:
    """Return the command that resumes a run of all stages whose output is `output`.

    No file records how a stage that was not begun was to be measured.
    """
    return _resume(output, "--all", *all_words())


def _resume(output: str, *words: str) -> str:
    file = document.argument(document.label(output))
    return next_command("probe", "--resume", file, *words)


def print_outcome(
    cluster: Cluster,
    results: Sequence[ProbeResult | UplinkResult],
    *,
    output: str,
    again: str,
    is_partial: bool,
) -> None:
    """Print the result of a run as JSON (`docs/files.md`, What verbs print).

    Args:
        cluster: that was written.
        results: results of every stage.
        output: where it was written.
        again: the command that goes on.
        is_partial: something is missing.
    """
    print_json(
        ProbeOutput(
            output,
            len(cluster.hosts),
            [UnreachedHost(failure.source, failure.reason) for failure in cluster.unreachable],
            [_stage(result) for result in results],
            cluster.groups,
            again if is_partial or _has_warnings(results) else None,
        )
    )


def _stage(result: ProbeResult | UplinkResult) -> ProbeStage:
    measurement = result.measurement
    warnings: Sequence[str] = ()
    if isinstance(result, UplinkResult):
        asked, measured = len(result.cluster.groups), measured_groups(result)
    else:
        asked, measured, warnings = result.asked, result.measured, result.warnings
    return ProbeStage(
        measurement.tool,
        asked,
        measured,
        round(measurement.seconds, 3),
        result.interrupted,
        warnings,
        measurement.failures,
    )


def _has_warnings(results: Sequence[ProbeResult | UplinkResult]) -> bool:
    return any(isinstance(result, ProbeResult) and result.warnings for result in results)


def measured_groups(result: UplinkResult) -> int:
    """Return how many groups' uplinks were measured in both directions."""
    return sum(uplink.is_whole for uplink in result.measurement.uplinks)


def report_pairs(result: ProbeResult, output: str, again: str) -> int:
    """Print what was measured and written, and the next step; return the exit code."""
    cluster = result.cluster
    if result.interrupted:
        warn(f"interrupted; continue with: {again}")
    for warning in result.warnings:
        warn(f"{warning}; measure them again when the hosts are idle: {again}")
    part = "" if result.sample is None else f" (sampled: {result.sample})"
    click.echo(
        f"{len(cluster.hosts)} hosts, {result.measured} of {result.asked} directed pairs{part}, "
        f"{result.how}, {result.measurement.seconds:.1f} s of probing{_format_target(output)}",
        err=True,
    )
    is_whole = result.measured == result.asked and not cluster.unreachable
    return 0 if is_whole else EXIT_PARTIAL


def report_uplinks(result: UplinkResult, output: str, again: str | None = None) -> int:
    """Print which uplinks were measured and written; return the exit code.

    Args:
        again: what goes on where it was interrupted; None for the command of the uplinks alone.
    """
    cluster, measurement = result.cluster, result.measurement
    if result.interrupted:
        warn(f"interrupted; continue with: {again or resume_command(UplinkOptions.tool, output)}")
    for line in uplink_lines(cluster):
        click.echo(line, err=True)
    whole = measured_groups(result)
    click.echo(
        f"{len(cluster.hosts)} hosts, {whole} of {len(cluster.groups)} groups, "
        f"{measurement.seconds:.1f} s of probing{_format_target(output)}",
        err=True,
    )
    missing = cluster.unreachable or measurement.failures or whole < len(cluster.groups)
    return EXIT_PARTIAL if missing else 0


def _format_target(output: str) -> str:
    return "" if output == document.STANDARD_STREAM else f" -> {output}"


def warn_of_gaps(cluster: Cluster, measurement: Measurement) -> None:
    """Warn of missing hosts and of the first missing pairs."""
    hosts = [failure for failure in measurement.failures if failure.destination is None]
    for failure in [*cluster.unreachable, *hosts]:
        warn(str(failure))
    pairs = [failure for failure in measurement.failures if failure.destination is not None]
    name_some(pairs, "directed pairs, named in the file")
