"""`plink predict`: predict the times of algorithms in an order, or of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.cli.json_output import print_json_line
from plink.cli.options import CollectivesType, SizeType, with_distances_option, with_seed_option
from plink.cli.stderr import console, note
from plink.files import document

with lazy_imports():
    from plink.files import cluster as files_cluster
    from plink.files import order as order_file
    from plink.files import order_basis
    from plink.files import plan as plan_file
    from plink.measure.importing import described as importing_described
    from plink.optimize import prediction
    from plink.optimize.plans import forecasting
    from plink.show.terminal import paper, predictions

if TYPE_CHECKING:
    from plink.files.cluster import Cluster
    from plink.files.order import Order
    from plink.files.plan import Plan
    from plink.optimize.plans.forecasting import PlanForecast


@click.command(
    epilog="Example: plink predict --network net.toml --size 20MB. "
    "Example: plink predict order.json --cluster cluster.json --size 20MB --algo "
    "gloo-ring. Example: plink predict plan.json --cluster cluster.json --collective all-gather",
)
@click.argument("file", metavar="[ORDER|PLAN]", required=False)
@click.option(
    "--network",
    "network_name",
    metavar="FILE.toml",
    help="File that describes a network, instead of a cluster file: hosts, groups, rates, "
    "latencies, costs of clients.",
)
@click.option(
    "--size",
    "size_bytes",
    type=SizeType(),
    help="Bytes of the whole buffer, on each rank before or after the collective: 20M or 20MB "
    "(10^6), 4KiB (2^10), 1024 (default: a plan's; for an order of a mesh, the size of other "
    "algorithms).",
)
@click.option(
    "--cluster",
    "cluster_name",
    metavar="FILE",
    help="The cluster file that the order or plan was made from.",
)
@click.option(
    "--algo",
    "algorithms",
    metavar="NAME",
    multiple=True,
    help="Algorithm to predict; may be given more than once (default: all that run with this "
    "number of ranks).",
)
@click.option(
    "--collective",
    "collectives",
    type=CollectivesType(),
    help="Collectives to predict: along a plan, these (default: all); in an order, all "
    "algorithms of these (default: of all-reduce).",
)
@click.option(
    "--objective",
    type=click.Choice(["latency", "contention"]),
    help="Cost to compare (default: contention where bandwidths are known).",
)
@with_distances_option()
@with_seed_option("Seed of the random orders to compare with.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    *,
    file: str | None,
    network_name: str | None,
    size_bytes: int | None,
    cluster_name: str | None,
    algorithms: Sequence[str],
    collectives: Sequence[str] | None,
    objective: str | None,
    distances: str,
    seed: int,
    as_json: bool,
) -> None:
    """Predict the times of algorithms in an order, or of collectives along a plan.

    ORDER is an order file, with the cluster file it was made from as --cluster; or a cluster file,
    which stands for its given order. An order is compared with the given one and random ones. PLAN
    is a plan file, with its cluster file, and plink's engine is predicted. `-` is standard input.
    With --network the cluster is what a TOML file says, and ORDER or PLAN may be left out. Of
    clients that were fitted (plink fit) or described, times come with a 90 % interval.
    """
    cluster, order = _read(file, cluster_name, network_name)
    cluster = replace(cluster, uses_readings=distances == "readings")
    file = file or network_name or ""
    if isinstance(order, plan_file.Plan):
        if algorithms or objective is not None:
            raise WrongUseError(
                f"{'--algo' if algorithms else '--objective'} applies to orders, not to a plan",
                "use --collective to choose what is predicted along a plan",
            )
        source = document.label(file)
        _tell_of_plan(
            forecasting.forecast_plan(cluster, order, size_bytes, collectives or (), source),
            as_json,
        )
        return
    if algorithms and collectives:
        raise WrongUseError("--collective and --algo exclude each other")
    size_bytes = _size(size_bytes, order, algorithms)
    stderr = console()
    with stderr.status("") as status:
        found = prediction.forecast(
            cluster,
            order,
            size_bytes,
            algorithms=algorithms,
            collectives=collectives or (),
            seed=seed,
            source=document.label(file),
            on_progress=status.update if stderr.is_terminal else None,
        )
    if order is not None and network_name is None and not order_basis.is_made_from(order, cluster):
        note(f"{document.label(file)} was made from another version of {cluster.source}")
    if objective == "contention" and not found.has_times:
        raise files_cluster.no_bandwidth_measured(cluster)
    for assumption in found.assumptions:
        note(assumption)
    if as_json:
        print_json_line(found)
    else:
        predictions.print_forecast(paper.paper(None).console, found, objective)


def _tell_of_plan(found: PlanForecast, as_json: bool) -> None:

    for assumption in found.assumptions:
        note(assumption)
    if as_json:
        print_json_line(found)
    else:
        predictions.print_plan_forecast(paper.paper(None).console, found)


def _size(size_bytes: int | None, order: Order | None, algorithms: Sequence[str]) -> int:
    """Return the size of the buffer in bytes; a mesh defines its own."""
    if size_bytes is not None:
        return size_bytes
    if order is None or order.mesh is None or algorithms:
        raise click.MissingParameter(param_hint="'--size'", param_type="option")
    return order.mesh.size_bytes


def _read(
    file: str | None, cluster_name: str | None, network_name: str | None
) -> tuple[Cluster, Order | Plan | None]:
    """Return the cluster, and the order or plan to predict."""
    described = None if network_name is None else importing_described.read_network(network_name)
    if described is not None and cluster_name is not None:
        raise WrongUseError("--network and --cluster exclude each other")
    if file is None:
        if described is None:
            raise click.MissingParameter(param_hint="'ORDER|PLAN'", param_type="argument")
        return described, None
    found = document.read(file)
    source = found.source
    if described is not None and found.format == plan_file.FORMAT:
        return described, plan_file.decode_plan(found.data, source)
    if described is not None and found.format == order_file.FORMAT:
        return described, order_file.decode_order(found.data, source)
    if described is not None:
        raise WrongUseError(f"{source}: is neither an order nor a plan, which --network needs")
    if found.format == plan_file.FORMAT:
        if cluster_name is None:
            raise WrongUseError(
                f"{source}: a plan file does not contain the measurements",
                "name the cluster file that it was made from with --cluster",
            )
        return files_cluster.read_cluster(cluster_name), plan_file.decode_plan(found.data, source)
    if found.format != order_file.FORMAT:
        if cluster_name is not None:
            raise WrongUseError(f"{source}: is not an order file, so --cluster does not apply")
        return files_cluster.open_cluster(found), None
    order = order_file.decode_order(found.data, source)
    if cluster_name is None:
        raise WrongUseError(
            f"{source}: an order file does not contain the measurements",
            "name the cluster file that it was made from with --cluster",
        )
    return files_cluster.read_cluster(cluster_name), order
