"""What a comparison is asked to do, and the cases that it consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from plink.base.errors import WrongUseError
from plink.bench.algorithms import ALGORITHMS_OF
from plink.bench.clients.base import Workload
from plink.bench.clients.mpi import MpiTools
from plink.bench.comparison.plans import PLAN_KINDS, EnginePlan
from plink.bench.orders import NamedOrder
from plink.files.cluster import Cluster
from plink.files.groups import Group
from probes.ssh.options import SshOptions
from solvers.contention.network import Network

ENGINE = "engine"
CLIENTS = (ENGINE, *ALGORITHMS_OF)


@dataclass(frozen=True)
class Case:
    """One thing that is launched once a round.

    Args:
        client: one of `CLIENTS`.
        algorithm: of a library; of the engine what the plan was asked for as.
        order: with whose ranks it runs; of the engine the plan decides, and its label is empty.
        workload: what a launch runs.
        plan: the engine's.
        predicted_s: of one allreduce; None where nothing is known of what links carry.
    """

    client: str
    algorithm: str
    order: NamedOrder
    workload: Workload
    plan: EnginePlan | None = None
    predicted_s: float | None = None


@dataclass(frozen=True)
class ComparisonRequest:
    """A comparison.

    Args:
        cluster: the hosts, and what was measured between them.
        source: what messages call the cluster file.
        made_from: its hash.
        cases: what is compared.
        network: what is known of the hosts' links, for the limit.
        groups: of near hosts, whose uplinks' bytes are told.
        assumptions: what predictions take for granted, a sentence each.
        slots: ranks on every host.
        rounds: how often every case is launched.
        seed: decides the sequence of launches.
        ssh: how hosts are reached.
        python: the interpreter on the hosts, or None.
        tools: what the MPI clients use.
    """

    cluster: Cluster
    source: str
    made_from: str
    cases: Sequence[Case]
    network: Network
    groups: Sequence[Group]
    assumptions: Sequence[str]
    rounds: int
    seed: int
    slots: int = 1
    ssh: SshOptions = field(default_factory=SshOptions)
    python: str | None = None
    tools: MpiTools = field(default_factory=MpiTools)


def ways_of(clients: Sequence[str], algorithms: Sequence[str]) -> dict[str, list[str]]:
    """What each client runs of some algorithms and kinds of plans: those that it knows.

    A client that knows none of them runs its usual one: `auto` of the engine, else a ring.

    Raises:
        WrongUseError: a word that none of the clients knows.
    """
    known_by = {name: PLAN_KINDS if name == ENGINE else ALGORITHMS_OF[name] for name in clients}
    known = list(dict.fromkeys(word for words in known_by.values() for word in words))
    for word in algorithms:
        if algorithms.count(word) > 1:
            raise WrongUseError(f"--algo names {word} twice")
        if word not in known:
            raise WrongUseError(
                f"{' and '.join(clients)} cannot be told to run {word}",
                f"--algo with --client {','.join(clients)}: {', '.join(known)}",
            )
    usual = {name: "auto" if name == ENGINE else "ring" for name in clients}
    return {
        name: [word for word in algorithms if word in words] or [usual[name]]
        for name, words in known_by.items()
    }
