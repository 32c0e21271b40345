"""Action of `plink probe`: what to measure, where to write it, and what to print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from plink.base.errors import EXIT_PARTIAL, PlinkError, WrongUseError
from plink.base.text import format_count, format_names, join_texts
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
from plink.cli.stderr import naming_unreached, note, warn
from plink.cli.way_options import as_if_typed, take_any_way
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files.cluster import Cluster
from plink.files.hosts import Group
from plink.measure.listed import HostList, apply_recorded_way, list_again, read_hosts
from plink.measure.probing.group_list import read_groups
from plink.measure.probing.request import ProbeRequest, resume_options
from plink.measure.probing.resume import refuse_to_drop
from plink.measure.probing.run import ProbeResult, probe
from plink.measure.probing.tools import DEFAULT_TOOL, TAKEN_BY, TOOLS, UPLINKS, UplinkOptions
from plink.measure.probing.uplinks import UplinkResult
from plink.optimize.groups.certainty import stop_when_groups_are_certain
from plink.probes.calls.listener import Callers, gather
from plink.probes.nics import Nic, parse_nics
from plink.probes.options import SSH, ListenOptions
from plink.probes.reach import Way
from plink.verbs.probe_all import GroupsResult, StageResult, probe_all

# What stands for a host list in messages.
_CALLERS = "the hosts that call"


def run_command(
    options: Mapping[str, Any], given: Mapping[str, str], progress: StageProgress
) -> int:
    """Run `plink probe` with these options; return the exit code.

    Args:
        options: all, by the names of their parameters.
        given: those that the command line gives, and how a user writes them.
        progress: told how far it is.
    """
    refuse_unused(given, options["tool"], f"not {options['tool']}")
    output = choose_output(options)
    request = build_request(options, options["tool"], read_earlier(options), progress)
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
        with naming_unreached():
            probe(request, progress, keep, stop_when_groups_are_certain())
    except KeyboardInterrupt:
        if not codes:
            raise
    if options["as_json"]:
        print_outcome(
            results[0].cluster, results, output=output, again=again, is_partial=codes[0] != 0
        )
    return codes[0]


def refuse_unused(given: Mapping[str, str], tool: str, chosen: str) -> None:
    """Raise for options that would have no effect.

    Args:
        given: the options of the command line, by parameter, and how a user writes them.
        tool: that is to measure.
        chosen: how that came, as the rest of a sentence.

    Raises:
        UsageError: the tool does not accept one of them.
    """
    for name, written in given.items():
        takers = TAKEN_BY.get(name, list(TOOLS))
        if tool not in takers:
            named = join_texts(takers, "or")
            raise click.UsageError(f"{written} applies to --tool {named}, {chosen}.")


def choose_output(options: Mapping[str, Any]) -> str:
    """Return the output file, after all checks that can fail early."""
    output: str | None = options["output"] or options["resume"]
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    refuse_json_beside(output, "the cluster", as_json=options["as_json"])
    document.check_writable(output, has_matrices=True)
    if options["hosts"] is not None:
        document.refuse_same_file(options["hosts"], output)
    return output


def read_earlier(options: Mapping[str, Any]) -> Cluster | None:
    """Return the earlier cluster to continue, if any."""
    resume = options["resume"]
    return None if resume is None else cluster_file.read_cluster(resume)


def build_request(
    options: Mapping[str, Any], tool: str, earlier: Cluster | None, progress: StageProgress
) -> ProbeRequest:
    """Build the request from the command line's options.

    Args:
        options: options of the command line.
        tool: that is to measure.
        earlier: what --resume names.
        progress: told of hosts that call.
    """
    values, resume = dict(options), options["resume"]
    nics = read_nics(values["nics"])
    is_ssh_said = values["via"] == SSH
    given, expected = take_any_way(values), values.pop("expect")
    way: Way = given
    if values["hosts"] is None and earlier is None and isinstance(given, ListenOptions):
        way = callers = _callers(given, expected, progress, strict=values["strict"])
        found = HostList(callers.hosts)
    elif expected is not None:
        raise click.UsageError("--expect needs --listen, and excludes a host list.")
    else:
        found = _listed_hosts(values["hosts"], earlier, resume)
        if earlier is not None:
            given = apply_recorded_way(given, earlier.way, document.label(resume))
        way = given
        if not isinstance(given, ListenOptions):
            way = found.way(given, is_ssh_said=is_ssh_said)
            for text in found.notes:
                warn(text)
            as_if_typed(way)
    listed = found.hosts
    listed_in = document.label(values["hosts"] or resume or _CALLERS)
    values["nics"] = nics or None
    values["groups"] = None
    if tool == UplinkOptions.tool:
        values["groups"] = _groups(
            options["groups"], earlier, {host.name for host in listed}, listed_in
        )
    wanted = {name: values[name] for name in ("network", "interface", "rounds", "seed")}
    how = vars(
        resume_options(earlier, resume or "", tool, select_tool_options(tool, values), **wanted)
    )
    request = ProbeRequest(
        listed,
        found.made_from,
        timeout_s=values["timeout_s"],
        concurrency=values["concurrency"],
        strict=values["strict"],
        way=way,
        earlier=earlier,
        **how,
    )
    if earlier is not None and options["hosts"] is not None and _writes(options, resume):
        refuse_to_drop(earlier, listed, listed_in, resume)
    return request


def _callers(
    options: ListenOptions, expected: int | None, progress: StageProgress, *, strict: bool
) -> Callers:
    """Return the agents that have called, when there is no host list."""
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


def select_tool_options(tool: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of this tool that have a value."""
    names = [field.name for field in fields(TOOLS[tool].options)]
    return {name: values[name] for name in names if values.get(name) is not None}


def read_nics(path: str | None) -> tuple[Nic, ...]:
    """Return the NICs in the file for DPDK; an empty list without a file.

    Raises:
        WrongUseError: the file is not text.
        OptionError: a line is wrong.
    """
    if path is None:
        return ()
    try:
        text = document.read_bytes(path, document.MOST_LIST_BYTES).decode()
    except UnicodeDecodeError:
        raise WrongUseError(f"{path}: is not text in UTF-8") from None
    return parse_nics(text.splitlines(), document.label(path))


def _groups(
    path: str | None, earlier: Cluster | None, names: set[str], listed_in: str
) -> list[Group]:
    """Return the groups whose uplinks to measure: from a file, or from an earlier run."""
    groups = list(() if earlier is None else earlier.groups)
    if path is not None:
        groups = read_groups(path, names, listed_in)
    if not groups:
        raise WrongUseError(
            "measuring uplinks needs groups of hosts",
            "give groups with --groups FILE, a line NAME: HOSTS each, or find them with plink "
            "group CLUSTER",
        )
    return groups


def _writes(options: Mapping[str, Any], path: str) -> bool:
    """Return whether `path` is the output file."""
    output = choose_output(options)
    if document.STANDARD_STREAM in (path, output):
        return False
    try:
        return Path(output).samefile(path)
    except (OSError, ValueError):  # one of them is not there
        return False


def _listed_hosts(hosts: str | None, earlier: Cluster | None, resume: str | None) -> HostList:
    if hosts is not None:
        return read_hosts(hosts)
    if earlier is None or resume is None:
        raise click.UsageError("Missing argument 'HOSTS'.")
    return HostList(list_again(earlier, resume), earlier.made_from)


def run_all_stages(
    options: Mapping[str, Any], given: Mapping[str, str], progress: StageProgress
) -> int:
    """Run `plink probe --all` with these options; return the exit code.

    Args:
        options: all, by the names of their parameters.
        given: those that the command line gives, and how a user writes them.
        progress: told how far it is.
    """
    _refuse_single_stage(given)
    output, earlier = choose_output(options), read_earlier(options)
    tool = options["tool"]
    if earlier is not None and earlier.rtt is not None and earlier.rtt.tool in TOOLS:
        tool = earlier.rtt.tool
    request = build_request(options, tool, earlier, progress)
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


def _refuse_single_stage(given: Mapping[str, str]) -> None:
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
