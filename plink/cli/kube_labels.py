"""Action of `plink kube labels`: write or remove the labels of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from plink.base.errors import EXIT_PARTIAL, WrongUseError
from plink.base.next_command import next_command
from plink.base.text import format_count
from plink.cli.json_output import print_json_line
from plink.cli.stderr import note, warn
from plink.deploy.kubernetes.access import reach
from plink.deploy.kubernetes.api_server import ApiServer
from plink.deploy.kubernetes.tiers import check_key
from plink.deploy.kubernetes.writing import NodeLabels, Request, remove_labels, write_labels
from plink.files import cluster as cluster_file
from plink.files import document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plink.files.cluster import Cluster

_MOST_NAMED = 3


@dataclass(frozen=True)
class LabelOptions:
    """Options as they were typed."""

    keys: Sequence[str]
    overwrite: bool
    remove: bool
    dry_run: bool
    as_json: bool
    api: str | None
    token_file: str | None
    ca_file: str | None
    limit_s: float


def run(file: str | None, options: LabelOptions) -> int:
    """Write or remove the labels; return the exit code."""
    if options.remove == (file is not None):
        raise click.UsageError("Give a cluster file, or --remove.")
    if len(set(options.keys)) < len(options.keys):
        raise click.UsageError("--key names a label twice.")
    request = Request([check_key(key) for key in options.keys], options.overwrite, options.dry_run)
    cluster = None if file is None else cluster_file.read_cluster(file)
    if cluster is not None and not cluster.groups:
        return _without_groups(cluster, options)
    with reach(options.api, options.token_file, options.ca_file) as access:
        server = ApiServer(access, options.limit_s)
        if cluster is None:
            outcome = remove_labels(server, dry_run=options.dry_run)
        else:
            outcome = write_labels(server, cluster, request)
    if options.as_json:
        print_json_line(outcome)
    else:
        _print(outcome)
    return _warn(outcome)


def _without_groups(cluster: Cluster, options: LabelOptions) -> int:
    """Warn that nodes keep their labels, as the file has no groups."""
    file = document.argument(cluster.source)
    if cluster.grouping is None:
        raise WrongUseError(
            f"{cluster.source}: holds no groups", f"{next_command('group', file)} finds them"
        )
    note(
        f"{cluster.source}: no groups were found, so nodes keep their labels; "
        f"{next_command('kube', 'labels', '--remove')} removes them"
    )
    if options.as_json:
        print_json_line(NodeLabels(options.dry_run))
    return 0


def _print(outcome: NodeLabels) -> None:
    """Print a table of the labelled nodes, and how many changed."""
    header = ["node", *(key.rpartition("/")[2] for key in outcome.keys), ""]
    rows = [
        [node, *(labels.get(key, "-") for key in outcome.keys), _mark(node, outcome)]
        for node, labels in outcome.labels.items()
    ]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows) if rows else ():
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join(cells).rstrip())
    would = "would be " if outcome.dry_run else ""
    parts = [
        f"{format_count(len(outcome.labels), 'node')} with labels",
        f"{len(outcome.changed)} {would}changed",
    ]
    if outcome.cleared:
        parts.append(f"{len(outcome.cleared)} {would}cleared: {_some(outcome.cleared)}")
    if outcome.kept:
        parts.append(f"{len(outcome.kept)} not measured and as before: {_some(outcome.kept)}")
    click.echo(", ".join(parts), err=True)


def _mark(node: str, outcome: NodeLabels) -> str:
    return "changed" if node in outcome.changed else ""


def _warn(outcome: NodeLabels) -> int:
    """Print warnings about nodes that were not labelled; return the exit code."""
    if len(outcome.keys) < outcome.tiers:
        note(
            f"{outcome.tiers} tiers were found, and the widest "
            f"{outcome.tiers - len(outcome.keys)} have no key; add keys with --key"
        )
    if outcome.not_nodes:
        count = format_count(len(outcome.not_nodes), "host")
        warn(
            f"{count} of the file are not nodes of this cluster: {_some(outcome.not_nodes)}",
            "give agents the names of their nodes (plink agent --name)",
        )
    if outcome.gone:
        warn(
            f"{format_count(len(outcome.gone), 'node')} disappeared meanwhile: "
            f"{_some(outcome.gone)}"
        )
    for node, keys in list(outcome.conflicts.items())[:_MOST_NAMED]:
        warn(f"{node}: has labels that plink did not write: {_some(keys)}")
    if outcome.conflicts:
        warn(
            f"{format_count(len(outcome.conflicts), 'node')} with labels that plink did not write",
            "choose other keys with --key, or replace the labels with --overwrite",
        )
    return EXIT_PARTIAL if outcome.not_nodes or outcome.gone or outcome.conflicts else 0


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
