"""`plink predict`: what algorithms are predicted to take in an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from plink.base.errors import WrongUseError
from plink.base.text import json_text
from plink.cli.options import SizeType, with_seed_option
from plink.cli.stderr import console, note
from plink.files import document

if TYPE_CHECKING:
    from plink.files.cluster import Cluster
    from plink.files.order import Order


@click.command(
    epilog="Example: plink predict order.json --cluster cluster.json --size 20MB --algo gloo-ring",
)
@click.argument("file", metavar="ORDER")
@click.option(
    "--size",
    "size_bytes",
    type=SizeType(),
    help="Bytes of the buffer on each rank: 20M or 20MB (10^6), 4KiB (2^10), 1024 (of a mesh's "
    "order, that of other algorithms).",
)
@click.option(
    "--cluster",
    "cluster_name",
    metavar="FILE",
    help="The cluster file that the order was made from.",
)
@click.option(
    "--algo",
    "algorithms",
    metavar="NAME",
    multiple=True,
    help="An algorithm; may be given more than once (default: all that take so many ranks).",
)
@click.option(
    "--objective",
    type=click.Choice(["latency", "contention"]),
    help="Which cost to compare (default: contention where bandwidths are known).",
)
@with_seed_option("Seed of the random orders to compare with.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    *,
    file: str,
    size_bytes: int | None,
    cluster_name: str | None,
    algorithms: Sequence[str],
    objective: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Predict what algorithms take in an order, in the given one and in random ones.

    ORDER is an order file, with the cluster file it was made from as --cluster; or a cluster file,
    which stands for its given order. `-` is standard input.
    """
    # numpy and rich would slow `--help`.
    from plink.files.cluster import is_made_from, no_bandwidth_measured  # noqa: PLC0415
    from plink.optimize.prediction import forecast, to_json  # noqa: PLC0415
    from plink.show.terminal.algorithms import print_forecast  # noqa: PLC0415
    from plink.show.terminal.paper import paper  # noqa: PLC0415

    cluster, order = _read(file, cluster_name)
    size_bytes = _size(size_bytes, order, algorithms)
    stderr = console()
    with stderr.status("") as status:
        found = forecast(
            cluster,
            order,
            size_bytes,
            algorithms=algorithms,
            seed=seed,
            source=document.label(file),
            on_progress=status.update if stderr.is_terminal else None,
        )
    made_from = None if order is None else order.made_from
    if made_from is not None and not is_made_from(made_from, cluster):
        note(f"{document.label(file)} was not made from {cluster.source} as it is now")
    if objective == "contention" and not found.has_times:
        raise no_bandwidth_measured(cluster)
    for assumption in found.assumptions:
        note(assumption)
    if as_json:
        click.echo(json_text(to_json(found)))
    else:
        print_forecast(paper(None).console, found, objective)


def _size(size_bytes: int | None, order: Order | None, algorithms: Sequence[str]) -> int:
    """The size of the buffer, which a mesh has already."""
    if size_bytes is not None:
        return size_bytes
    if order is None or order.mesh is None or algorithms:
        raise click.MissingParameter(param_hint="'--size'", param_type="option")
    return order.mesh.size_bytes


def _read(file: str, cluster_name: str | None) -> tuple[Cluster, Order | None]:
    """The cluster, and the order to predict for beside the given one."""
    from plink.files import cluster as cluster_file  # noqa: PLC0415
    from plink.files import order_file  # noqa: PLC0415

    found = document.read(file)
    source = found.source
    if found.format != order_file.FORMAT:
        if cluster_name is not None:
            raise WrongUseError(f"{source}: is not an order file, so --cluster has no use")
        return cluster_file.from_document(found), None
    order = order_file.from_json(found.data, source)
    if cluster_name is None:
        raise WrongUseError(
            f"{source}: an order file does not hold what was measured",
            "name the cluster file that it was made from with --cluster",
        )
    return cluster_file.read(cluster_name), order
