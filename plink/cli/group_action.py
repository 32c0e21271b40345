"""`plink group` behind the command line: read, group, write, and say how sure it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import click
from rich.console import Console

from plink.base.errors import EXIT_PARTIAL, WrongUseError
from plink.base.text import counted
from plink.cli.stderr import note, warn
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files.cluster import Cluster, measured_rtt
from plink.files.groups import Group
from plink.measure.probing.group_list import read_groups
from plink.model.capacity import capacity
from plink.optimize.groups.finding import (
    DEFAULT_ELASTICITY,
    Found,
    GroupRequest,
    find_groups,
    with_groups,
)
from plink.optimize.groups.truth import Judgement, judge
from plink.show.terminal.groups import group_lines, grouping_lines, groups_to_json, judgement_lines


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    file: str
    output: str | None
    groups: int | None
    elasticity: float | None
    method: str
    truth: str | None
    seed: int
    as_json: bool

    @property
    def target(self) -> str:
        """Where the cluster goes."""
        return self.file if self.output is None else self.output


def run(request: Request) -> int:
    """Do it; return the exit code.

    Raises:
        WrongUseError: wrong options, or a file without round-trip times and bandwidths.
    """
    wanted = _check(request)
    cluster = cluster_file.read(request.file)
    source = document.label(request.file)
    if cluster.bandwidth is None:
        measured_rtt(cluster, source)
    truth = [] if request.truth is None else read_groups(request.truth, cluster.names, source)
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with console.status("") as status:
        found = find_groups(
            cluster,
            wanted,
            needs_points=bool(truth),
            on_progress=status.update if console.is_terminal else None,
        )
    judgement = judge(cluster, found, truth) if truth else None
    grouped = with_groups(cluster, found)
    if found.groups or request.output is not None:
        cluster_file.write(request.target, grouped)
    _report(request, grouped, found, judgement)
    lost = _lost_uplinks(cluster, grouped)
    if lost and found.groups:
        note(
            f"what was measured of {counted(lost, 'uplink')} is of groups that are gone: "
            "plink probe --resume FILE --tool uplinks measures these"
        )
    if found.grouping.unmeasured:
        warn(
            f"{counted(len(found.grouping.unmeasured), 'host')} with too few measurements to be "
            f"placed: {', '.join(found.grouping.unmeasured[:5])}",
            "plink probe --resume measures what is missing",
        )
    return EXIT_PARTIAL if found.grouping.unmeasured or found.is_too_sparse else 0


def _check(request: Request) -> GroupRequest:
    """Refuse early what cannot end well."""
    method = request.method
    if request.elasticity is not None:
        if method == "levels":
            raise WrongUseError(
                "--elasticity is for --method linkage or kmeans",
                "levels takes the sizes of groups as they are",
            )
        if method == "auto" and request.groups is None:
            method = "linkage"
    document.check_writable(request.target)
    if request.as_json and request.target == document.STANDARD_STREAM:
        raise WrongUseError(
            "--json and the cluster both want standard output", "give the file a name with -o"
        )
    if request.truth is not None and request.output is not None:
        document.refuse_same_file(request.truth, request.output)
    return GroupRequest(
        method=method,
        groups=request.groups,
        elasticity=DEFAULT_ELASTICITY if request.elasticity is None else request.elasticity,
        seed=request.seed,
    )


def _report(request: Request, cluster: Cluster, found: Found, judgement: Judgement | None) -> None:
    known = capacity(cluster, found.groups)
    if request.as_json:
        data = groups_to_json(cluster, known, judgement)
        text = json.dumps(data, ensure_ascii=False)
        document.write_bytes(document.STANDARD_STREAM, f"{text}\n".encode())
        lines: Sequence[str] = []
    else:
        lines = [
            *(group_lines(cluster, known) or grouping_lines(cluster, found.grouping)),
            *(judgement_lines(judgement) if judgement is not None else ()),
        ]
    # The table is data, but the file may want the same stream.
    to_stderr = request.target == document.STANDARD_STREAM
    for line in lines:
        click.echo(line, err=to_stderr)
    for text in found.grouping.notes:
        note(text)
    if not found.groups:
        note(_no_groups(request, found, cluster.groups))
    elif not request.as_json:
        for text in known.assumptions:
            note(text)


def _no_groups(request: Request, found: Found, before: Sequence[Group]) -> str:
    """Why there are none, and what that means for the file."""
    if request.groups is not None and found.grouping.levels:
        shown = ", ".join(str(len(level)) for level in found.grouping.levels)
        said = f"the distances show {shown} groups, not {request.groups}"
    elif found.is_too_sparse:
        said = "no groups can be told from so few pairs"
    else:
        said = "no structure found"
        if found.grouping.rival:
            said += f": {found.grouping.rival}"
    if request.output is None:
        kept = "; its groups stay" if before else ""
        said += f"; {document.label(request.file)} is as it was{kept}"
    return said


def _lost_uplinks(before: Cluster, after: Cluster) -> int:
    return _uplinks(before) - _uplinks(after)


def _uplinks(cluster: Cluster) -> int:
    return 0 if cluster.uplinks is None else len(cluster.uplinks.uplinks)
