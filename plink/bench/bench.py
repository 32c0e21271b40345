"""Run of a bench: reach the hosts, start all clients, launch all cases in rounds."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from plink.base.errors import PlinkError, WrongUseError
from plink.base.interrupts import ignore_interrupts
from plink.base.progress import ProgressListener
from plink.base.replacing import replace
from plink.bench.clients.client import Client, Launch, Measured
from plink.bench.clients.engine import EngineClient
from plink.bench.clients.gloo import GlooClient
from plink.bench.clients.hub import HubClient
from plink.bench.clients.mpi import FoundTools, MpiClient, find_tools
from plink.bench.clients.mpi_flavours import FLAVOURS
from plink.bench.clients.nccl import NcclClient
from plink.bench.clients.workers import START_LIMIT_S
from plink.bench.order_report import OrdersBench, prediction_gaps, report_orders
from plink.bench.request import ENGINE, HUB, BenchRequest, Case
from plink.bench.rounds import Rounds, run_rounds
from plink.bench.rows import make_rows
from plink.bench.served import settings_of
from plink.deploy.remote.hosts import RemoteHost, assign_slots, describe
from plink.formats.cluster import Cluster
from plink.formats.comparison import BenchSetting, ClientRecord, Comparison
from plink.measure.listed import to_listed_host
from plink.model.distance import Distances
from plink.optimize.prediction import known_distances
from plink.probes.errors import HostListError
from plink.probes.reach import Outgoing, Reached, reach

# A launch connects and leaves beside its repetitions.
_LAUNCH_MARGIN_S = 120.0


@dataclass(frozen=True)
class BenchOutcome:
    """Outcome of a bench.

    Args:
        result: times of all cases that ran.
        orders: comparison of the orders; None if anything else is compared, too.
        stopped: why not all rounds ran; None if they did.
    """

    result: Comparison
    orders: OrdersBench | None
    stopped: PlinkError | None


def bench(request: BenchRequest, progress: ProgressListener) -> BenchOutcome:
    """Run all cases of a bench on its hosts, and return their times.

    Raises:
        HostError, OptionError: a host cannot take part.
        PlinkError: several cannot, a tool is missing here, or nothing could be measured.
        WrongUseError: a host's name cannot be resolved.
        KeyboardInterrupt: the user stopped it before anything was measured.
    """
    cases = request.cases
    tools = {
        client: find_tools(flavour, request.tools)
        for client, flavour in FLAVOURS.items()
        if any(case.client == client for case in cases)
    }
    distances = known_distances(request.cluster)
    gaps = prediction_gaps(distances) if request.compares_orders else None
    if gaps is not None:
        progress.say(gaps)
    for assumption in request.assumptions:
        progress.say(assumption)
    everyone = replace(request.cluster, hosts=[*request.cluster.hosts, *request.servers])
    progress.stage("connecting", len(everyone.hosts))
    with ExitStack() as stack:
        reached = stack.enter_context(reach_all(everyone, request.source, request.way, progress))
        refuse_failures(reached, progress)
        hosts = describe(everyone.hosts, reached)
        clients = _clients(request, hosts, tools)
        progress.stage("starting", len(clients))
        records = {}
        for name, client in clients.items():
            stack.callback(_close, client)
            records[name] = client.start()
            progress.step()
        progress.stage("measuring", request.rounds * len(cases))

        def launch(index: int) -> Measured:
            case = cases[index]
            placed = assign_slots(case.order.order, request.slots)
            forest = None if case.plan is None else case.plan.forest
            service = None if case.served is None else case.served.service
            launch = Launch(placed, case.workload, forest, service)
            return clients[client_key(case)].launch(launch)

        done = run_rounds(len(cases), launch, request.rounds, request.seed, progress.step)
    congestion_control = {host.name: host.congestion_control for host in hosts}
    return make_outcome(request, done, records, congestion_control, distances)


def make_outcome(
    request: BenchRequest,
    done: Rounds[Measured],
    clients: Mapping[str, ClientRecord],
    congestion_control: Mapping[str, str],
    distances: Distances | None,
) -> BenchOutcome:
    """Return the outcome of a bench.

    Args:
        request: what was asked for.
        done: its rounds, with at least one launch.
        clients: what ran, by name.
        congestion_control: the default of TCP sockets on each host.
        distances: what latencies were predicted from; None where none is known.
    """
    workload = request.cases[0].workload
    setting = BenchSetting(
        clients=clients,
        warmups=workload.warmups,
        repetitions=workload.repetitions,
        rounds=request.rounds,
        seed=request.seed,
        congestion_control=congestion_control,
        made_from=request.cluster.file_hash or "",
        assumptions=request.assumptions,
    )
    stopped = None if done.stopped is None else str(done.stopped)
    result = Comparison(setting, make_rows(request, done), done.rounds_done, stopped)
    orders = None
    if request.compares_orders:
        orders = report_orders(result, request.cases, distances)
    return BenchOutcome(result, orders, done.stopped)


def client_key(case: Case) -> str:
    """Return the name of the client that launches a case; MPI and NCCL have one per algorithm."""
    has_own = case.client in FLAVOURS or case.client == "nccl"
    return f"{case.client} {case.algorithm}" if has_own else case.client


def _clients(
    request: BenchRequest, hosts: Sequence[RemoteHost], tools: Mapping[str, FoundTools]
) -> dict[str, Client]:
    count = len(request.cluster.hosts)
    seated = [host for host in hosts[:count] for _ in range(request.slots)]
    cases_of: dict[str, list[Case]] = {}
    for case in request.cases:
        cases_of.setdefault(client_key(case), []).append(case)
    clients: dict[str, Client] = {}
    for name, cases in cases_of.items():
        first = cases[0]
        idle_limit_s = _idle_limit_s(name, cases_of)
        if first.client == ENGINE:
            clients[name] = EngineClient(seated, request.python, idle_limit_s, tls=request.tls)
        elif first.client == HUB:
            served = list({case.algorithm: case.served for case in cases if case.served}.values())
            clients[name] = HubClient(
                seated,
                {host.name: host for host in hosts[count:]},
                request.python,
                idle_limit_s,
                settings_of(served, len(first.order.order)),
            )
        elif first.client == "gloo":
            clients[name] = GlooClient(seated, request.python, idle_limit_s)
        elif first.client == "nccl":
            clients[name] = NcclClient(seated, request.python, idle_limit_s, first.algorithm)
        else:
            clients[name] = MpiClient(
                FLAVOURS[first.client],
                seated,
                algorithm=first.algorithm,
                timeout_s=first.workload.timeout_s,
                way=request.way,
                tools=tools[first.client],
            )
    return clients


def _idle_limit_s(name: str, cases_of: Mapping[str, Sequence[Case]]) -> float:
    """Return the longest that a client's workers may have nothing to do.

    While other clients start, while other ranks of a launch run, and between two launches: then
    every case of other clients may run twice, last of one round and first of the next.
    """
    own_s = max(case.workload.launch_limit_s for case in cases_of[name])
    others_s = sum(
        case.workload.launch_limit_s + _LAUNCH_MARGIN_S
        for other, cases in cases_of.items()
        if other != name
        for case in cases
    )
    return START_LIMIT_S * len(cases_of) + own_s + 2 * others_s


def _close(client: Client) -> None:
    with ignore_interrupts():
        client.close()


def reach_all(cluster: Cluster, source: str, way: Outgoing, progress: ProgressListener) -> Reached:
    """Return the hosts that answered and those that did not.

    Raises:
        WrongUseError: a host's name cannot be resolved.
    """
    listed = [to_listed_host(entry, source) for entry in cluster.hosts]
    try:
        return reach(listed, way, on_done=progress.step)
    except HostListError as error:
        known = cluster.way
        hint = "give the SSH configuration that plink probe had with -F"
        if known is not None:
            hint = f"plink probe reached these hosts with {shlex.join(known.words())}"
        raise WrongUseError(str(error), hint) from None


def refuse_failures(reached: Reached, progress: ProgressListener) -> None:
    """Raise if a host was not reached, and name every such host.

    Raises:
        HostError: one was not.
        PlinkError: several were not.
    """
    failures = reached.failures
    if not failures:
        return
    if len(failures) == 1:
        raise failures[0]
    for failure in failures:
        progress.say(f"{failure.host}: {failure}")
    hints = {failure.marked_hint for failure in failures}
    raise PlinkError(
        f"{len(failures)} of {len(failures) + len(reached.hosts)} hosts cannot take part",
        hints.pop() if len(hints) == 1 else None,
        arguments=dict.fromkeys(failures[0].options),
    )
