"""Fit of a client's software costs to the times of short runs on a few hosts."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from operator import attrgetter

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
from plink.bench.comparison_request import CostRequest
from plink.bench.plans import plans_of_kinds
from plink.bench.request import ENGINE
from plink.deploy.remote.hosts import RemoteHost, describe
from plink.formats.clients import FitSample
from plink.formats.cluster import Cluster, build_not_measured_error
from plink.formats.comparison import ClientRecord
from plink.measure.listed import apply_recorded_way
from plink.measure.probing.request import restrict_to_hosts
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
class _Run:
    """Algorithm to launch in every size, with the place of each rank's host among the chosen."""

    algorithm: str
    seats: Sequence[int]
    is_crowd: bool = False


def fit(
    request: CostRequest, cluster: Cluster, source: str, way: Outgoing, progress: ProgressListener
) -> Cluster:
    """Run a client on some hosts, and return the cluster with the client's software costs.

    Args:
        request: client and launches.
        cluster: hosts, and what is known of their network: rates at least.
        source: name of the cluster's file in messages.
        way: how hosts are reached where the cluster does not say.
        progress: observer of the stages.

    Raises:
        HostError: a host cannot take part.
        PlinkError: several cannot, or a tool is missing here.
        WrongUseError: nothing is known of what links carry, or there are too few hosts.
    """
    if not build_network(cluster).has_rates:
        raise build_not_measured_error(cluster, "rates", source)
    chosen = chosen_hosts(cluster, request.hosts)
    if len(chosen) < 2:
        raise WrongUseError(f"{source}: a fit needs at least 2 hosts")
    way = apply_recorded_way(way, cluster.way, source)
    part = restrict_to_hosts(cluster, [cluster.hosts[place] for place in chosen])
    progress.stage("connecting", len(chosen))
    with ExitStack() as stack:
        reached = stack.enter_context(reach_all(part, source, way, progress))
        refuse_failures(reached, progress)
        hosts = describe(part.hosts, reached)
        cores = _shared_cores(hosts)
        measurement = _Measurement(request, cluster, part, hosts, chosen, stack, progress)
        measurement.run(way, cores)
    if measurement.record is None:
        raise PlinkError("nothing was measured that a client could be fitted to")
    progress.stage("fitting", 1)
    found = replace(
        fit_client(
            cluster,
            request.client,
            measurement.readings,
            Costs(measurement.reductions, measurement.processor),
            shared_cores=cores,
        ),
        versions=dict(measurement.record.versions),
        started=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    )
    progress.step()
    others = [each for each in cluster.clients if each.client != found.client]
    return replace(cluster, clients=sorted([*others, found], key=attrgetter("client")))


def chosen_hosts(cluster: Cluster, most: int) -> list[int]:
    """Return the places of hosts to run on, as many of each of the two largest groups."""
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


@dataclass
class _Measurement:
    """Runs of one client on the chosen hosts, and what was measured in them.

    Args:
        request: client and launches.
        cluster: all hosts of the cluster.
        part: the cluster of the chosen hosts alone.
        hosts: the chosen hosts.
        chosen: their places in the cluster.
        stack: stack that closes the clients.
        progress: observer of the runs.
        readings: times of all runs.
        reductions: seconds to add 10^9 bytes, each time that it was measured.
        processor: CPU seconds of a rank for 10^9 bytes, of each run with the largest size.
        record: versions and settings of the client; None before it was started.
    """

    request: CostRequest
    cluster: Cluster
    part: Cluster
    hosts: Sequence[RemoteHost]
    chosen: Sequence[int]
    stack: ExitStack
    progress: ProgressListener
    readings: list[Reading] = field(default_factory=list)
    reductions: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    record: ClientRecord | None = None

    @property
    def workloads(self) -> list[Workload]:
        """A workload of float32 for each size, the least first."""
        repetitions, timeout_s = self.request.repetitions, self.request.timeout_s
        return [
            Workload(4 * max(16, size // 4), 1, repetitions, timeout_s)
            for size in self.request.sizes
        ]

    def run(self, way: Outgoing, cores: int | None) -> None:
        """Run the client on the hosts, which share so many cores if they are one machine."""
        request, hosts = self.request, self.hosts
        if request.client == ENGINE:
            self._run_engine()
            return
        group_of = {
            host: number for number, group in enumerate(self.cluster.groups) for host in group.hosts
        }
        own = [group_of.get(host.name) for host in hosts]
        runs = list(runs_of(request.client, len(hosts), own.count(own[0])))
        runs += crowd_runs(request.client, len(hosts), len(self.cluster.hosts), cores)
        self.progress.stage("measuring", len(runs))
        if request.client == "gloo":
            self._run_gloo(runs)
        else:
            self._run_mpi(runs, way)

    def _run_mpi(self, runs: Sequence[_Run], way: Outgoing) -> None:
        request, flavour = self.request, FLAVOURS[self.request.client]
        tools = find_tools(flavour, MpiTools(request.mpicc, request.mpirun, request.remote_cache))
        clients: dict[str, MpiClient] = {}
        for run in runs:
            if run.algorithm not in clients:
                client = MpiClient(
                    flavour,
                    self.hosts,
                    algorithm=run.algorithm,
                    timeout_s=request.timeout_s,
                    way=way,
                    tools=tools,
                )
                self._start(client)
                clients[run.algorithm] = client
            workloads = self.workloads[:1] if run.is_crowd else self.workloads
            measured, reduction = clients[run.algorithm].launch_sizes(run.seats, workloads)
            self.reductions += [] if reduction is None else [reduction]
            for workload, each in zip(workloads, measured, strict=True):
                self._add_reading(run, workload, each)
            self.progress.step()

    def _run_gloo(self, runs: Sequence[_Run]) -> None:
        client = GlooClient(self.hosts, self.request.python, _IDLE_LIMIT_S)
        self._start(client)
        for run in runs:
            for workload in self.workloads:
                self._launch(client, run, workload)
            self.progress.step()

    def _run_engine(self) -> None:
        # Plans by round-trip times: rates of links between these hosts would leave no choice.
        part = replace(self.part, bandwidth=None)
        kinds = _PLAN_KINDS if part.groups else _PLAN_KINDS[:2]
        self.progress.stage("measuring", len(kinds) * len(self.workloads))
        client = EngineClient(self.hosts, self.request.python, _IDLE_LIMIT_S)
        self._start(client)
        for workload in self.workloads:
            demand = Demand(ALL_REDUCE, workload.size_bytes)
            for plan in plans_of_kinds(kinds, part, slots=1, demand=demand, seed=0):
                self._launch(client, _Run(plan.label, list(plan.hosts)), workload, plan.forest)
                self.progress.step()

    def _start(self, client: MpiClient | GlooClient | EngineClient) -> None:
        self.stack.callback(_close, client)
        self.record = client.start()

    def _launch(
        self,
        client: GlooClient | EngineClient,
        run: _Run,
        workload: Workload,
        forest: Forest | None = None,
    ) -> None:
        measured = client.launch(Launch(run.seats, workload, forest))
        self._add_reading(run, workload, measured, forest)
        largest = max(each.size_bytes for each in self.workloads)
        if workload.size_bytes == largest and measured.cpu_s:
            self.processor.append(statistics.median(measured.cpu_s) / largest * 1e9)

    def _add_reading(
        self, run: _Run, workload: Workload, measured: Measured, forest: Forest | None = None
    ) -> None:
        names = [self.hosts[seat].name for seat in run.seats]
        sample = FitSample(run.algorithm, names, workload.size_bytes, list(measured.seconds))
        self.readings.append(Reading(sample, [self.chosen[seat] for seat in run.seats], forest))


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
