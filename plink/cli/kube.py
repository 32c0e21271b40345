"""`plink kube`: agents in Kubernetes, node labels for tiers, metrics for monitoring."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plink.base.errors import EXIT_PARTIAL, WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.next_command import next_command
from plink.base.text import format_count
from plink.cli.json_output import print_json_line, refuse_json_beside
from plink.cli.options import FiniteRange, SectionedCommand, make_section_option
from plink.cli.stderr import note, read_kept_secret, warn
from plink.cli.verb_group import VerbGroup

with lazy_imports():
    from plink.deploy.kubernetes import access as kubernetes_access
    from plink.deploy.kubernetes import api_server, folder, tiers, writing
    from plink.deploy.kubernetes import metrics as kubernetes_metrics
    from plink.formats import cluster as cluster_file
    from plink.formats import document, outputs
    from plink.transport import proofs

if TYPE_CHECKING:
    from plink.formats.cluster import Cluster


_reaching = make_section_option("Reaching the API server")

# Those of topograph since 1.0.
_KEYS = ("fabric.topograph.run/tier-{tier}",)


@click.group(
    cls=VerbGroup,
    no_args_is_help=True,
    epilog="Example: plink kube manifests -o plink-kube --image plink:0.1.0 && "
    "kubectl apply -k plink-kube",
)
def command() -> None:
    """Measure the nodes of a Kubernetes cluster, and label them for schedulers."""


@command.command(
    short_help="Write the manifests of agents and prober.",
    epilog="Example: plink kube manifests -o plink-kube --image registry:5000/plink:0.1.0",
)
@click.option("-o", "--output", metavar="FOLDER", required=True, help="New folder for the files.")
@click.option("--image", metavar="IMAGE", required=True, help="Container image of plink.")
@click.option(
    "--host-network", is_flag=True, help="Measure the network of the nodes, not that of pods."
)
@click.option(
    "--secret-file", metavar="FILE", help="File with the secret to use.  [default: a new secret]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the names of the files as JSON.")
def manifests(
    output: str, *, image: str, host_network: bool, secret_file: str | None, as_json: bool
) -> int:
    """Write manifests for kubectl apply -k: agents on all nodes, and a job that measures them.

    The folder holds the secret that agents and prober know. The job runs once a day; the files say
    how to run it at once.
    """
    return _write_manifests(output, image, secret_file, host_network=host_network, as_json=as_json)


@command.command(
    cls=SectionedCommand,
    short_help="Label nodes with their network tiers.",
    epilog="Example: plink kube labels cluster.json --dry-run",
)
@click.argument("cluster", metavar="[CLUSTER]", required=False)
@click.option(
    "--key",
    "keys",
    metavar="KEY",
    multiple=True,
    help=f"Label key, once for each tier, the nearest first; {{tier}} stands for the tier's "
    f"number, from 0.  [default: {', '.join(_KEYS)}]",
)
@click.option("--overwrite", is_flag=True, help="Replace labels that plink did not write.")
@click.option("--remove", is_flag=True, help="Remove all labels that plink has written.")
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print labels and changes as JSON.")
@_reaching(
    "--api",
    metavar="URL",
    help="URL of the API server.  [default: that of the cluster whose pod this is, or the one "
    "kubectl uses]",
)
@_reaching("--token-file", metavar="FILE", help="With --api: file with the token to use.")
@_reaching(
    "--ca-file",
    metavar="FILE",
    help="With --api: file with the authority of the server's certificate.",
)
@_reaching(
    "--timeout",
    "limit_s",
    type=FiniteRange(min=0.0, max=3600.0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds to retry a request.",
)
def labels(
    cluster: str | None,
    *,
    keys: Sequence[str],
    overwrite: bool,
    remove: bool,
    dry_run: bool,
    as_json: bool,
    api: str | None,
    token_file: str | None,
    ca_file: str | None,
    limit_s: float,
) -> int:
    """Label nodes with the network tiers that a cluster file shows.

    Nodes are found by the names of hosts, or by their addresses. Values stay as they are where
    groups do. Labels that something else has written are neither changed nor removed, and named
    with exit code 3; nodes of hosts that could not be measured keep what they have.
    """
    options = LabelOptions(
        keys or _KEYS, overwrite, remove, dry_run, as_json, api, token_file, ca_file, limit_s
    )
    return _label_nodes(cluster, options)


@command.command(
    short_help="Print a measurement's metrics for Prometheus.",
    epilog="Example: plink kube metrics cluster.json -o /var/lib/node_exporter/plink.prom",
)
@click.argument("cluster", metavar="CLUSTER")
@click.option("-o", "--output", metavar="FILE", help="File to write (default: stdout).")
@click.option("--json", "as_json", is_flag=True, help="Print the metrics as JSON.")
def metrics(cluster: str, *, output: str | None, as_json: bool) -> int:
    """Print a measurement's metrics in Prometheus' text format.

    For the textfile collector of its node exporter, or a push gateway.
    """
    return _print_metrics(cluster, output, as_json=as_json)


_MOST_NAMED = 3


@dataclass(frozen=True)
class LabelOptions:
    """Options of `plink kube labels` as they were typed."""

    keys: Sequence[str]
    overwrite: bool
    remove: bool
    dry_run: bool
    as_json: bool
    api: str | None
    token_file: str | None
    ca_file: str | None
    limit_s: float


def _label_nodes(file: str | None, options: LabelOptions) -> int:
    """Write or remove the labels of nodes; return the exit code."""
    if options.remove == (file is not None):
        raise click.UsageError("Give a cluster file, or --remove.")
    if len(set(options.keys)) < len(options.keys):
        raise click.UsageError("--key names a label twice.")
    request = writing.Request(
        [tiers.check_key(key) for key in options.keys], options.overwrite, options.dry_run
    )
    cluster = None if file is None else cluster_file.read_cluster(file)
    if cluster is not None and not cluster.groups:
        return _warn_without_groups(cluster, options)
    with kubernetes_access.reach(options.api, options.token_file, options.ca_file) as access:
        server = api_server.ApiServer(access, options.limit_s)
        if cluster is None:
            outcome = writing.remove_labels(server, dry_run=options.dry_run)
        else:
            outcome = writing.write_labels(server, cluster, request)
    if options.as_json:
        print_json_line(outcome)
    else:
        _print_labels(outcome)
    return _warn_of_conflicts(outcome)


def _warn_without_groups(cluster: Cluster, options: LabelOptions) -> int:
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
        print_json_line(writing.NodeLabels(options.dry_run))
    return 0


def _print_labels(outcome: writing.NodeLabels) -> None:
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


def _mark(node: str, outcome: writing.NodeLabels) -> str:
    return "changed" if node in outcome.changed else ""


def _warn_of_conflicts(outcome: writing.NodeLabels) -> int:
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


def _write_manifests(
    output: str, image: str, secret_file: str | None, *, host_network: bool, as_json: bool
) -> int:
    """Write the folder of Kubernetes manifests; return the exit code."""
    content = folder.files(image, host_network=host_network)
    secret = proofs.new_secret() if secret_file is None else read_kept_secret(secret_file)
    whole = {name: text.encode() for name, text in content.items()} | {
        folder.SECRET: secret + b"\n"
    }
    folder.write(Path(output), whole)
    names = sorted(whole)
    if as_json:
        print_json_line(outputs.Manifests(output, names))
    note(f"{len(names)} files -> {output}; next: kubectl apply -k {shlex.quote(output)}")
    return 0


def _print_metrics(file: str, output: str | None, *, as_json: bool) -> int:
    """Print the Prometheus metrics or write them to a file; return the exit code."""
    if output is None:
        output = None if as_json else document.STANDARD_STREAM
    if output is not None:
        refuse_json_beside(output, "the figures", as_json=as_json)
        document.check_writable(output)
        document.refuse_same_file(file, output)
    cluster = cluster_file.read_cluster(file)
    if output is not None:
        document.write_bytes(output, kubernetes_metrics.render(cluster).encode())
    if as_json:
        structs: Mapping[tuple[str, ...], Callable[..., Any]] = {
            (): outputs.Metric,
            ("tier",): outputs.TierMetric,
            ("host",): outputs.HostMetric,
        }
        metrics = {
            name: [structs[tuple(labels)](**labels, value=value) for labels, value in values]
            for name, _, values in kubernetes_metrics.families(cluster)
        }
        print_json_line(outputs.Metrics(**metrics))
    return 0
