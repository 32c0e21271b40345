"""What a bench is asked to do, checked before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from plink.base.errors import WrongUseError
from plink.base.size import format_size
from plink.bench.algorithms import full_name
from plink.bench.clients.base import FLOAT32_BYTES, Workload
from plink.bench.clients.mpi import MpiTools
from plink.bench.orders import NamedOrder, Sources, names_in, resolve_orders
from plink.bench.spread import spread_orders
from plink.files import order_file
from plink.files.cluster import Cluster
from plink.model.network import KnownNetwork, network_of
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.optimize.prediction import Predictor, known_distances
from probes.ssh.options import SshOptions
from solvers.collectives.registry import find
from solvers.slots.layout import RankLayout

# MPI counts elements in an int; the other clients are held to the same.
_MAX_ELEMENTS = (1 << 31) - 1

# A day. Far above it, system calls that take a time in an int would overflow.
_MAX_LAUNCH_S = 86_400.0


@dataclass(frozen=True)
class Outlook:
    """What is predicted for any order of a bench, and from what.

    Args:
        algorithm: the client's, by its full name.
        size_bytes: of each rank's buffer.
        predictor: of its costs.
        network: what is known of the hosts.
    """

    algorithm: str
    size_bytes: int
    predictor: Predictor
    network: KnownNetwork


@dataclass(frozen=True)
class BenchRequest:
    """A bench.

    Args:
        cluster: the hosts, and what was measured between them.
        source: what messages call the cluster file.
        made_from: its hash.
        client: `gloo`, `openmpi` or `mpich`.
        workload: what every launch runs.
        orders: the orders to compare.
        ahead: what is predicted for them.
        slots: ranks on a host at most.
        rounds: how often each is launched.
        seed: decides the sequence of launches.
        ssh: how hosts are reached.
        python: Gloo's interpreter on the hosts, or None.
        tools: what an MPI client uses.
    """

    cluster: Cluster
    source: str
    made_from: str
    client: str
    workload: Workload
    orders: Sequence[NamedOrder]
    ahead: Outlook
    rounds: int
    seed: int
    slots: int = 1
    ssh: SshOptions = field(default_factory=SshOptions)
    python: str | None = None
    tools: MpiTools = field(default_factory=MpiTools)


def check_workload(workload: Workload, ranks: int, *, may_be_tiny: bool = False) -> None:
    """Refuse what no client can run as asked.

    Args:
        workload: of each launch.
        ranks: how many there are.
        may_be_tiny: whether there may be less than an element for every rank.

    Raises:
        WrongUseError: too few ranks; a size that is no whole number of elements, too small to be
            cut into a part for every rank (Open MPI would take another algorithm), or too large;
            or launches that may take longer than a day.
    """
    if ranks < 2:
        raise WrongUseError("a bench needs at least two ranks")
    size_bytes = workload.size_bytes
    if size_bytes % FLOAT32_BYTES:
        raise WrongUseError(
            f"--size {format_size(size_bytes)} is no whole number of float32 (4 bytes each)",
            "ask for a multiple of 4 bytes",
        )
    if workload.elements < ranks and not may_be_tiny:
        raise WrongUseError(
            f"--size {format_size(size_bytes)} is less than one float32 for each of {ranks} ranks",
            f"ask for at least {ranks * FLOAT32_BYTES} bytes",
        )
    if workload.elements > _MAX_ELEMENTS:
        raise WrongUseError(
            f"--size {format_size(size_bytes)} is more than one allreduce may take",
            f"ask for at most {_MAX_ELEMENTS * FLOAT32_BYTES} bytes",
        )
    if workload.launch_limit_s > _MAX_LAUNCH_S:
        count = workload.warmups + workload.repetitions
        raise WrongUseError(
            f"one launch might take {workload.launch_limit_s / 86_400:.3g} days, "
            f"{count} allreduces of up to {workload.timeout_s:g} s, and a day is the limit",
            "lower --repetitions, --warmups or --timeout; --rounds gives more repetitions, too",
        )


def outlook(cluster: Cluster, client: str, workload: Workload, ranks: int | None = None) -> Outlook:
    """What is predicted for orders of so many ranks on a cluster; one a host for None."""
    name = full_name(client, workload.algorithm)
    network = network_of(cluster)
    predictor = Predictor(
        find(name),
        len(cluster.hosts) if ranks is None else ranks,
        workload.size_bytes,
        distances=known_distances(cluster),
        network=network,
    )
    return Outlook(name, workload.size_bytes, predictor, network)


def read_orders(
    text: str,
    cluster: Cluster,
    ahead: Outlook,
    *,
    seed: int,
    time_limit_s: float,
    filling: RankLayout | None = None,
) -> list[NamedOrder]:
    """The orders that `text` names (`plink.bench.orders`).

    Args:
        text: such as `given,plink,random:5`.
        cluster: the hosts and their round-trip times.
        ahead: what is predicted for orders.
        seed: decides the random orders and plink's search.
        time_limit_s: of that search.
        filling: how ranks fill the hosts, all of which have as many slots; one rank each for None.

    Raises:
        WrongUseError: a word that names no order, or a file that holds none of these hosts.
        KeyboardInterrupt: the user stopped plink's search.
    """
    names = cluster.names
    filled = filling or RankLayout([1] * len(names), len(names))

    def solved() -> list[int]:
        wanted = OrderRequest(
            algorithm=ahead.algorithm,
            size_bytes=ahead.size_bytes,
            seed=seed,
            time_limit_s=time_limit_s,
            ranks=filled.ranks,
            slots=filled.slots[0],
        )
        order = find_order(cluster, wanted)
        if order.solver.ended_by == "interrupt":
            raise KeyboardInterrupt
        hosts = [names.index(name) for name in order.names]
        return [
            host
            for host, placed in zip(hosts, order.hosts, strict=True)
            for _ in range(placed.slots)
        ]

    def in_order_file(path: str) -> list[str]:
        order = order_file.read(path)
        if len(order.names) < order.ranks != filled.ranks and len(order.names) < len(names):
            slots = max(host.slots for host in order.hosts)
            raise WrongUseError(
                f"{path}: has {order.ranks} ranks on {len(order.names)} of {len(names)} hosts, "
                f"the bench has {filled.ranks}",
                f"--ranks {order.ranks} --slots {slots} compares orders of so many",
            )
        if order.host_of_rank is None:
            return order.names
        return [order.names[host] for host in order.host_of_rank]

    def listed(path: str) -> list[str]:
        try:
            return names_in(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise WrongUseError(f"{path}: cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise WrongUseError(f"{path}: is not text") from None

    sources = Sources(
        names=names,
        filling=filled,
        seed=seed,
        solve=solved,
        spread=lambda count: spread_orders(ahead.predictor, ahead.network, count, seed),
        read_order=in_order_file,
        read_names=listed,
    )
    return resolve_orders(text, sources)
