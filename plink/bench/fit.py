"""A client's own costs: a few seconds of it on a few hosts, and what fits the times best."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from plink.base.errors import PlinkError, WrongUseError
from plink.base.interrupts import ignore_interrupts
from plink.base.progress import ProgressListener
from plink.base.replacing import replace
from plink.bench.bench import reach_all, refuse_failures
from plink.bench.clients.client import Launch, Measured, Workload
from plink.bench.clients.engine import EngineClient
from plink.bench.clients.gloo import GlooClient
from plink.bench.clients.mpi import MpiClient, MpiTools, find_tools
from plink.bench.clients.mpi_flavours import FLAVOURS
from plink.bench.plans import plans_of_kinds
from plink.bench.request import ENGINE
from plink.deploy.remote.hosts import RemoteHost, describe
from plink.formats.clients import ClientFit, FitSample
from plink.formats.cluster import Cluster, build_not_measured_error
from plink.formats.comparison import ClientRecord
from plink.model.network import build_network
from plink.optimize.fitting import Costs, Reading, fit_client
from plink.optimize.plans.traffic import Demand
from plink.plans.forest import Forest
from plink.plans.names import ALL_REDUCE
from plink.probes.reach import Outgoing

# Of one group at most; with one of another group, so that messages cross uplinks.
_OF_A_GROUP = 4
_IDLE_LIMIT_S = 1800.0
_ANSWER_LIMIT_S = 10.0

# What runs on how many hosts: `pair` and `few` of one group, `all`, and `mixed`, which goes from
# group to group.
_LIBRARY_CASES = {
    "openmpi": (
        ("ring", ("few", "mixed")),
        ("recursive-doubling", ("pair", "all")),
        ("rabenseifner", ("mixed",)),
    ),
    "mpich": (
        ("ring", ("few", "mixed")),
        ("recursive-doubling", ("pair", "all")),
        ("reduce-scatter-allgather", ("mixed",)),
    ),
    "gloo": (("ring", ("pair", "few", "all", "mixed")),),
}
# Clients that spin are tried with as many ranks as there are hosts as well, on the chosen ones, so
# that it shows how they take turns on cores that all share; with the least size, which is quick.
_CROWD_CASES = {"mpich": ("ring", "recursive-doubling", "reduce-scatter-allgather")}
_CROWD_OF_A_HOST = 4

_PLAN_KINDS = ("ring", "flat", "2lha")


@dataclass(frozen=True)
class FitRequest:
    """Request for a fit.

    Args:
        cluster: the hosts, and what is known of their network: rates at least.
        source: what messages call it.
        client: of `plink.formats.clients.FITTED`.
        hosts: how many to use at most.
        workloads: one for each size, which differ in nothing else.
        way: how hosts are reached.
        python: the interpreter on the hosts, or None.
        tools: what the MPI clients use.
    """

    cluster: Cluster
    source: str
    client: str
    hosts: int
    workloads: Sequence[Workload]
    way: Outgoing
    python: str | None = None
    tools: MpiTools = field(default_factory=MpiTools)


@dataclass(frozen=True)
class _Run:
    """Launch, or as many launches as there are sizes: seats are of the chosen hosts."""

    algorithm: str
    seats: Sequence[int]
    is_crowd: bool = False


def fit(request: FitRequest, progress: ProgressListener) -> Cluster:
    """Run the client, and the cluster with what was found.

    Raises:
        HostError: a host cannot take part.
        PlinkError: several cannot, or a tool is missing here.
        WrongUseError: nothing is known of what links carry, or there are too few hosts.
    """
    cluster = request.cluster
    if not build_network(cluster).has_rates:
        raise build_not_measured_error(cluster, "rates", request.source)
    chosen = chosen_hosts(cluster, request.hosts)
    if len(chosen) < 2:
        raise WrongUseError(f"{request.source}: a fit needs at least 2 hosts")
    part = replace(cluster, hosts=[cluster.hosts[place] for place in chosen])
    progress.stage("connecting", len(chosen))
    with ExitStack() as stack:
        reached = stack.enter_context(reach_all(part, request.source, request.way, progress))
        refuse_failures(reached, progress)
        hosts = describe(part.hosts, reached)
        cores = _shared_cores(hosts)
        readings, costs, record = _measure_client(
            request, hosts, chosen, cores, stack=stack, progress=progress
        )
    progress.stage("fitting", 1)
    found = replace(
        fit_client(cluster, request.client, readings, costs, shared_cores=cores),
        versions=dict(record.versions),
        started=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    )
    progress.step()
    others = [each for each in cluster.clients if each.client != found.client]
    return replace(cluster, clients=sorted([*others, found], key=_by_client))


def _by_client(found: ClientFit) -> str:
    return found.client


def chosen_hosts(cluster: Cluster, most: int) -> list[int]:
    """Places of hosts: of the two largest groups, as many of each; without groups the first."""
    place_of = {name: place for place, name in enumerate(cluster.names)}
    groups = sorted(cluster.groups, key=lambda group: -len(group.hosts))[:2]
    if len(groups) < 2:
        return list(range(len(cluster.hosts)))[:most]
    each = [[place_of[host] for host in group.hosts][:_OF_A_GROUP] for group in groups]
    first = each[0][: max(1, most - min(len(each[1]), most // 2))]
    return [*first, *each[1][: most - len(first)]]


def runs_of(client: str, chosen: int, in_first_group: int) -> Iterator[_Run]:
    """Yield the runs on the chosen hosts, of which the first ones are of one group."""
    first, rest = list(range(in_first_group)), list(range(in_first_group, chosen))
    mixed = [seat for pair in zip(first, rest, strict=False) for seat in pair]
    mixed += [*first[len(rest) :], *rest[len(first) :]]
    sets = {"pair": [0, 1], "few": first, "all": [*first, *rest], "mixed": mixed}
    for algorithm, names in _LIBRARY_CASES[client]:
        tried: list[list[int]] = []
        for name in names:
            if len(sets[name]) >= 2 and sets[name] not in tried:
                tried.append(sets[name])
                yield _Run(algorithm, sets[name])


def crowd_runs(client: str, chosen: int, hosts: int, cores: int | None) -> Iterator[_Run]:
    """Yield the runs with as many ranks as the cluster has hosts, on the chosen hosts in turn."""
    ranks = min(hosts, _CROWD_OF_A_HOST * chosen)
    if cores is None or ranks <= max(chosen, cores):
        return
    for algorithm in _CROWD_CASES.get(client, ()):
        yield _Run(algorithm, [seat % chosen for seat in range(ranks)], is_crowd=True)


def _measure_client(
    request: FitRequest,
    hosts: Sequence[RemoteHost],
    chosen: Sequence[int],
    cores: int | None,
    *,
    stack: ExitStack,
    progress: ProgressListener,
) -> tuple[list[Reading], Costs, ClientRecord]:
    if request.client == ENGINE:
        return _of_engine(request, hosts, chosen, stack, progress)
    group_of = {
        host: number for number, group in enumerate(request.cluster.groups) for host in group.hosts
    }
    own = [group_of.get(host.name) for host in hosts]
    runs = list(runs_of(request.client, len(hosts), own.count(own[0])))
    runs += crowd_runs(request.client, len(hosts), len(request.cluster.hosts), cores)
    progress.stage("measuring", len(runs))
    if request.client == "gloo":
        return _of_gloo(request, hosts, chosen, runs, stack=stack, progress=progress)
    return _of_mpi(request, hosts, chosen, runs, stack=stack, progress=progress)


def _of_mpi(
    request: FitRequest,
    hosts: Sequence[RemoteHost],
    chosen: Sequence[int],
    runs: Sequence[_Run],
    *,
    stack: ExitStack,
    progress: ProgressListener,
) -> tuple[list[Reading], Costs, ClientRecord]:
    flavour = FLAVOURS[request.client]
    tools = find_tools(flavour, request.tools)
    readings: list[Reading] = []
    reductions: list[float] = []
    clients: dict[str, MpiClient] = {}
    record: ClientRecord | None = None
    for run in runs:
        if run.algorithm not in clients:
            client = MpiClient(
                flavour,
                hosts,
                algorithm=run.algorithm,
                timeout_s=request.workloads[0].timeout_s,
                way=request.way,
                tools=tools,
            )
            stack.callback(_close, client)
            record = client.start()
            clients[run.algorithm] = client
        workloads = request.workloads[:1] if run.is_crowd else request.workloads
        measured, reduction = clients[run.algorithm].launch_sizes(run.seats, workloads)
        reductions += [] if reduction is None else [reduction]
        readings += [
            _reading(hosts, chosen, run, workload=workload, measured=each)
            for workload, each in zip(workloads, measured, strict=True)
        ]
        progress.step()
    if record is None:
        raise PlinkError("nothing was measured that a client could be fitted to")
    return readings, Costs(reduction_s_per_gb=reductions), record


def _of_gloo(
    request: FitRequest,
    hosts: Sequence[RemoteHost],
    chosen: Sequence[int],
    runs: Sequence[_Run],
    *,
    stack: ExitStack,
    progress: ProgressListener,
) -> tuple[list[Reading], Costs, ClientRecord]:
    client = GlooClient(hosts, request.python, _IDLE_LIMIT_S)
    stack.callback(_close, client)
    record = client.start()
    readings: list[Reading] = []
    processor: list[float] = []
    for run in runs:
        for workload in request.workloads:
            measured = client.launch(Launch(run.seats, workload))
            readings.append(_reading(hosts, chosen, run, workload=workload, measured=measured))
            processor += _processor_of(request, workload, measured)
        progress.step()
    return readings, Costs(processor_s_per_gb=processor), record


def _of_engine(
    request: FitRequest,
    hosts: Sequence[RemoteHost],
    chosen: Sequence[int],
    stack: ExitStack,
    progress: ProgressListener,
) -> tuple[list[Reading], Costs, ClientRecord]:
    part = _part_of(request.cluster, chosen)
    kinds = _PLAN_KINDS if part.groups else _PLAN_KINDS[:2]
    progress.stage("measuring", len(kinds) * len(request.workloads))
    client = EngineClient(hosts, request.python, _IDLE_LIMIT_S)
    stack.callback(_close, client)
    record = client.start()
    readings: list[Reading] = []
    processor: list[float] = []
    for workload in request.workloads:
        demand = Demand(ALL_REDUCE, workload.size_bytes)
        for plan in plans_of_kinds(kinds, part, slots=1, demand=demand, seed=0):
            measured = client.launch(Launch(list(plan.hosts), workload, plan.forest))
            run = _Run(plan.label, list(plan.hosts))
            readings.append(
                _reading(
                    hosts, chosen, run, workload=workload, measured=measured, forest=plan.forest
                )
            )
            processor += _processor_of(request, workload, measured)
            progress.step()
    return readings, Costs(processor_s_per_gb=processor), record


def _part_of(cluster: Cluster, chosen: Sequence[int]) -> Cluster:
    """Return the chosen hosts with all that is known between them."""
    names = [cluster.names[place] for place in chosen]
    groups = [
        replace(group, hosts=[host for host in group.hosts if host in names])
        for group in cluster.groups
    ]
    return replace(
        cluster,
        hosts=[cluster.hosts[place] for place in chosen],
        rtt=None if cluster.rtt is None else cluster.rtt.for_hosts(list(chosen)),
        bandwidth=None,
        routes=None,
        conditions=None,
        groups=[group for group in groups if group.hosts],
    )


def _reading(
    hosts: Sequence[RemoteHost],
    chosen: Sequence[int],
    run: _Run,
    *,
    workload: Workload,
    measured: Measured,
    forest: Forest | None = None,
) -> Reading:
    names = [hosts[seat].name for seat in run.seats]
    sample = FitSample(run.algorithm, names, workload.size_bytes, list(measured.seconds))
    return Reading(sample, [chosen[seat] for seat in run.seats], forest)


def _processor_of(request: FitRequest, workload: Workload, measured: Measured) -> list[float]:
    """Return a rank's CPU seconds for 10^9 bytes, with the largest size."""
    largest = max(each.size_bytes for each in request.workloads)
    if workload.size_bytes < largest or not measured.cpu_s:
        return []
    return [statistics.median(measured.cpu_s) / workload.size_bytes * 1e9]


def _shared_cores(hosts: Sequence[RemoteHost]) -> int | None:
    """Return the cores of the machine that all hosts are on; None where each has its own."""
    machines = {host.machine for host in hosts}
    if len(machines) != 1 or not machines.copy().pop():
        return None
    done = hosts[0].session.run("nproc", timeout_s=_ANSWER_LIMIT_S)
    words = done.stdout.split()
    is_known = done.status == 0 and len(words) == 1 and words[0].isdigit()
    return max(1, int(words[0])) if is_known else 1


def _close(client: MpiClient | GlooClient | EngineClient) -> None:
    with ignore_interrupts():
        client.close()
