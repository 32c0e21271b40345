"""Action of `plink probe --all`: round trips, groups and uplinks in one run, into one file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from plink.base.errors import EXIT_PARTIAL, PlinkError
from plink.base.text import format_count, format_names
from plink.cli.probe_action import output_of, read_earlier, request_of, select_tool_options
from plink.cli.probe_report import (
    print_outcome,
    report_pairs,
    report_uplinks,
    resume_all_command,
    warn_of_gaps,
)
from plink.cli.progress import StageProgress
from plink.cli.stderr import naming_unreached, note, warn
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files.cluster import Cluster
from plink.measure.probing.run import ProbeResult
from plink.measure.probing.tools import DEFAULT_TOOL, TAKEN_BY, TOOLS, UPLINKS, UplinkOptions
from plink.measure.probing.uplinks import UplinkResult
from plink.verbs.probe_all import GroupsResult, StageResult, probe_all


def run_command(
    options: Mapping[str, Any], given: Mapping[str, str], progress: StageProgress
) -> int:
    """Run `plink probe --all` with these options; return the exit code.

    Args:
        options: all, by the names of their parameters.
        given: those that the command line gives, and how a user writes them.
        progress: told how far it is.
    """
    _refuse_unused(given)
    output, earlier = output_of(options), read_earlier(options)
    tool = options["tool"]
    if earlier is not None and earlier.rtt is not None and earlier.rtt.tool in TOOLS:
        tool = earlier.rtt.tool
    request = request_of(options, tool, earlier, progress)
    uplinks = _uplink_options(options, earlier)
    stages = _Stages(output)
    try:
        with naming_unreached():
            probe_all(request, uplinks, progress, stages.keep)
    except KeyboardInterrupt:
        if stages.is_empty:
            raise
        stages.report_interrupt()
    except PlinkError as error:
        if stages.is_empty:
            raise
        # What is written stays: a later stage cannot be carried out.
        stages.report_failure(error)
    finally:
        stages.end()
    if options["as_json"]:
        stages.print_outcome()
    return stages.code


def _refuse_unused(given: Mapping[str, str]) -> None:
    """Raise for options that no stage uses, or that select a single stage."""
    for name, written in given.items():
        takers = TAKEN_BY.get(name, list(TOOLS))
        if name in {"tool", "groups"} or not {DEFAULT_TOOL, UplinkOptions.tool} & set(takers):
            raise click.UsageError(f"{written} cannot be combined with --all.")


def _uplink_options(options: Mapping[str, Any], earlier: Cluster | None) -> UplinkOptions:
    given = select_tool_options(UplinkOptions.tool, {**options, "groups": None})
    if earlier is None or earlier.uplinks is None:
        return UplinkOptions(**given)
    return UPLINKS.resume(given, earlier.uplinks.options, options["resume"])


class _Stages:
    """Observer that writes and prints the result of each stage."""

    def __init__(self, output: str) -> None:
        self._output = output
        self._again = resume_all_command(output)
        self._cluster: Cluster | None = None
        self._is_written = False
        # Each stage that is still to come is missing until it has said how it went.
        self._codes: list[int] = []
        self._results: list[ProbeResult | UplinkResult] = []
        self._is_over = False
        self._said_interrupted = False

    @property
    def is_empty(self) -> bool:
        """Whether no stage has had a result."""
        return self._cluster is None

    @property
    def code(self) -> int:
        """Exit code of the command."""
        return max(self._codes) if self._is_over else EXIT_PARTIAL

    def keep(self, result: StageResult) -> None:
        """Record the result of a stage."""
        if isinstance(result, ProbeResult):
            self._keep_pairs(result)
        elif isinstance(result, GroupsResult):
            self._keep_groups(result)
        else:
            self._keep_uplinks(result)

    def report_interrupt(self) -> None:
        """Report that the user stopped the run."""
        if not (self._said_interrupted or self._is_over):
            warn(f"interrupted; continue with: {self._again}")

    def report_failure(self, error: PlinkError) -> None:
        """Report that a later stage could not run."""
        self._is_over = False
        warn(str(error), error.hint)

    def print_outcome(self) -> None:
        """Print the results of all stages as JSON."""
        if self._cluster is not None:
            print_outcome(
                self._cluster,
                self._results,
                output=self._output,
                again=self._again,
                is_partial=self.code != 0,
            )

    def end(self) -> None:
        """Write the result held back while standard output was in use."""
        if self._cluster is not None and not self._is_written:
            cluster_file.write_cluster(self._output, self._cluster)

    def _write(self, cluster: Cluster) -> None:
        self._cluster = cluster
        if self._output != document.STANDARD_STREAM:
            cluster_file.write_cluster(self._output, cluster)
            self._is_written = True

    def _keep_pairs(self, result: ProbeResult) -> None:
        warn_of_gaps(result.cluster, result.measurement)
        if result.measured == 0:
            raise PlinkError("no pair of hosts could be measured", "the warnings above say why")
        self._write(result.cluster)
        self._results.append(result)
        self._codes.append(report_pairs(result, self._output, self._again))
        self._said_interrupted = result.interrupted

    def _keep_groups(self, result: GroupsResult) -> None:
        self._write(result.cluster)
        groups = result.cluster.groups
        for text in () if result.found is None else result.found.grouping.notes:
            note(text)
        unmeasured = [] if result.found is None else result.found.grouping.unmeasured
        if unmeasured:
            warn(f"{format_count(len(unmeasured), 'host')} with too few measurements to be placed")
            self._codes.append(EXIT_PARTIAL)
        if not result.has_uplinks:
            self._is_over = True
            what = f"one group only, {groups[0].name}" if groups else "no structure found"
            note(f"{what}: uplinks are not measured, as they belong to groups")
            return
        how = "as the file has them" if result.found is None else "found in the round-trip times"
        sizes = format_names([f"{group.name} ({len(group.hosts)})" for group in groups])
        click.echo(f"{format_count(len(groups), 'group')} {how}: {sizes}", err=True)

    def _keep_uplinks(self, result: UplinkResult) -> None:
        warn_of_gaps(result.cluster, result.measurement)
        if result.measured == 0:
            raise PlinkError(
                "no uplink could be measured",
                f"the warnings above say why; then: {self._again}",
            )
        self._write(result.cluster)
        self._results.append(result)
        self._codes.append(report_uplinks(result, self._output, self._again))
        self._said_interrupted = result.interrupted
        self._is_over = not result.interrupted
