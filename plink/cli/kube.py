"""`plink kube`: agents in Kubernetes, node labels for tiers, metrics for monitoring."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

import click

from plink.base.errors import EXIT_PARTIAL, WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.next_command import next_command
from plink.base.request import option
from plink.base.text import MOST_NAMED, format_count, format_names
from plink.cli.json_output import check_output, json_option, print_json_line
from plink.cli.options import SectionedCommand, VerbGroup
from plink.cli.request_options import with_request
from plink.cli.stderr import note, read_kept_secret, warn

with lazy_imports():
    from plink.deploy.kubernetes import access as kubernetes_access
    from plink.deploy.kubernetes import api_server, folder, tiers, writing
    from plink.deploy.kubernetes import metrics as kubernetes_metrics
    from plink.formats import cluster as cluster_file
    from plink.formats import document, outputs
    from plink.show import tables
    from plink.transport import proofs


_REACHING = "Reaching the API server"

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
@json_option("Print the names of the files as JSON.")
def manifests(
    output: str, *, image: str, host_network: bool, secret_file: str | None, as_json: bool
) -> int:
    """Write manifests for kubectl apply -k: agents on all nodes, and a job that measures them.

    The folder holds the secret that agents and prober know. The job runs once a day; the files say
    how to run it at once.
    """
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


@dataclass(frozen=True, kw_only=True)
class LabelRequest:
    """Options of `plink kube labels`: label keys, what to replace or remove, and the API server."""

    keys: tuple[str, ...] = option(
        (),
        "--key",
        kind="texts",
        metavar="KEY",
        help="Label key, once for each tier, the nearest first; {tier} stands for the tier's "
        f"number, from 0.  [default: {', '.join(_KEYS)}]",
    )
    overwrite: bool = option(False, help="Replace labels that plink did not write.")
    remove: bool = option(False, help="Remove all labels that plink has written.")
    dry_run: bool = option(False, help="Print what would change, and change nothing.")
    api: str | None = option(
        None,
        metavar="URL",
        section=_REACHING,
        help="URL of the API server.  [default: that of the cluster whose pod this is, or the one "
        "kubectl uses]",
    )
    token_file: str | None = option(
        None, metavar="FILE", section=_REACHING, help="With --api: file with the token to use."
    )
    ca_file: str | None = option(
        None,
        metavar="FILE",
        section=_REACHING,
        help="With --api: file with the authority of the server's certificate.",
    )
    timeout_s: float = option(
        60.0,
        "--timeout",
        low=0.0,
        high=3600.0,
        metavar="SECONDS",
        section=_REACHING,
        help="Seconds to retry a request.",
    )


@command.command(
    cls=SectionedCommand,
    short_help="Label nodes with their network tiers.",
    epilog="Example: plink kube labels cluster.json --dry-run",
)
@click.argument("cluster", metavar="[CLUSTER]", required=False)
@with_request(LabelRequest)
@json_option("Print labels and changes as JSON.")
def labels(cluster: str | None, *, request: LabelRequest, as_json: bool) -> int:
    """Label nodes with the network tiers that a cluster file shows.

    Nodes are found by the names of hosts, or by their addresses. Values stay as they are where
    groups do. Labels that something else has written are neither changed nor removed, and named
    with exit code 3; nodes of hosts that could not be measured keep what they have.
    """
    if request.remove == (cluster is not None):
        raise click.UsageError("Give a cluster file to label nodes from, or --remove.")
    keys = [tiers.check_key(key) for key in request.keys or _KEYS]
    if len(set(keys)) < len(keys):
        raise click.UsageError("--key names the same label twice.")
    known = None if cluster is None else cluster_file.read_cluster(cluster)
    if known is not None and not known.groups:
        _note_no_groups(known)
        outcome = writing.NodeLabels(request.dry_run)
        if as_json:
            print_json_line(outcome)
        return 0
    with kubernetes_access.reach(request.api, request.token_file, request.ca_file) as access:
        server = api_server.ApiServer(access, request.timeout_s)
        if known is None:
            outcome = writing.remove_labels(server, dry_run=request.dry_run)
        else:
            wanted = writing.Request(keys, request.overwrite, request.dry_run)
            outcome = writing.write_labels(server, known, wanted)
    if as_json:
        print_json_line(outcome)
    else:
        _print_labels(outcome)
    return _warn_of_conflicts(outcome)


@command.command(
    short_help="Print a measurement's metrics for Prometheus.",
    epilog="Example: plink kube metrics cluster.json -o /var/lib/node_exporter/plink.prom",
)
@click.argument("cluster", metavar="CLUSTER")
@click.option("-o", "--output", metavar="FILE", help="File to write (default: stdout).")
@json_option("Print the metrics as JSON.")
def metrics(cluster: str, *, output: str | None, as_json: bool) -> int:
    """Print a cluster file's measurements as metrics in Prometheus' text format.

    For the textfile collector of its node exporter, or a push gateway.
    """
    if output is None:
        output = None if as_json else document.STANDARD_STREAM
    check_output(output, "the figures", cluster, as_json=as_json)
    known = cluster_file.read_cluster(cluster)
    if output is not None:
        document.write_bytes(output, kubernetes_metrics.render(known).encode())
    if as_json:
        print_json_line(
            {
                name: [{**labels, "value": value} for labels, value in values]
                for name, _, values in kubernetes_metrics.families(known)
            }
        )
    return 0


def _note_no_groups(cluster: cluster_file.Cluster) -> None:
    """Print that no groups mean no changed labels; raise if groups were never looked for."""
    if cluster.grouping is None:
        file = document.argument(cluster.source)
        raise WrongUseError(
            f"{cluster.source}: has no groups of hosts", f"{next_command('group', file)} finds them"
        )
    note(
        f"{cluster.source}: no groups were found, so nodes keep their labels; "
        f"{next_command('kube', 'labels', '--remove')} removes them"
    )


def _print_labels(outcome: writing.NodeLabels) -> None:
    """Print a table of the labelled nodes, and how many changed."""
    header = ["node", *(key.rpartition("/")[2] for key in outcome.keys), ""]
    rows = [
        (
            node,
            *(labels.get(key, "-") for key in outcome.keys),
            "changed" if node in outcome.changed else "",
        )
        for node, labels in outcome.labels.items()
    ]
    columns = [
        tables.Column(heading, itemgetter(place), is_text=True)
        for place, heading in enumerate(header)
    ]
    for line in tables.table_lines(columns, rows) if rows else ():
        click.echo(line)
    would = "would be " if outcome.dry_run else ""
    parts = [
        f"{format_count(len(outcome.labels), 'node')} with labels",
        f"{len(outcome.changed)} {would}changed",
    ]
    if outcome.cleared:
        parts.append(f"{len(outcome.cleared)} {would}cleared: {format_names(outcome.cleared)}")
    if outcome.kept:
        parts.append(
            f"{len(outcome.kept)} not measured and as before: {format_names(outcome.kept)}"
        )
    click.echo(", ".join(parts), err=True)


def _warn_of_conflicts(outcome: writing.NodeLabels) -> int:
    """Print warnings about nodes that were not labelled; return the exit code."""
    if len(outcome.keys) < outcome.tiers:
        note(
            f"{outcome.tiers} network tiers were found, and the widest "
            f"{outcome.tiers - len(outcome.keys)} have no label; name labels with --key"
        )
    if outcome.not_nodes:
        count = format_count(len(outcome.not_nodes), "host")
        warn(
            f"{count} of the file are no Kubernetes nodes: {format_names(outcome.not_nodes)}",
            "give agents the names of their nodes (plink agent --name)",
        )
    if outcome.gone:
        warn(
            f"{format_count(len(outcome.gone), 'node')} disappeared meanwhile: "
            f"{format_names(outcome.gone)}"
        )
    for node, keys in list(outcome.conflicts.items())[:MOST_NAMED]:
        warn(f"{node}: has labels that plink did not write: {format_names(keys)}")
    if outcome.conflicts:
        warn(
            f"{format_count(len(outcome.conflicts), 'node')} with labels that plink did not write",
            "choose other keys with --key, or replace the labels with --overwrite",
        )
    return EXIT_PARTIAL if outcome.not_nodes or outcome.gone or outcome.conflicts else 0
