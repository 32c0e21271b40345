"""`plink kube`: agents in Kubernetes, node labels for tiers, metrics for monitoring."""

from __future__ import annotations

from collections.abc import Sequence

import click

from plink.cli.options import FiniteRange, SectionedCommand, options_of
from plink.cli.verb_group import VerbGroup

_reaching = options_of("Reaching the API server")

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
    from plink.cli.kube_manifests import run  # noqa: PLC0415  seldom needed

    return run(output, image, secret_file, host_network=host_network, as_json=as_json)


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
    # numpy and ssl would slow `--help`.
    from plink.cli.kube_labels import LabelOptions, run  # noqa: PLC0415

    options = LabelOptions(
        keys or _KEYS, overwrite, remove, dry_run, as_json, api, token_file, ca_file, limit_s
    )
    return run(cluster, options)


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
    from plink.cli.kube_metrics import run  # noqa: PLC0415  numpy would slow `--help`

    return run(cluster, output, as_json=as_json)
