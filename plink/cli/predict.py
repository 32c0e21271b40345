"""`plink predict`: predict the times of algorithms in an order, or of a plan."""

from __future__ import annotations

import click

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.cli.json_output import json_option, print_json_line
from plink.cli.progress import status_line
from plink.cli.request_options import with_request
from plink.cli.stderr import note
from plink.optimize.prediction_request import PredictionRequest

with lazy_imports():
    from plink.formats import comparison as comparison_file
    from plink.formats import document
    from plink.measure.importing import described
    from plink.show.terminal import paper
    from plink.verbs import cluster as cluster_verb
    from plink.verbs import common as verb_common
    from plink.verbs import order as order_verb
    from plink.verbs import plan as plan_verb
    from plink.verbs import predict as predict_verb
    from plink.verbs import read as read_verb


@click.command(
    epilog="Example: plink predict --network net.toml --size 20MB. "
    "Example: plink predict order.json --cluster cluster.json --size 20MB --algo "
    "gloo-ring. Example: plink predict plan.json --cluster cluster.json --collective all-gather"
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
    "--cluster",
    "cluster_name",
    metavar="FILE",
    help="The cluster file that the order or plan was made from.",
)
@with_request(PredictionRequest)
@json_option("Print everything as JSON.")
def command(
    *,
    request: PredictionRequest,
    file: str | None,
    network_name: str | None,
    cluster_name: str | None,
    as_json: bool,
) -> None:
    """Predict the times of algorithms in an order, or of collectives along a plan.

    ORDER is an order file, with the cluster file it was made from as --cluster; or a cluster file,
    which stands for its given order. An order is compared with the given one and random ones. PLAN
    is a plan file, with its cluster file, and plink's engine is predicted. `-` is standard input.
    With --network the cluster is what a TOML file says, and ORDER or PLAN may be left out. Of
    clients that were fitted (plink fit) or described, times come with a 90 % interval.
    """
    subject, cluster = _read_subject(file, cluster_name, network_name)
    source = document.label(file or network_name or "")
    if request.size is None and _needs_size(subject, request):
        raise click.MissingParameter(param_hint="'--size'", param_type="option")
    with status_line() as show:
        prediction = predict_verb.predict_times(
            subject, replace(request, cluster=cluster, progress=show), source
        )
    notes = prediction.notes if network_name is None else ()
    for text in (*notes, *prediction.assumptions):
        note(text)
    if as_json:
        print_json_line(prediction.forecast)
    else:
        prediction.print_on(paper.paper(None).console)


def _needs_size(
    subject: cluster_verb.MeasuredCluster | order_verb.RankOrder | plan_verb.AggregationPlan,
    request: PredictionRequest,
) -> bool:
    """Return whether `--size` must be given, as neither a plan nor an order's mesh defines it."""
    has_mesh = isinstance(subject, order_verb.RankOrder) and subject.mesh is not None
    return not isinstance(subject, plan_verb.AggregationPlan) and (
        not has_mesh or bool(request.algorithms)
    )


def _read_subject(
    file: str | None, cluster_name: str | None, network_name: str | None
) -> tuple[
    cluster_verb.MeasuredCluster | order_verb.RankOrder | plan_verb.AggregationPlan,
    cluster_verb.MeasuredCluster | None,
]:
    """Read the order, plan or cluster to predict for, and the cluster file that it runs on."""
    if network_name is not None and cluster_name is not None:
        raise WrongUseError("--network and --cluster exclude each other")
    cluster = None
    if network_name is not None:
        cluster = verb_common.copy_as(
            cluster_verb.MeasuredCluster, described.read_network(network_name)
        )
    elif cluster_name is not None:
        cluster = cluster_verb.MeasuredCluster.read(cluster_name)
    if file is None:
        if network_name is None or cluster is None:
            raise click.MissingParameter(param_hint="'ORDER|PLAN'", param_type="argument")
        return cluster, None
    subject = read_verb.read(file)
    is_order_or_plan = isinstance(subject, (order_verb.RankOrder, plan_verb.AggregationPlan))
    if isinstance(subject, comparison_file.Comparison) or (
        cluster is not None and not is_order_or_plan
    ):
        raise WrongUseError(
            f"{document.label(file)}: is neither an order nor a plan",
            "--cluster and --network go with an order or a plan",
        )
    return subject, cluster
