"""`plink probe` behind its options: what to measure, where to write it, what to say."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from plink.base.errors import EXIT_PARTIAL, PlinkError, WrongUseError
from plink.cli.progress import StageProgress
from plink.cli.resume_command import resume_command
from plink.cli.ssh_options import take_ssh_options
from plink.cli.stderr import name_some, naming_unreached, warn
from plink.cli.transfer_options import take_transfers
from plink.cli.uplinks_action import chosen_groups, report_uplinks
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files.bandwidth import BandwidthMeasurement
from plink.files.cluster import Cluster
from plink.files.groups import UplinkMeasurement
from plink.files.measurement import Measurement
from plink.measure.probing.limits import UPLINKS
from plink.measure.probing.nics import read_nics, refuse_unlisted, same_nics
from plink.measure.probing.request import ProbeRequest
from plink.measure.probing.resume import (
    check_resumable,
    hosts_of,
    recorded_count,
    recorded_precision,
    refuse_to_drop,
    same_interface,
    same_network,
    same_sample,
)
from plink.measure.probing.run import ProbeResult, probe
from plink.measure.probing.uplinks import UplinkResult
from plink.optimize.groups.question import group_question
from probes.hosts.host import ListedHost
from probes.hosts.slurm import parse_allocation
from probes.hosts.source import parse_hosts

# In place of a host list: the hosts of the Slurm job that plink runs in.
_ALLOCATION = "@slurm"


def run_command(options: Mapping[str, Any], progress: StageProgress) -> int:
    """Carry out `plink probe` with these options; return the exit code."""
    request, output = prepared(options, go_on)
    return _run(request, output, progress)


def prepared(
    options: Mapping[str, Any], take_over: Callable[[dict[str, Any], Cluster, str], None]
) -> tuple[ProbeRequest, str]:
    """What is asked for, and the file to write, after all that can be refused early.

    Args:
        options: of the command line.
        take_over: changes them to go on with an earlier cluster, which was read from a file.
    """
    values = dict(options)
    hosts, output, resume = (values.pop(name) for name in ("hosts", "output", "resume"))
    output = output or resume
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    document.check_writable(output)
    if hosts is not None:
        document.refuse_same_file(hosts, output)
    values["ssh"] = take_ssh_options(values)
    values["transfers"] = take_transfers(values)
    values["reading"] = values.pop("percentile")
    values["nics"] = read_nics(values["nics"])
    earlier: Cluster | None = None
    if resume is not None:
        earlier = cluster_file.read(resume)
        take_over(values, earlier, resume)
    values["seed"] = values["seed"] or 0
    listed, made_from = _listed_hosts(hosts, earlier, resume)
    refuse_unlisted(values["nics"], listed)
    values["groups"] = chosen_groups(
        values["groups"],
        values["tool"],
        earlier,
        {host.name for host in listed},
        document.label(hosts if hosts is not None else resume),
    )
    if earlier is not None and hosts is not None and _is_same_file(output, resume):
        refuse_to_drop(earlier, listed, document.label(hosts), resume)
    return ProbeRequest(listed, made_from, earlier=earlier, **values), output


def go_on(values: dict[str, Any], earlier: Cluster, resume: str) -> None:
    """Take over the options of an earlier run."""
    before: Measurement | None = earlier.uplinks
    if values["tool"] != UPLINKS:
        before = check_resumable(earlier, resume, tool=values["tool"], reading=values["reading"])
    if before is not None:
        values["count"] = values["count"] or recorded_count(before.options)
        if values["precision_percent"] is None:
            values["precision_percent"] = recorded_precision(before.options)
        values["nics"] = same_nics(before.options, values["nics"], resume)
    if isinstance(before, (BandwidthMeasurement, UplinkMeasurement)):
        values["transfers"] = values["transfers"].going_on(before.options, resume)
    # Hosts at other addresses than before would count as moved, and lose what is known of them.
    others = (earlier.rtt, earlier.bandwidth, earlier.routes, earlier.uplinks)
    known = before or next((other for other in others if other is not None), None)
    if known is not None:
        values["network"] = same_network(known.options, values["network"], resume)
        values["interface"] = same_interface(known.options, values["interface"], resume)
        values |= same_sample(known, values["rounds"], values["seed"], resume)


def _run(request: ProbeRequest, output: str, progress: StageProgress) -> int:
    codes: list[int] = []

    def keep(result: ProbeResult | UplinkResult) -> None:
        warn_of_gaps(result.cluster, result.measurement)
        if result.measured == 0:
            what = "group" if isinstance(result, UplinkResult) else "pair of hosts"
            raise PlinkError(f"no {what} could be measured", "the warnings above say why")
        cluster_file.write(output, result.cluster)
        if isinstance(result, UplinkResult):
            codes.append(report_uplinks(result, output))
        else:
            codes.append(
                report_pairs(result, output, resume_command(result.measurement.tool, output))
            )

    try:
        with naming_unreached():
            probe(request, progress, keep, group_question())
    except KeyboardInterrupt:
        if not codes:
            raise
    return codes[0]


def _is_same_file(one: str, other: str) -> bool:
    if document.STANDARD_STREAM in (one, other):
        return False
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):  # one of them is not there
        return False


def _listed_hosts(
    hosts: str | None, earlier: Cluster | None, resume: str | None
) -> tuple[list[ListedHost], str | None]:
    if hosts == _ALLOCATION:
        return parse_allocation(os.environ), None
    if hosts is not None:
        content = document.read_bytes(hosts)
        source = document.label(hosts)
        if content.lstrip().startswith(b"{") and b'"plink.' in content:
            raise WrongUseError(
                f"{source}: is JSON, not a host list",
                "a cluster file is given with --resume, or with --check",
            )
        return parse_hosts(content, source), document.digest(content)
    if earlier is None or resume is None:
        raise click.UsageError("Missing argument 'HOSTS'.")
    return hosts_of(earlier, resume), earlier.made_from


def report_pairs(result: ProbeResult, output: str, again: str) -> int:
    """Say what was found, which is written by now, and what goes on; return the exit code."""
    cluster = result.cluster
    if result.interrupted:
        warn(f"interrupted; go on with: {again}")
    for doubt in result.doubts:
        warn(f"{doubt}; measure them again when it is quiet: {again}")
    part = "" if result.sample is None else f" (sampled: {result.sample})"
    where = "" if output == document.STANDARD_STREAM else f" -> {output}"
    click.echo(
        f"{len(cluster.hosts)} hosts, {result.measured} of {result.asked} directed pairs{part}, "
        f"{result.how}, {result.measurement.seconds:.1f} s of probing{where}",
        err=True,
    )
    is_whole = result.measured == result.asked and not cluster.unreachable
    return 0 if is_whole else EXIT_PARTIAL


def warn_of_gaps(cluster: Cluster, measurement: Measurement) -> None:
    """Name the hosts that are missing, and the first of the pairs."""
    hosts = [failure for failure in measurement.failures if failure.destination is None]
    for failure in [*cluster.unreachable, *hosts]:
        warn(f"{failure.source}: {failure.reason}")
    pairs = [failure for failure in measurement.failures if failure.destination is not None]
    name_some(pairs, "directed pairs, named in the file")
