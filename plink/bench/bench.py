"""A bench from request to result: reach the hosts, start the client, run the rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from plink.base.errors import PlinkError, WrongUseError
from plink.base.interrupts import ignored_interrupts
from plink.base.progress import Progress
from plink.bench.clients import mpich, openmpi
from plink.bench.clients.base import Client
from plink.bench.clients.gloo import GlooClient
from plink.bench.clients.mpi import MpiClient, find_tools
from plink.bench.hosts import reach_all, refuse_failures
from plink.bench.request import BenchRequest
from plink.bench.result import BenchResult, Prediction, Setting, make_result
from plink.bench.run import run_rounds
from plink.deploy.remote.hosts import RemoteHost, describe, seats
from plink.model.distance import distances

MPI_FLAVOURS = {"openmpi": openmpi.FLAVOUR, "mpich": mpich.FLAVOUR}


@dataclass(frozen=True)
class BenchRun:
    """What was measured, and why not all of it, or None."""

    result: BenchResult
    stopped: PlinkError | None


def bench(request: BenchRequest, progress: Progress) -> BenchRun:
    """Run a bench.

    Raises:
        HostError, OptionError: a host cannot take part.
        PlinkError: several cannot, a tool is missing here, or nothing could be measured.
        WrongUseError: a host's name cannot be resolved.
        KeyboardInterrupt: the user stopped it before anything was measured.
    """
    entries = request.cluster.hosts
    prediction = _predict(request, progress)
    if prediction.doubt is not None:
        progress.say(prediction.doubt)
    make_client = _client_maker(request)
    progress.stage("connecting", len(entries))
    with reach_all(request.cluster, request.source, request.ssh, progress.step) as reached:
        refuse_failures(reached, progress)
        hosts = describe(entries, reached)
        client = make_client([host for host in hosts for _ in range(request.slots)])
        seated = [
            replace(entry, order=seats(entry.order, request.slots)) for entry in request.orders
        ]
        try:
            progress.stage("starting", 1)
            facts = client.start()
            progress.stage("measuring", request.rounds * len(request.orders))
            outcome = run_rounds(client, seated, request.rounds, request.seed, progress.step)
        finally:
            with ignored_interrupts():
                client.close()
    setting = Setting(
        client=request.client,
        facts=facts,
        workload=request.workload,
        rounds=request.rounds,
        seed=request.seed,
        congestion_control={host.name: host.congestion_control for host in hosts},
        made_from=request.made_from,
    )
    names = request.cluster.names
    result = make_result(setting, names, request.orders, outcome, prediction)
    return BenchRun(result, outcome.stopped)


def _predict(request: BenchRequest, progress: Progress) -> Prediction:
    ahead = request.ahead
    costs = [ahead.predictor.cost(entry.order) for entry in request.orders]
    if ahead.network.has_rates:
        for assumption in ahead.network.assumptions:
            progress.say(f"contention: {assumption}")
    times_s = [cost.time_s for cost in costs]
    try:
        found = distances(request.cluster)
    except WrongUseError:  # nothing was measured
        return Prediction([None] * len(request.orders), times_s)
    return Prediction(
        costs_us=[cost.latency_us for cost in costs],
        times_s=times_s,
        filled_pairs=found.filled_pairs,
        unmeasured_hosts=found.unmeasured_hosts,
    )


def _client_maker(request: BenchRequest) -> Callable[[Sequence[RemoteHost]], Client]:
    """What makes the client, once all that it needs on this machine is known to be there."""
    if request.client == "gloo":
        return lambda hosts: GlooClient(hosts, request.workload, request.python)
    flavour = MPI_FLAVOURS[request.client]
    tools = find_tools(flavour, request.tools)
    return lambda hosts: MpiClient(flavour, hosts, request.workload, request.ssh, tools)
