"""Action of `plink probe`: what to measure, where to write it, and what to print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from plink.base.errors import EXIT_PARTIAL, PlinkError
from plink.base.text import format_count, format_names
from plink.cli.given import record_as_given
from plink.cli.json_output import refuse_json_beside
from plink.cli.probe_report import (
    print_outcome,
    report_pairs,
    report_uplinks,
    resume_all_command,
    resume_command,
    warn_of_gaps,
)
from plink.cli.progress import StageProgress
from plink.cli.stderr import note, print_unreached, warn
from plink.cli.way_options import CallOptions
from plink.formats import cluster as cluster_file
from plink.formats import document
from plink.formats.cluster import Cluster
from plink.measure.listed import HostList, apply_recorded_way, list_again, read_hosts
from plink.measure.probing.request import ProbeRequest, refuse_to_drop
from plink.measure.probing.run import ProbeResult, probe
from plink.measure.probing.tools import DEFAULT_TOOL, TAKEN_BY, TOOLS, UPLINKS, UplinkOptions
from plink.measure.probing.uplinks import UplinkResult
from plink.measure.requests import MeasurementRequest
from plink.optimize.groups.certainty import stop_when_groups_are_certain
from plink.probes.calls.listener import Callers, gather
from plink.probes.options import SSH, ListenOptions, SshOptions, ViaOptions
from plink.probes.reach import Way
from plink.verbs.probe import build_probe_request
from plink.verbs.probe_all import GroupsResult, StageResult, probe_all

# What stands for a host list in messages.
_CALLERS = "the hosts that call"


@dataclass(frozen=True)
class ProbeAction:
    """Run of `plink probe`: what to measure, and where to read and write.

    Args:
        request: what is asked for.
        hosts: host list, or None.
        output: cluster file to write; None for the one that is resumed.
        resume: cluster file to continue, or None.
        expect: number of hosts that will call, or None.
        reach: options on reaching hosts.
        progress: told how far it is.
        as_json: print a summary as JSON.
    """

    request: MeasurementRequest
    hosts: str | None
    output: str | None
    resume: str | None
    expect: int | None
    reach: CallOptions
    progress: StageProgress
    as_json: bool

    def measure(self) -> int:
        """Measure the hosts with one tool; return the exit code."""
        tool = self.request.tool
        self.request.refuse_unused(tool, f"not {tool}")
        output = self._check_output()
        request = self._build_request(tool, self._read_earlier())
        again = resume_command(request.tool, output)
        codes: list[int] = []
        results: list[ProbeResult | UplinkResult] = []

        def keep(result: ProbeResult | UplinkResult) -> None:
            warn_of_gaps(result.cluster, result.measurement)
            if result.measured == 0:
                what = "group" if isinstance(result, UplinkResult) else "pair of hosts"
                raise PlinkError(f"no {what} could be measured", "the warnings above say why")
            cluster_file.write_cluster(output, result.cluster)
            results.append(result)
            if isinstance(result, UplinkResult):
                codes.append(report_uplinks(result, output, again))
            else:
                codes.append(report_pairs(result, output, again))

        try:
            with print_unreached():
                probe(request, self.progress, keep, stop_when_groups_are_certain())
        except KeyboardInterrupt:
            if not codes:
                raise
        if self.as_json:
            print_outcome(
                results[0].cluster, results, output=output, again=again, is_partial=codes[0] != 0
            )
        return codes[0]

    def measure_all_stages(self, given: Mapping[str, str]) -> int:
        """Measure round-trip times, groups and their uplinks; return the exit code.

        Args:
            given: options of the command line, by parameter, and how a user writes them.
        """
        _refuse_single_stage(given)
        output, earlier = self._check_output(), self._read_earlier()
        tool = self.request.tool
        if earlier is not None and earlier.rtt is not None and earlier.rtt.tool in TOOLS:
            tool = earlier.rtt.tool
        request = self._build_request(tool, earlier)
        uplinks = self._build_uplink_options(earlier)
        stages = _Stages(output)
        try:
            with print_unreached():
                probe_all(request, uplinks, self.progress, stages.keep)
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
        if self.as_json:
            stages.print_outcome()
        return stages.code

    def _check_output(self) -> str:
        """Return the output file, after all checks that can fail early."""
        output = self.output or self.resume
        if output is None:
            raise click.UsageError("Missing option '-o' / '--output'.")
        refuse_json_beside(output, "the cluster", as_json=self.as_json)
        document.check_writable(output, has_matrices=True)
        if self.hosts is not None:
            document.refuse_same_file(self.hosts, output)
        return output

    def _read_earlier(self) -> Cluster | None:
        return None if self.resume is None else cluster_file.read_cluster(self.resume)

    def _build_request(self, tool: str, earlier: Cluster | None) -> ProbeRequest:
        source = document.label(self.resume or "")
        given = self.reach.resolve_any()
        way: Way = given
        if self.hosts is None and earlier is None and isinstance(given, ListenOptions):
            way = callers = _callers(given, self.expect, self.progress, strict=self.request.strict)
            found = HostList(callers.hosts)
        elif self.expect is not None:
            raise click.UsageError("--expect needs --listen, and excludes a host list.")
        else:
            found = self._list_hosts(earlier)
            if earlier is not None:
                given = apply_recorded_way(given, earlier.way, source)
            way = given
            if not isinstance(given, ListenOptions):
                way = found.way(given, is_ssh_said=self.reach.via == SSH)
                for text in found.notes:
                    warn(text)
                # Suggested commands reach the hosts in the same way.
                record_as_given(
                    identity=way.identity_file if isinstance(way, SshOptions) else None,
                    via=way.template if isinstance(way, ViaOptions) else None,
                )
        listed_in = document.label(self.hosts or self.resume or _CALLERS)
        request = build_probe_request(
            self.request,
            found,
            way,
            earlier=earlier,
            source=self.resume or "",
            listed_in=listed_in,
            tool=tool,
        )
        if earlier is not None and self.hosts is not None and self._overwrites_earlier():
            refuse_to_drop(earlier, found.hosts, listed_in, self.resume or "")
        return request

    def _build_uplink_options(self, earlier: Cluster | None) -> UplinkOptions:
        given = self.request.tool_options(UPLINKS.name)
        if earlier is None or earlier.uplinks is None:
            return UplinkOptions(**given)
        return UPLINKS.resume(given, earlier.uplinks.options, self.resume or "")

    def _overwrites_earlier(self) -> bool:
        """Return whether the output file is the cluster file that is resumed."""
        output, earlier = self._check_output(), self.resume or ""
        if document.STANDARD_STREAM in (earlier, output):
            return False
        try:
            return Path(output).samefile(earlier)
        except (OSError, ValueError):  # one of them is not there
            return False

    def _list_hosts(self, earlier: Cluster | None) -> HostList:
        if self.hosts is not None:
            return read_hosts(self.hosts)
        if earlier is None:
            raise click.UsageError("Missing argument 'HOSTS'.")
        return HostList(list_again(earlier, self.resume or ""), earlier.made_from)


def _callers(
    options: ListenOptions, expected: int | None, progress: StageProgress, *, strict: bool
) -> Callers:
    """Wait for agents to call, if there is no host list, and return them."""
    if expected is None:
        raise click.UsageError(
            "Missing argument 'HOSTS', or --expect N, the number of hosts that will call."
        )
    progress.stage("waiting for agents", expected)
    known = 0

    def on_call(count: int) -> None:
        nonlocal known
        for _ in range(known, count):
            progress.step()
        known = max(known, count)

    callers = gather(options, expected, lambda port: note(f"listening on port {port}"), on_call)
    found = len(callers.hosts)
    if found < expected:
        missing = f"{found} of {expected} agents have called within {options.wait_s:g} s"
        if strict:
            callers.listener.close()
            raise PlinkError(
                missing, "without --strict the run continues with the hosts that have called"
            )
        warn(f"{missing}: continuing with the others")
    return callers


def _refuse_single_stage(given: Mapping[str, str]) -> None:
    """Raise for options that no stage uses, or that select a single stage."""
    for name, written in given.items():
        takers = TAKEN_BY.get(name, list(TOOLS))
        if name in {"tool", "groups"} or not {DEFAULT_TOOL, UplinkOptions.tool} & set(takers):
            raise click.UsageError(f"{written} cannot be combined with --all.")


class _Stages:
    """Observer of `plink probe --all` that writes and prints the result of each stage."""

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
        """Exit code of the command so far."""
        return max(self._codes) if self._is_over else EXIT_PARTIAL

    def keep(self, result: StageResult) -> None:
        """Record the result of a stage of `plink probe --all`."""
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
        """Write the last result, which waits while standard output is in use."""
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
