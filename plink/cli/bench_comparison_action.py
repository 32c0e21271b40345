"""`plink bench` of several clients, plans or sizes, behind its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plink.base.errors import WrongUseError
from plink.bench.clients.base import Workload
from plink.bench.clients.mpi import MpiTools
from plink.bench.comparison.compare import compare
from plink.bench.comparison.making import Wanted, make_cases
from plink.bench.comparison.plot import plot
from plink.bench.comparison.request import ENGINE, ComparisonRequest, ways_of
from plink.bench.comparison.table import render
from plink.bench.request import check_workload
from plink.cli.bench_delivery import deliver, files_in
from plink.cli.progress import StageProgress
from plink.cli.ssh_options import take_ssh_options
from plink.cli.types import size_option
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files.comparison import to_json
from plink.model.network import network_of
from plink.optimize.orders.slots import layout_of, with_slots

_MPI = ("openmpi", "mpich")
_PYTHON = (ENGINE, "gloo")


def run_command(options: Mapping[str, Any], clients: Sequence[str], progress: StageProgress) -> int:
    """Carry out `plink bench` with these options; return the exit code.

    Raises:
        WrongUseError: a file or an option is wrong.
        PlinkError, ProbesError: nothing could be measured.
        PartialResultError: not all rounds ran; what was measured before has been printed.
    """
    _check(options, clients)
    with progress:
        done = compare(_request(dict(options), clients, progress), progress)
    return deliver(
        options,
        to_json(done.result),
        picture=lambda: plot(done.result),
        tables=lambda: render(done.result),
        stopped=done.stopped,
    )


def _check(options: Mapping[str, Any], clients: Sequence[str]) -> None:
    """Refuse early what cannot end well."""
    several = f"--client {','.join(clients)}"
    if options["correlate"]:
        raise WrongUseError("--correlate is for one library and one size", "see plink bench -h")
    if options["ranks"] is not None:
        raise WrongUseError(
            "--ranks is for the orders of one library and one size",
            "--slots K starts K ranks on every host",
        )
    if options["plan"] and ENGINE not in clients:
        raise WrongUseError(f"--plan is for the client {ENGINE}, not for {several}")
    if options["orders"] is not None and clients == [ENGINE]:
        raise WrongUseError(
            f"--orders is not for the client {ENGINE}: plans decide who exchanges what with whom",
            "--algo names kinds of plans, --plan a plan's file",
        )
    _check_tools(options, clients, several)
    sources = [options["file"], *options["plan"], *files_in(options["orders"] or "")]
    for output in (options["output"], options["plot"]):
        if output is not None:
            document.check_writable(output)
            for source in sources:
                document.refuse_same_file(source, output)


def _check_tools(options: Mapping[str, Any], clients: Sequence[str], several: str) -> None:
    mpi = [client for client in clients if client in _MPI]
    for name in ("mpicc", "mpirun", "remote_cache"):
        option = f"--{name.replace('_', '-')}"
        if options[name] is not None and not mpi:
            raise WrongUseError(f"{option} is not for {several}", "see plink bench -h")
        if options[name] is not None and name != "remote_cache" and len(mpi) > 1:
            raise WrongUseError(
                f"{option} is for one MPI, and here are {' and '.join(mpi)}",
                "put the tools of both on the PATH",
            )
    if options["python"] is not None and not any(client in _PYTHON for client in clients):
        raise WrongUseError(f"--python is not for {several}", "see plink bench -h")


def _request(
    values: dict[str, Any], clients: Sequence[str], progress: StageProgress
) -> ComparisonRequest:
    words = [] if values["algo"] is None else [word.strip() for word in values["algo"].split(",")]
    ways = ways_of(clients, words)
    if values["plan"] and not any(word in ways[ENGINE] for word in words):
        ways[ENGINE] = []
    sizes = [size_option(text) for text in values["size"].split(",")]
    if len(set(sizes)) < len(sizes):
        raise WrongUseError("--size asks for a size twice")
    workloads = [
        Workload(
            algorithm="",
            size_bytes=size_bytes,
            warmups=values["warmups"],
            repetitions=values["repetitions"],
            timeout_s=values["timeout_s"],
        )
        for size_bytes in sizes
    ]
    cluster = cluster_file.read(values["file"])
    slots = values["slots"] or 1
    filling = layout_of(with_slots(cluster.hosts, slots), None)
    for workload in workloads:
        check_workload(workload, filling.ranks, may_be_tiny=True)
    wanted = Wanted(
        ways=ways,
        plan_files=values["plan"],
        orders=values["orders"],
        workloads=workloads,
        slots=slots,
        filling=filling,
        seed=values["seed"],
        time_limit_s=values["time_limit_s"],
    )
    cases = make_cases(wanted, cluster, progress)
    known = network_of(cluster)
    plans = [case.plan for case in cases if case.plan is not None]
    return ComparisonRequest(
        cluster=cluster,
        source=document.label(values["file"]),
        made_from=cluster.file_hash or "",
        cases=cases,
        network=known.network,
        groups=plans[0].groups if plans else cluster.groups,
        assumptions=known.assumptions if known.has_rates else (),
        rounds=values["rounds"],
        seed=values["seed"],
        slots=slots,
        ssh=take_ssh_options(values),
        python=values["python"],
        tools=MpiTools(values["mpicc"], values["mpirun"], values["remote_cache"]),
    )
