"""Action of `plink probe`: what to measure, where to write it, and what to print."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import click

from plink.base.errors import EXIT_PARTIAL, PlinkError
from plink.base.next_command import next_command
from plink.base.progress import ProgressListener
from plink.base.text import format_count, format_names
from plink.cli.hints import all_words, record_as_given, resuming_words
from plink.cli.json_output import check_output, print_json
from plink.cli.stderr import name_some, note, print_unreached, warn
from plink.cli.way_options import CallOptions
from plink.formats import cluster as cluster_file
from plink.formats import document
from plink.formats.cluster import Cluster
from plink.formats.outputs import ProbeOutput, ProbeStage, UnreachedHost
from plink.measure.listed import HostList, apply_recorded_way, list_again, read_hosts
from plink.measure.probing.request import ProbeRequest, refuse_to_drop, resume_tool
from plink.measure.probing.run import ProbeResult, probe
from plink.measure.probing.tools import DEFAULT_TOOL, TAKEN_BY, TOOLS, UplinkOptions
from plink.measure.probing.uplinks import UplinkResult
from plink.measure.requests import MeasurementRequest
from plink.optimize.groups.certainty import stop_when_groups_are_certain
from plink.probes.calls.listener import Listener, gather
from plink.probes.options import SSH, ListenOptions, SshOptions, ViaOptions
from plink.probes.reach import Way
from plink.show.facts import uplink_lines
from plink.verbs.probe import GroupsResult, StageResult, build_probe_request, probe_all

# What stands for a host list in messages.
_CALLERS = "the hosts that call"


@dataclass(frozen=True)
class ProbeAction:
    """Action of `plink probe`: measures what the options say, writes and prints it.

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
    progress: ProgressListener
    as_json: bool

    def measure(self) -> int:
        """Measure the hosts with one tool; return the exit code."""
        tool = self.request.tool
        self.request.refuse_unused(tool, f"not {tool}")
        output = self._check_output()
        request = self._build_request(tool, self._read_earlier())
        report = _Report(output, resume_command(request.tool, output), is_single=True)
        return self._run(
            report,
            lambda: probe(request, self.progress, report.keep, stop_when_groups_are_certain()),
        )

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
        # No file records how a stage that was not begun was to be measured.
        report = _Report(output, _resume(output, "--all", *all_words()), is_single=False)
        uplinks = self._build_uplink_options(earlier)
        return self._run(report, lambda: probe_all(request, uplinks, self.progress, report.keep))

    def _run(self, report: _Report, run: Callable[[], object]) -> int:
        """Run the stages and return the exit code; what was written stays if a later one fails."""
        try:
            with print_unreached():
                run()
        except (KeyboardInterrupt, PlinkError) as error:
            if report.cluster is None:
                raise
            report.stop(error)
        return report.end(as_json=self.as_json)

    def _check_output(self) -> str:
        """Return the file to write (`--output`, else `--resume`) after checking that it can be."""
        output = self.output or self.resume
        if output is None:
            raise click.UsageError("Missing option '-o' / '--output'.")
        inputs = () if self.hosts is None else (self.hosts,)
        check_output(output, "the cluster", *inputs, as_json=self.as_json, has_matrices=True)
        return output

    def _read_earlier(self) -> Cluster | None:
        return None if self.resume is None else cluster_file.read_cluster(self.resume)

    def _build_request(self, tool: str, earlier: Cluster | None) -> ProbeRequest:
        source = document.label(self.resume or "")
        given = self.reach.resolve_any()
        way: Way = given
        if self.hosts is None and earlier is None and isinstance(given, ListenOptions):
            strict = self.request.strict
            way = callers = _wait_for_agents(given, self.expect, self.progress, strict=strict)
            found = HostList(callers.hosts)
        elif self.expect is not None:
            raise click.UsageError("--expect needs --listen, and excludes HOSTS and --resume.")
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
        resumed = self.resume or ""
        is_overwritten = document.is_same_file(self.output or resumed, resumed)
        if earlier is not None and self.hosts is not None and is_overwritten:
            refuse_to_drop(earlier, found.hosts, listed_in, resumed)
        return request

    def _build_uplink_options(self, earlier: Cluster | None) -> UplinkOptions:
        given = self.request.tool_options(UplinkOptions.tool)
        if earlier is None or earlier.uplinks is None:
            return UplinkOptions(**given)
        return resume_tool(UplinkOptions, given, earlier.uplinks.options, self.resume or "")

    def _list_hosts(self, earlier: Cluster | None) -> HostList:
        if self.hosts is not None:
            return read_hosts(self.hosts)
        if earlier is None:
            raise click.UsageError("Missing argument 'HOSTS'.")
        return HostList(list_again(earlier, self.resume or ""), made_from=earlier.made_from)


def _wait_for_agents(
    options: ListenOptions, expected: int | None, progress: ProgressListener, *, strict: bool
) -> Listener:
    """Wait until the expected agents have connected or time is up; return their connections."""
    if expected is None:
        raise click.UsageError(
            "Missing argument 'HOSTS', or --expect N, the number of hosts that will connect."
        )
    progress.stage("waiting for agents", expected)
    known = 0

    def on_call(count: int) -> None:
        nonlocal known
        for _ in range(known, count):
            progress.step()
        known = max(known, count)

    callers = gather(
        options,
        expected,
        lambda port: note(f"waiting for agents: listening on port {port}"),
        on_call,
    )
    found = len(callers.hosts)
    if found < expected:
        agents_connected = (
            f"{found} of {expected} agents have connected within {options.wait_s:g} s"
        )
        if strict:
            callers.close()
            raise PlinkError(
                agents_connected,
                "without --strict the run continues with the hosts that have connected",
            )
        warn(f"{agents_connected}: the run continues without the others")
    return callers


def _refuse_single_stage(given: Mapping[str, str]) -> None:
    """Raise UsageError for options that `--all` excludes, as they are for single tools."""
    for name, written in given.items():
        takers = TAKEN_BY.get(name, list(TOOLS))
        if name in {"tool", "groups"} or not {DEFAULT_TOOL, UplinkOptions.tool} & set(takers):
            raise click.UsageError(
                f"{written} is for measuring with a single tool and excludes --all."
            )


def resume_command(tool: str, output: str) -> str:
    """Return the command that resumes a run of this tool whose output is `output`."""
    chosen = [] if tool == DEFAULT_TOOL else ["--tool", tool]
    return _resume(output, *chosen, *resuming_words())


def _resume(output: str, *words: str) -> str:
    file = document.argument(document.label(output))
    return next_command("probe", "--resume", file, *words)


class _Report:
    """Observer of a probe that writes each stage's result to the file and prints it.

    Attributes:
        cluster: latest result that was written, or will be to standard output; None before any.
    """

    def __init__(self, output: str, again: str, *, is_single: bool) -> None:
        self.cluster: Cluster | None = None
        self._output = output
        self._again = again
        self._is_single = is_single
        self._is_over = False
        self._is_interrupted = False
        self._is_partial = False
        self._results: list[ProbeResult | UplinkResult] = []

    def keep(self, result: StageResult) -> None:
        """Write the result of a stage, and print what was measured."""
        if isinstance(result, GroupsResult):
            self._write(result.cluster)
            self._print_groups(result)
            return
        _warn_of_gaps(result)
        if result.measured == 0:
            uplink_or_pair = "uplink" if isinstance(result, UplinkResult) else "pair of hosts"
            then = f"; then: {self._again}" if self._results else ""
            hint = f"the warnings above say why{then}"
            raise PlinkError(f"no {uplink_or_pair} could be measured", hint)
        self._write(result.cluster)
        self._results.append(result)
        self._is_interrupted = result.interrupted
        is_last = isinstance(result, UplinkResult) and not result.interrupted
        self._is_over = self._is_single or is_last
        if not report_stage(result, self._output, self._again):
            self._is_partial = True

    def stop(self, error: KeyboardInterrupt | PlinkError) -> None:
        """Print why later stages are missing: an interrupt or an error."""
        if isinstance(error, PlinkError):
            self._is_over = False
            warn(str(error), error.hint)
        elif not (self._is_interrupted or self._is_over):
            warn(f"interrupted; continue with: {self._again}")

    def end(self, *, as_json: bool) -> int:
        """Write the cluster if it goes to standard output, or print JSON; return the exit code."""
        assert self.cluster is not None  # noqa: S101  for the type checker
        code = EXIT_PARTIAL if self._is_partial or not self._is_over else 0
        if self._output == document.STANDARD_STREAM:
            cluster_file.write_cluster(self._output, self.cluster)
        has_warnings = any(result.warnings for result in self._results)
        if as_json:
            print_json(
                ProbeOutput(
                    self._output,
                    len(self.cluster.hosts),
                    [UnreachedHost(each.source, each.reason) for each in self.cluster.unreachable],
                    [_describe_stage(result) for result in self._results],
                    self.cluster.groups,
                    self._again if code or has_warnings else None,
                )
            )
        return code

    def _write(self, cluster: Cluster) -> None:
        # Standard output gets the last result alone.
        if self._output != document.STANDARD_STREAM:
            cluster_file.write_cluster(self._output, cluster)
        self.cluster = cluster

    def _print_groups(self, result: GroupsResult) -> None:
        groups = result.cluster.groups
        grouping = None if result.found is None else result.found.grouping
        for text in () if grouping is None else grouping.notes:
            note(text)
        if grouping is not None and grouping.unmeasured:
            count = format_count(len(grouping.unmeasured), "host")
            warn(f"{count} with too few measurements to be put into a group")
            self._is_partial = True
        if not result.has_uplinks:
            self._is_over = True
            why = f"one group only, {groups[0].name}" if groups else "no structure found"
            note(f"{why}: uplinks are not measured, as they join groups")
            return
        how = "as the file has them" if grouping is None else "found in the round-trip times"
        sizes = format_names([f"{group.name} ({len(group.hosts)})" for group in groups])
        click.echo(f"{format_count(len(groups), 'group')} {how}: {sizes}", err=True)


def report_stage(result: ProbeResult | UplinkResult, output: str, again: str) -> bool:
    """Print what was measured and written, and the next step; return whether all is measured."""
    cluster, measurement = result.cluster, result.measurement
    if result.interrupted:
        warn(f"interrupted; continue with: {again}")
    for warning in result.warnings:
        warn(f"{warning}; measure them again when the hosts are idle: {again}")
    if isinstance(result, UplinkResult):
        for line in uplink_lines(cluster):
            click.echo(line, err=True)
        what = f"{result.whole} of {result.asked} groups"
    else:
        part = "" if result.sample is None else f" (sampled: {result.sample})"
        what = f"{result.measured} of {result.asked} directed pairs{part}, {result.how}"
    target = "" if output == document.STANDARD_STREAM else f" -> {output}"
    seconds = f"{measurement.seconds:.1f} s of probing"
    click.echo(f"{len(cluster.hosts)} hosts, {what}, {seconds}{target}", err=True)
    is_whole = result.whole == result.asked and not cluster.unreachable
    return is_whole and not (isinstance(result, UplinkResult) and measurement.failures)


def _describe_stage(result: ProbeResult | UplinkResult) -> ProbeStage:
    measurement = result.measurement
    return ProbeStage(
        measurement.tool,
        result.asked,
        result.whole,
        round(measurement.seconds, 3),
        result.interrupted,
        result.warnings,
        measurement.failures,
    )


def _warn_of_gaps(result: ProbeResult | UplinkResult) -> None:
    """Print warnings of hosts that are missing in a result, and of the first missing pairs."""
    failures = result.measurement.failures
    hosts = [failure for failure in failures if failure.destination is None]
    for failure in [*result.cluster.unreachable, *hosts]:
        warn(str(failure))
    pairs = [failure for failure in failures if failure.destination is not None]
    name_some(pairs, "directed pairs, named in the file")
