"""A bench from request to result: reach the hosts, start the client, run the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from plink.bench.clients import mpich, openmpi
from plink.bench.clients.base import Client
from plink.bench.clients.gloo import GlooClient
from plink.bench.clients.mpi import MpiClient
from plink.bench.hosts import BenchHost, describe
from plink.bench.interrupts import without_interrupts
from plink.bench.request import BenchRequest
from plink.bench.result import BenchResult, Setting, make_result
from plink.bench.run import run_rounds
from plink.distance import distances
from plink.errors import PlinkError
from probes.hosts.host import ListedHost
from probes.reach import reach
from solvers.ring.reference import ring_cost

_MPI_FLAVOURS = {"openmpi": openmpi.FLAVOUR, "mpich": mpich.FLAVOUR}

CLIENTS = ("gloo", *_MPI_FLAVOURS)


class Progress(Protocol):
    """Told how far the bench is."""

    def stage(self, name: str, total: int) -> None:
        """A stage of `total` steps begins."""

    def step(self) -> None:
        """A step of the current stage is done."""

    def say(self, text: str) -> None:
        """Something the user should know."""


@dataclass(frozen=True)
class BenchRun:
    """What was measured, and why not all of it, or None."""

    result: BenchResult
    stopped: PlinkError | None


def bench(request: BenchRequest, progress: Progress) -> BenchRun:
    """Run a bench.

    Raises:
        HostError, HostListError, OptionError: a host cannot take part.
        PlinkError: nothing could be measured.
        KeyboardInterrupt: the user stopped it before anything was measured.
    """
    entries = request.cluster.hosts
    predicted_us = _predicted_us(request)
    listed = [ListedHost(entry.name, user=entry.user, port=entry.port) for entry in entries]
    progress.stage("connecting", len(listed))
    with reach(listed, request.ssh, on_done=progress.step) as reached:
        hosts = describe(entries, reached)
        client = _make_client(request, hosts)
        try:
            progress.stage("starting", 1)
            facts = client.start()
            progress.stage("measuring", request.rounds * len(request.orders))
            outcome = run_rounds(
                client, request.orders, request.rounds, request.seed, progress.step
            )
        finally:
            with without_interrupts():
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
    result = make_result(setting, names, request.orders, outcome, predicted_us)
    return BenchRun(result, outcome.stopped)


def _predicted_us(request: BenchRequest) -> list[float]:
    matrix_us = distances(request.cluster).matrix_us
    return [ring_cost(matrix_us, entry.order) for entry in request.orders]


def _make_client(request: BenchRequest, hosts: Sequence[BenchHost]) -> Client:
    if request.client == "gloo":
        return GlooClient(hosts, request.workload, request.python)
    flavour = _MPI_FLAVOURS[request.client]
    return MpiClient(flavour, hosts, request.workload, request.ssh, request.tools)
