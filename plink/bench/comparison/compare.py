"""A comparison from request to result: reach the hosts, start all clients, run the rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Protocol

from plink.base.errors import PlinkError
from plink.base.interrupts import ignored_interrupts
from plink.base.progress import Progress
from plink.bench.clients import mpich, openmpi
from plink.bench.clients.base import ClientFacts, Measured
from plink.bench.clients.engine import EngineClient
from plink.bench.clients.gloo import GlooClient
from plink.bench.clients.mpi import FoundTools, MpiClient, find_tools
from plink.bench.clients.workers import START_LIMIT_S
from plink.bench.comparison.request import ENGINE, Case, ComparisonRequest
from plink.bench.comparison.rows import make_comparison
from plink.bench.hosts import reach_all, refuse_failures
from plink.bench.run import run_in_turn
from plink.deploy.remote.hosts import RemoteHost, describe, seats
from plink.files.comparison import ClientRecord, Comparison, Setting

_MPI_FLAVOURS = {"openmpi": openmpi.FLAVOUR, "mpich": mpich.FLAVOUR}

# A launch connects and leaves beside its repetitions.
_LAUNCH_MARGIN_S = 120.0


class _Startable(Protocol):
    def start(self) -> ClientFacts: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class ComparisonRun:
    """What was measured, and why not all of it, or None."""

    result: Comparison
    stopped: PlinkError | None


@dataclass(frozen=True)
class _Runner:
    """A client that is to be started, and how it launches a case."""

    client: _Startable
    launch: Callable[[Case], Measured]


def compare(request: ComparisonRequest, progress: Progress) -> ComparisonRun:
    """Run a comparison.

    Raises:
        HostError, OptionError: a host cannot take part.
        PlinkError: several cannot, a tool is missing here, or nothing could be measured.
        WrongUseError: a host's name cannot be resolved.
        KeyboardInterrupt: the user stopped it before anything was measured.
    """
    cases = request.cases
    tools = {
        client: find_tools(flavour, request.tools)
        for client, flavour in _MPI_FLAVOURS.items()
        if any(case.client == client for case in cases)
    }
    for assumption in request.assumptions:
        progress.say(assumption)
    progress.stage("connecting", len(request.cluster.hosts))
    ssh = request.ssh
    with (
        reach_all(request.cluster, request.source, ssh, progress.step) as reached,
        ExitStack() as s,
    ):
        refuse_failures(reached, progress)
        hosts = describe(request.cluster.hosts, reached)
        runners = _runners(request, hosts, tools)
        progress.stage("starting", len(runners))
        clients = {}
        for name, runner in runners.items():
            s.callback(_close, runner.client)
            facts = runner.client.start()
            clients[name] = ClientRecord(facts.versions, facts.settings)
            progress.step()
        progress.stage("measuring", request.rounds * len(cases))
        outcome = run_in_turn(
            len(cases),
            lambda index: runners[runner_name(cases[index])].launch(cases[index]),
            request.rounds,
            request.seed,
            progress.step,
        )
    setting = Setting(
        clients=clients,
        warmups=cases[0].workload.warmups,
        repetitions=cases[0].workload.repetitions,
        rounds=request.rounds,
        seed=request.seed,
        congestion_control={host.name: host.congestion_control for host in hosts},
        made_from=request.made_from,
        assumptions=request.assumptions,
    )
    return ComparisonRun(make_comparison(setting, request, outcome), outcome.stopped)


def runner_name(case: Case) -> str:
    """Cases of one name are launched by one client; an MPI has its algorithm from its start."""
    return f"{case.client} {case.algorithm}" if case.client in _MPI_FLAVOURS else case.client


def _close(client: _Startable) -> None:
    with ignored_interrupts():
        client.close()


def _runners(
    request: ComparisonRequest, hosts: Sequence[RemoteHost], tools: Mapping[str, FoundTools]
) -> dict[str, _Runner]:
    seated = [host for host in hosts for _ in range(request.slots)]
    # Between two launches of a client every case may run twice: last of a round, first of the next.
    idle_limit_s = len(request.cases) * START_LIMIT_S + 2 * sum(
        case.workload.launch_limit_s + _LAUNCH_MARGIN_S for case in request.cases
    )
    runners: dict[str, _Runner] = {}
    for case in request.cases:
        name = runner_name(case)
        if name in runners:
            continue
        if case.client == ENGINE:
            runners[name] = _engine(EngineClient(seated, request.python, idle_limit_s), request)
        elif case.client == "gloo":
            gloo = GlooClient(seated, case.workload, request.python, idle_limit_s)
            runners[name] = _library(gloo, request)
        else:
            flavour, found = _MPI_FLAVOURS[case.client], tools[case.client]
            workload = replace(case.workload, algorithm=case.algorithm)
            mpi = MpiClient(flavour, seated, workload, request.ssh, found)
            runners[name] = _library(mpi, request)
    return runners


def _engine(client: EngineClient, request: ComparisonRequest) -> _Runner:
    def launch(case: Case) -> Measured:
        if case.plan is None:
            raise RuntimeError("the engine runs plans")
        placed = seats(case.order.order, request.slots)
        return client.launch(placed, case.plan.forest, case.workload)

    return _Runner(client, launch)


def _library(client: GlooClient | MpiClient, request: ComparisonRequest) -> _Runner:
    return _Runner(
        client,
        lambda case: client.launch(seats(case.order.order, request.slots), case.workload),
    )
