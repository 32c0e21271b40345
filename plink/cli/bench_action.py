"""`plink bench` behind its options: what to run, and how to show what came out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plink.base.errors import WrongUseError
from plink.bench.algorithms import check_algorithm
from plink.bench.bench import bench
from plink.bench.clients.base import Workload
from plink.bench.clients.mpi import MpiTools
from plink.bench.plot import plot
from plink.bench.request import BenchRequest, check_workload, outlook, read_orders
from plink.bench.result import to_json
from plink.bench.table import render
from plink.cli.bench_delivery import deliver, files_in
from plink.cli.progress import StageProgress
from plink.cli.ssh_options import take_ssh_options
from plink.cli.types import size_option
from plink.files import cluster as cluster_file
from plink.files import document
from plink.optimize.orders.slots import layout_of, with_slots

_GLOO_OPTIONS = ("python",)
# Fewer hardly tell a correlation from chance.
_LEAST_CORRELATED = 10

_MPI_OPTIONS = ("mpicc", "mpirun", "remote_cache")


def run_command(options: Mapping[str, Any], progress: StageProgress) -> int:
    """Carry out `plink bench` with these options; return the exit code.

    Raises:
        WrongUseError: a file or an option is wrong.
        PlinkError, ProbesError: nothing could be measured.
        PartialResultError: not all rounds ran; what was measured before has been printed.
    """
    _check(options)
    request = _request(dict(options))
    with progress:
        done = bench(request, progress)
    return deliver(
        options,
        to_json(done.result),
        picture=lambda: plot(done.result),
        tables=lambda: render(done.result),
        stopped=done.stopped,
    )


def _check(options: Mapping[str, Any]) -> None:
    """Refuse early what cannot end well."""
    client = options["client"]
    for name in _MPI_OPTIONS if client == "gloo" else _GLOO_OPTIONS:
        if options[name] is not None:
            option = f"--{name.replace('_', '-')}"
            raise WrongUseError(f"{option} is not for the client {client}", "see plink bench -h")
    check_algorithm(client, options["algo"])
    for output in (options["output"], options["plot"]):
        if output is None:
            continue
        document.check_writable(output)
        for source in (options["file"], *files_in(options["orders"])):
            document.refuse_same_file(source, output)


def _request(values: dict[str, Any]) -> BenchRequest:
    workload = Workload(
        algorithm=values["algo"],
        size_bytes=size_option(values["size"]),
        warmups=values["warmups"],
        repetitions=values["repetitions"],
        timeout_s=values["timeout_s"],
    )
    cluster = cluster_file.read(values["file"])
    slots = values["slots"] or 1
    filling = layout_of(with_slots(cluster.hosts, slots), values["ranks"])
    check_workload(workload, filling.ranks)
    seed = values["seed"]
    ahead = outlook(cluster, values["client"], workload, filling.ranks)
    orders = read_orders(
        values["orders"],
        cluster,
        ahead,
        seed=seed,
        time_limit_s=values["time_limit_s"],
        filling=filling,
    )
    if values["correlate"] and len(orders) < _LEAST_CORRELATED:
        raise WrongUseError(
            f"--correlate needs at least {_LEAST_CORRELATED} orders, and these are {len(orders)}",
            "ask for more, such as --orders given,plink,spread:12",
        )
    return BenchRequest(
        cluster=cluster,
        source=document.label(values["file"]),
        made_from=cluster.file_hash or "",
        client=values["client"],
        workload=workload,
        orders=orders,
        ahead=ahead,
        rounds=values["rounds"],
        seed=seed,
        slots=slots,
        ssh=take_ssh_options(values),
        python=values["python"],
        tools=MpiTools(values["mpicc"], values["mpirun"], values["remote_cache"]),
    )
