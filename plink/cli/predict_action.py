"""`plink predict` behind the command line: read, predict for every algorithm, print."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import click
from rich.console import Console

from plink.base.errors import WrongUseError
from plink.bench.orders import as_permutation
from plink.cli.options import size_option
from plink.cli.stderr import note
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files import order as order_file
from plink.files.cluster import Cluster
from plink.files.order import Order
from plink.optimize.forecast import Orders, forecast, to_json
from plink.optimize.orders.slots import filling_of, slots_of
from plink.show.terminal.algorithms import print_forecast
from plink.show.terminal.paper import paper
from solvers.collectives.algorithm import Algorithm
from solvers.collectives.registry import ALGORITHMS, find
from solvers.slots.layout import RankLayout


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    file: str
    size: str
    cluster: str | None
    algorithms: Sequence[str]
    objective: str | None
    seed: int
    as_json: bool


def run(request: Request) -> None:
    """Do it.

    Raises:
        WrongUseError: wrong options, or files that are no order and cluster of the same hosts.
    """
    size_bytes = size_option(request.size)
    cluster, orders = _read(request)
    algorithms = [_find(name) for name in request.algorithms] or list(ALGORITHMS.values())
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with console.status("") as status:
        found = forecast(
            cluster,
            orders,
            algorithms,
            size_bytes,
            seed=request.seed,
            on_progress=status.update if console.is_terminal else None,
        )
    if request.algorithms and not found.rows:
        raise WrongUseError(found.refused[0][1])
    if request.objective == "contention" and not found.has_times:
        raise WrongUseError(
            f"{document.label(request.cluster or request.file)}: holds no bandwidths",
            "plink probe --tool uplinks, or --tool iperf3, measures what links carry",
        )
    for assumption in found.assumptions:
        note(assumption)
    if request.as_json:
        click.echo(json.dumps(to_json(found), ensure_ascii=False))
    else:
        print_forecast(paper(None).console, found, request.objective)


def _read(request: Request) -> tuple[Cluster, Orders]:
    """The cluster, and the order to predict for beside the given one."""
    source = document.label(request.file)
    content = document.read_bytes(request.file)
    data = document.parse(content, source)
    if data.get("format") != order_file.FORMAT:
        if request.cluster is not None:
            raise WrongUseError(f"{source}: is no order file, so --cluster has no use")
        cluster = cluster_file.from_json(data, source, document.digest(content))
        return cluster, Orders(source, None, filling_of(cluster.hosts, None))
    order = order_file.from_json(data, source)
    if request.cluster is None:
        raise WrongUseError(
            f"{source}: an order file does not hold what was measured",
            "name the cluster file that it was made from with --cluster",
        )
    cluster = cluster_file.read(request.cluster)
    everyone = [*order.hosts, *order.unused]
    hosts = as_permutation([host.name for host in everyone], cluster.names, source)
    if order.made_from not in (None, cluster.file_hash):
        note(f"{source} was not made from {request.cluster} as it is now")
    placement = [hosts[host] for host in _host_of_rank(order)]
    return cluster, Orders(
        source, placement, RankLayout(slots_of(order, cluster.hosts), order.ranks)
    )


def _host_of_rank(order: Order) -> Sequence[int]:
    """The index of every rank's host in the order."""
    if order.host_of_rank is not None:
        return order.host_of_rank
    return [place for place, host in enumerate(order.hosts) for _ in range(host.slots)]


def _find(name: str) -> Algorithm:
    try:
        return find(name)
    except ValueError as error:
        raise WrongUseError(str(error)) from None
