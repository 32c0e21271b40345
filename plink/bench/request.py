"""Request for a bench: its cases, checked before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from plink.base.errors import WrongUseError
from plink.base.size import format_size
from plink.bench.clients.client import FLOAT32_BYTES, Workload
from plink.bench.clients.mpi import MpiTools
from plink.bench.orders import NamedOrder
from plink.bench.plans import PLAN_KINDS, EnginePlan
from plink.bench.served import ServedPlan
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group, Host
from plink.probes.options import SshOptions
from plink.probes.reach import Outgoing
from plink.solvers.contention.network import Network

ENGINE = "engine"
HUB = "hub"

# Which allreduce algorithms each library can be made to run.
ALGORITHMS_OF: Mapping[str, Sequence[str]] = {
    "gloo": ("ring",),
    "nccl": ("ring", "tree"),
    "openmpi": ("ring", "segmented-ring", "recursive-doubling", "rabenseifner"),
    "mpich": ("ring", "recursive-doubling", "reduce-scatter-allgather"),
}

CLIENTS = (ENGINE, HUB, *ALGORITHMS_OF)

# Those that run other collectives than an allreduce, too.
OF_ALL_COLLECTIVES = (ENGINE, "gloo")

# MPI counts elements in an int; the other clients are held to the same.
_MAX_ELEMENTS = (1 << 31) - 1

# A day. Far above it, system calls that take a time in an int would overflow.
_MAX_LAUNCH_S = 86_400.0


@dataclass(frozen=True)
class Case:
    """Case that is launched once a round.

    Args:
        client: one of `CLIENTS`.
        algorithm: of a library, its collective where it has but one way; for the engine what the
            plan was asked for as.
        order: with whose ranks it runs; for the engine the plan's, without a label.
        workload: what a launch runs.
        plan: the engine's.
        predicted_s: the time of one collective under contention; None where nothing is known of
            what links carry.
        predicted_us: the latency form of a library's cost; None where no round-trip time is known.
        served: the hub's plan.
    """

    client: str
    algorithm: str
    order: NamedOrder
    workload: Workload
    plan: EnginePlan | None = None
    predicted_s: float | None = None
    predicted_us: float | None = None
    served: ServedPlan | None = None


@dataclass(frozen=True)
class BenchRequest:
    """Request for a bench: hosts, clients, orders and sizes to compare.

    Args:
        cluster: the hosts, and what was measured between them.
        source: what messages call the cluster file.
        cases: what is compared.
        compares_orders: all cases are orders of one library's ranks, in one algorithm and size.
        network: what is known of the hosts' links, for the limit.
        groups: of near hosts, whose uplinks' bytes are reported.
        assumptions: what predictions assume, a sentence each.
        slots: ranks on every host.
        rounds: how often every case is launched.
        seed: decides the sequence of launches.
        way: how hosts are reached.
        python: the interpreter on the hosts, or None.
        tls: the folder of certificates on the hosts, by which the engine encrypts; None for none.
        tools: what the MPI clients use.
        servers: hosts of the hub's servers, which are not among the cluster's.
    """

    cluster: Cluster
    source: str
    cases: Sequence[Case]
    compares_orders: bool
    network: Network
    groups: Sequence[Group]
    assumptions: Sequence[str]
    rounds: int
    seed: int
    slots: int = 1
    way: Outgoing = field(default_factory=SshOptions)
    python: str | None = None
    tls: str | None = None
    tools: MpiTools = field(default_factory=MpiTools)
    servers: Sequence[Host] = ()


def full_name(client: str, algorithm: str) -> str:
    """Return a library's algorithm's name among all libraries': `openmpi-ring`."""
    return f"{client}-{algorithm}"


def ways_of(clients: Sequence[str], algorithms: Sequence[str]) -> dict[str, list[str]]:
    """Return the given algorithms and kinds of plans that each client knows.

    A client that knows none of them runs its usual one: the engine `auto`, the others a ring.

    Raises:
        WrongUseError: a word that none of the clients knows.
    """
    known_by = {
        name: PLAN_KINDS if name == ENGINE else ALGORITHMS_OF[name]
        for name in clients
        if name != HUB
    }
    known = list(dict.fromkeys(word for words in known_by.values() for word in words))
    for word in algorithms:
        if algorithms.count(word) > 1:
            raise WrongUseError(f"the algorithm {word} is named twice")
        if word not in known:
            raise WrongUseError(
                f"{' and '.join(clients)} cannot run {word}",
                f"{' and '.join(clients)} can run {', '.join(known)}",
            )
    usual = {name: "auto" if name == ENGINE else "ring" for name in clients}
    # The hub runs plans' files alone.
    return {name: [] for name in clients if name == HUB} | {
        name: [word for word in algorithms if word in words] or [usual[name]]
        for name, words in known_by.items()
    }


def check_workload(workload: Workload, ranks: int, *, may_be_tiny: bool = False) -> None:
    """Refuse what no client can run as asked.

    Args:
        workload: of each launch.
        ranks: how many there are.
        may_be_tiny: whether there may be less than an element for every rank.

    Raises:
        WrongUseError: too few ranks; a size that is not a whole number of elements, too small to be
            cut into a part for every rank (Open MPI would take another algorithm), or too large;
            or launches that may take longer than a day.
    """
    if ranks < 2:
        raise WrongUseError("a bench needs at least two ranks")
    size_bytes = workload.size_bytes
    if size_bytes % FLOAT32_BYTES:
        raise WrongUseError(
            f"a size of {format_size(size_bytes)} is not a whole number of float32 (4 bytes each)",
            "ask for a multiple of 4 bytes",
        )
    if workload.elements < ranks and not may_be_tiny:
        raise WrongUseError(
            f"a size of {format_size(size_bytes)} is less than a float32 for each of {ranks} ranks",
            f"ask for at least {ranks * FLOAT32_BYTES} bytes",
        )
    if workload.elements > _MAX_ELEMENTS:
        raise WrongUseError(
            f"a size of {format_size(size_bytes)} is more than one allreduce may take",
            f"ask for at most {_MAX_ELEMENTS * FLOAT32_BYTES} bytes",
        )
    if workload.launch_limit_s > _MAX_LAUNCH_S:
        count = workload.warmups + workload.repetitions
        raise WrongUseError(
            f"one launch might take {workload.launch_limit_s / 86_400:.3g} days, "
            f"{count} allreduces of up to {workload.timeout_s:g} s, and a day is the limit",
            "lower repetitions, warmups or the timeout; more rounds give more repetitions, too",
        )
