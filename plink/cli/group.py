"""`plink group`: find the groups of near hosts in a cluster file, and write them into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from plink.base.errors import EXIT_PARTIAL
from plink.base.lazy import lazy_imports
from plink.base.next_command import next_command
from plink.base.replacing import replace
from plink.base.text import format_count, format_names
from plink.cli.json_output import check_output, json_option, print_json_line
from plink.cli.options import given_options
from plink.cli.progress import status_line
from plink.cli.request_options import with_request
from plink.cli.stderr import note, warn
from plink.formats import document
from plink.optimize.groups.request import GroupRequest

with lazy_imports():
    from rich import console as rich_console

    from plink.formats import cluster as cluster_file
    from plink.measure.probing import group_list
    from plink.model import network
    from plink.optimize.groups import finding
    from plink.optimize.groups import truth as groups_truth
    from plink.show import groups as show_groups
    from plink.verbs import common as verb_common


@click.command(epilog="Example: plink group cluster.json --truth racks.txt")
@click.argument("file", metavar="CLUSTER")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Cluster file to write, with the groups (default: CLUSTER).",
)
@with_request(GroupRequest)
@click.option(
    "--truth",
    metavar="FILE",
    help="File with the true positions of the hosts, to compare the groups with: a line "
    "row1/rack3: HOSTS each, or a topology of Slurm or topograph (also topograph:URL).",
)
@click.option(
    "--given",
    metavar="FILE",
    help="File with groups to use instead of finding any: as for --truth, or a line NAME: "
    "HOSTS each.",
)
@json_option("Print groups and capacities as JSON.")
@click.pass_context
def command(
    context: click.Context,
    /,
    file: str,
    *,
    output: str | None,
    truth: str | None,
    given: str | None,
    as_json: bool,
    request: GroupRequest,
) -> int:
    """Find the groups of hosts that are near each other, and write them into the cluster file.

    Where the distances show no groups it says so, and the file remembers that. `-` is standard
    input or output.
    """
    target = file if output is None else output
    if given is not None:
        _refuse_finding(given_options(context))
    check_output(target, "the cluster", as_json=as_json, has_matrices=True)
    for source in (truth, given):
        if source is not None and output is not None:
            document.refuse_same_file(source, output)
    cluster = cluster_file.read_cluster(file)
    if given is not None:
        return _take_over(cluster, given, target, as_json=as_json)
    known = []
    if truth is not None:
        known = group_list.read_groups(truth, cluster.names, cluster.source, are_positions=True)
    with status_line() as show:
        tell = verb_common.report_stages(show)
        found = finding.find_groups(cluster, request, needs_points=bool(known), on_progress=tell)
    judgement = groups_truth.judge(cluster, found, known) if known else None
    grouped = finding.with_groups(cluster, found)
    # An answer without groups is kept, too, but not in place of groups that are there.
    is_written = bool(found.groups) or output is not None or not cluster.groups
    if is_written:
        cluster_file.write_cluster(target, grouped)
        grouped = replace(grouped, source=document.label(target))
    assumptions = _print(grouped, judgement, target, as_json=as_json)
    for text in found.grouping.notes:
        note(text)
    if not found.groups:
        said = _explain_no_groups(found, request.k)
        note(said if is_written else f"{said}; {cluster.source} is as it was; its groups stay")
    for text in assumptions if found.groups and not as_json else ():
        note(text)
    file = document.argument(grouped.source)
    lost = _count_uplinks(cluster) - _count_uplinks(grouped)
    if lost and found.groups:
        again = next_command("probe", "--resume", file, "--tool", "uplinks", way=cluster.way)
        note(
            f"{format_count(lost, 'uplink')} belonged to groups that no longer exist: "
            f"{again} measures these"
        )
    if found.grouping.unmeasured:
        warn(
            f"{format_count(len(found.grouping.unmeasured), 'host')} with too few measurements to "
            f"be put into a group: {format_names(found.grouping.unmeasured)}",
            f"{next_command('probe', '--resume', file, way=cluster.way)} measures what is missing",
        )
    return EXIT_PARTIAL if found.grouping.unmeasured or found.is_too_sparse else 0


def _refuse_finding(options: Mapping[str, str]) -> None:
    """Raise UsageError if an option for finding groups is given together with --given."""
    for name, written in options.items():
        if name not in {"file", "output", "given", "as_json"}:
            raise click.UsageError(f"{written} applies to finding groups, and excludes --given.")


def _take_over(cluster: cluster_file.Cluster, given: str, target: str, *, as_json: bool) -> int:
    """Write groups from a file into the cluster file, and print them; return the exit code."""
    groups, domains = group_list.read_given_groups(given, cluster.names, cluster.source)
    grouped = finding.with_given_groups(cluster, groups, domains)
    cluster_file.write_cluster(target, grouped)
    assumptions = _print(grouped, None, target, as_json=as_json)
    for text in () if as_json else assumptions:
        note(text)
    placed = {host for group in groups for host in group.hosts}
    absent = [name for name in cluster.names if name not in placed]
    if absent:
        count, source = format_count(len(absent), "host"), document.label(given)
        warn(f"{count} in no group of {source}: {format_names(absent)}")
    return EXIT_PARTIAL if absent else 0


def _print(
    cluster: cluster_file.Cluster,
    judgement: groups_truth.Judgement | None,
    target: str,
    *,
    as_json: bool,
) -> Sequence[str]:
    """Print the groups and their uplinks; return the assumptions made."""
    known = network.capacity(cluster, cluster.groups, unknown_gbit_s=network.USUAL_LINK_GBIT_S)
    if as_json:
        print_json_line(show_groups.describe_groups(cluster, known, judgement))
        return known.assumptions
    # The table is data, but the file may want the same stream.
    to_stderr = target == document.STANDARD_STREAM
    screen = rich_console.Console(stderr=to_stderr)
    # Into a file or a pipe a group is a line.
    lines = show_groups.group_lines(cluster, known, screen.width if screen.is_terminal else None)
    for line in [*lines, *(show_groups.judgement_lines(judgement) if judgement else ())]:
        click.echo(line, err=to_stderr)
    return known.assumptions


def _explain_no_groups(found: finding.FoundGroups, wanted: int | None) -> str:
    """Return why no groups were found, as a sentence."""
    if wanted is not None and found.grouping.levels:
        shown = ", ".join(str(len(level)) for level in found.grouping.levels)
        return f"the distances show {shown} groups, not {wanted}"
    if found.is_too_sparse:
        return "no groups can be told from so few pairs"
    rival = f": {found.grouping.rival}" if found.grouping.rival else ""
    return f"no structure found{rival}"


def _count_uplinks(cluster: cluster_file.Cluster) -> int:
    return 0 if cluster.uplinks is None else len(cluster.uplinks.uplinks)
