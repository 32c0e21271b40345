"""Input of a simulation, from files and from words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.base.size import DEFAULT_SIZE_BYTES
from plink.formats import cluster as cluster_file
from plink.formats import document
from plink.formats import order as order_file
from plink.formats import plan as plan_file
from plink.formats.cluster import Cluster
from plink.formats.order import Order
from plink.formats.plan import Plan
from plink.optimize.orders.slots import (
    build_layout,
    build_layout_like,
    build_peer_layout,
    index_placement,
)
from plink.optimize.plans.forecasting import locate_ranks
from plink.optimize.plans.traffic import Demand, build_traffic
from plink.plans.names import ALL_REDUCE
from plink.simulate import datacentres
from plink.simulate.datacentres import DataCentre
from plink.simulate.making import schedule_of_table, schedule_of_traffic
from plink.simulate.negotiating import negotiating
from plink.simulate.request import DataCentreRequest, SimulationRequest
from plink.simulate.schedule import Schedule
from plink.simulate.simgrid.platforms import Platform
from plink.simulate.simulation import Simulation, list_peers, search_order, simulate
from plink.simulate.through_servers import traffic_of_ranks
from plink.simulate.traces import files
from plink.simulate.tuning_request import SIZE_BYTES, simulate_tuner
from plink.simulate.workloads import CONTROL, Workload
from plink.solvers.collectives.registry import find

DEFAULT_ALGORITHMS = ("openmpi-ring", "openmpi-recursive-doubling", "openmpi-rabenseifner")

# With servers: through them, and between the workers.
DEFAULT_PLANS = ("plan:ps", "plan:hub", "plan:cc", "plan:flat", "plan:2lha", "plan:ring")


@dataclass(frozen=True)
class SimulationInput:
    """Input of a simulation: what is simulated, and where.

    Args:
        cluster: the hosts.
        platform: the network; None for what the cluster says of it.
        order, plan, trace: what was given, at most one of them.
        source: what messages call that.
    """

    cluster: Cluster
    platform: Platform | None
    source: str
    order: Order | None = None
    plan: Plan | None = None
    trace: Schedule | None = None

    @property
    def size_bytes(self) -> int:
        """Default size of the buffer."""
        return DEFAULT_SIZE_BYTES if self.plan is None else self.plan.size_bytes

    @property
    def algorithms(self) -> Sequence[str]:
        """Default algorithms: the order's, if it has a name that others know."""
        if self.order is None or self.order.mesh is not None:
            return DEFAULT_ALGORITHMS
        try:
            find(self.order.algorithm)
        except ValueError:
            return DEFAULT_ALGORITHMS
        return (self.order.algorithm,)


def read_input(
    file: str | None, cluster_name: str | None, shape: DataCentreRequest
) -> SimulationInput:
    """Combine a file and the description of a data centre into a simulation's input.

    Args:
        file: of a cluster, order, plan or trace; None for the data centre alone.
        cluster_name: the cluster file of an order, plan or trace.
        shape: description of a data centre, or none.

    Raises:
        WrongUseError: they do not fit each other, or are not valid.
    """
    described = _build_data_centre(shape)
    if described is not None and file is None:
        return SimulationInput(described.cluster, described.platform, described.text)
    if file is None:
        raise WrongUseError("there is nothing to simulate")
    if _is_trace(file):
        trace = files.read(file)
        source = document.label(file)
        if described is not None:
            return SimulationInput(described.cluster, described.platform, source, trace=trace)
        return SimulationInput(_cluster(cluster_name, source, "trace"), None, source, trace=trace)
    found = document.read(file)
    source = found.source
    if found.format not in (order_file.FORMAT, plan_file.FORMAT):
        if cluster_name is not None or described is not None:
            raise WrongUseError(
                f"{source}: is a cluster file, which is a network already",
                "leave out the other cluster file and the description of a data centre",
            )
        cluster = cluster_file.open_cluster(found)
        return SimulationInput(cluster, None, cluster.source)
    if described is not None:
        cluster, platform = described.cluster, described.platform
    else:
        what = "order" if found.format == order_file.FORMAT else "plan"
        cluster, platform = _cluster(cluster_name, source, what), None
    if found.format == order_file.FORMAT:
        order = order_file.decode_order(found.data, source)
        return SimulationInput(cluster, platform, source, order=order)
    return SimulationInput(
        cluster, platform, source, plan=plan_file.decode_plan(found.data, source, with_servers=True)
    )


def _is_trace(file: str) -> bool:
    if file == document.STANDARD_STREAM:
        return False
    return files.is_trace(file)


def _cluster(name: str | None, source: str, what: str) -> Cluster:
    if name is None:
        raise WrongUseError(
            f"{source}: {'an' if what == 'order' else 'a'} {what} file does not hold a network",
            "name the cluster file with --cluster FILE, or describe a data centre: --racks 16",
        )
    return cluster_file.read_cluster(name)


def _build_data_centre(shape: DataCentreRequest) -> DataCentre | None:
    """Return the data centre that options describe; None where there is none."""
    if shape.racks is not None:
        return datacentres.racks(
            shape.racks,
            shape.hosts,
            oversubscription=shape.oversubscription,
            rows=shape.rows,
            row_oversubscription=shape.row_oversubscription,
            **shape.links,
        )
    if shape.fat_tree is not None:
        parts = [_numbers(part, "the fat tree") for part in shape.fat_tree.split(":")]
        if len(parts) == 2:
            parts.append([1] * len(parts[0]))
        if len(parts) != 3:
            raise WrongUseError(
                f"a fat tree of {shape.fat_tree[:60]!r}", "write it as 16,8:1,4 or 16,8:1,4:1,2"
            )
        return datacentres.fat_tree(*parts, **shape.links)
    if shape.dragonfly is not None:
        parts = [_numbers(part, "the dragonfly") for part in shape.dragonfly.split(":")]
        if len(parts[0]) != 4 or len(parts) > 2:
            raise WrongUseError(
                f"a dragonfly of {shape.dragonfly[:60]!r}",
                "write it as 4,2,4,4 or 4,2,4,4:1,1,1",
            )
        between = parts[1] if len(parts) == 2 else [1, 1, 1]
        groups, chassis, routers, nodes = parts[0]
        return datacentres.dragonfly(groups, chassis, routers, nodes, between, **shape.links)
    return None


def _numbers(text: str, what: str) -> list[int]:
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() and len(word) <= 6 for word in words):
        raise WrongUseError(f"{what} has {text[:60]!r}, which are no whole numbers")
    return [int(word) for word in words]


def complete_request(subject: SimulationInput, request: SimulationRequest) -> SimulationRequest:
    """Return the request with the algorithms and the size that the input suggests.

    Raises:
        WrongUseError: the request does not fit the input.
    """
    is_placed = subject.plan is not None or subject.trace is not None
    if request.collectives and subject.plan is None:
        raise WrongUseError(
            "{collective} applies only to a plan",
            "{algorithms} chooses what runs in an order",
            arguments=vars(request),
        )
    if request.algorithms and is_placed:
        kind = "plan" if subject.plan is not None else "trace"
        raise WrongUseError(
            f"{{algorithms}} applies to orders, not to a {kind}", arguments=vars(request)
        )
    if request.servers and (subject.order is not None or subject.trace is not None):
        raise WrongUseError(
            "{servers} needs a cluster, a plan or {racks}",
            "give a cluster file, a plan or {racks}",
            arguments={**vars(request), "racks": None},
        )
    if request.tuner is not None and (is_placed or subject.order is not None):
        raise WrongUseError(
            "{tuner} needs a network and nothing else",
            "name a cluster file, or {racks}",
            arguments={**vars(request), "racks": None},
        )
    usual = DEFAULT_PLANS if request.servers else subject.algorithms
    size = SIZE_BYTES if request.tuner is not None else subject.size_bytes
    return replace(
        request,
        algorithms=request.algorithms or usual,
        size=size if request.size is None else request.size,
    )


def simulate_input(
    subject: SimulationInput, request: SimulationRequest, tell: Callable[[str], None]
) -> Simulation:
    """Simulate what runs on a network: a tuned job, algorithms, a plan or a trace.

    Args:
        subject: what runs where.
        request: the completed request (`complete_request`).
        tell: called with what begins.

    Raises:
        WrongUseError: no such algorithm, or none that takes so many ranks.
        PlinkError: SimGrid is not there, or it failed.
    """
    if request.tuner is not None:
        return simulate_tuner(
            subject.cluster,
            subject.platform,
            request.tuner,
            size_bytes=request.size_bytes,
            seed=request.seed,
            timeout_s=request.timeout_s,
            tell=tell,
        )
    return simulate(
        subject.cluster,
        request,
        platform=subject.platform,
        order=subject.order,
        plan=subject.plan,
        trace=subject.trace,
        source=subject.source,
        tell=tell,
    )


def schedule_on_hosts(subject: SimulationInput, request: SimulationRequest) -> Schedule:
    """Return the schedule of hosts for one algorithm or one collective of a plan, as a trace.

    Rank n of the trace is the n-th slot of the cluster's hosts, whatever rank of the job the order
    puts there, so that who reads it may place ranks on the same network one after the other.

    Args:
        subject: what runs where.
        request: of one algorithm; of plink's own order, where no other was given.

    Raises:
        WrongUseError: several algorithms or collectives, or SMPI's.
    """
    if subject.trace is not None:
        return subject.trace
    layout = build_layout(subject.cluster.hosts, None)
    placement = layout.placement(range(layout.hosts))
    slots = layout.slots
    if subject.plan is not None:
        names = request.collectives or (ALL_REDUCE,)
        if len(names) > 1:
            raise WrongUseError(
                "a trace is of one collective",
                "choose it: {collective=}",
                arguments={"collective": names[0]},
            )
        hosts = locate_ranks(subject.plan, subject.cluster, subject.source)
        if subject.plan.has_servers and names[0] != ALL_REDUCE:
            raise WrongUseError(f"{subject.source}: servers aggregate what an all-reduce does")
        sent = (
            traffic_of_ranks(subject.plan, request.size_bytes)
            if subject.plan.has_servers
            else build_traffic(Demand(names[0], request.size_bytes), subject.plan.forest)
        )
        made = schedule_of_traffic(sent, len(subject.plan.ranks))
        return _move_to_slots(made, hosts, slots)
    algorithms = request.algorithm_names
    if len(algorithms) > 1:
        raise WrongUseError(
            "a trace is of one algorithm",
            "name it: {algo=}",
            arguments={"algo": algorithms[0]},
        )
    name = algorithms[0]
    family, _, mode = name.partition(":")
    if family == CONTROL:
        found = negotiating(mode, layout.ranks, subject.cluster, subject.platform)
        return _move_to_slots(found.schedule, placement.tolist(), slots)
    try:
        algorithm = find(name)
    except ValueError as error:
        raise WrongUseError(f"a trace is of an algorithm of plink's: {error}") from None
    if subject.order is not None:
        placement = np.asarray(index_placement(subject.cluster, subject.order, subject.source))
        # Which may have fewer ranks than the cluster has slots, or more.
        layout = build_layout_like(subject.cluster, subject.order)
    peers = build_peer_layout(algorithm, layout)
    reason = algorithm.refusal(peers.ranks)
    if reason is not None:
        raise WrongUseError(reason)
    if subject.order is None and request.search_s > 0.0 and subject.cluster.rtt is not None:
        placement = search_order(subject.cluster, request, Workload(name), None)
    placement = list_peers(algorithm, placement)
    made = schedule_of_table(algorithm.table(peers.ranks, request.size_bytes))
    return _move_to_slots(made, placement.tolist(), slots)


def _move_to_slots(schedule: Schedule, host_of: Sequence[int], slots: Sequence[int]) -> Schedule:
    """Return the schedule with its ranks called by the slots that they are in.

    Args:
        schedule: of the ranks.
        host_of: of every rank.
        slots: of every host, which has more where more ranks are on it.
    """
    room = np.maximum(slots, np.bincount(host_of, minlength=len(slots)))
    ends = np.cumsum(room)
    free = [iter(range(end - count, end)) for count, end in zip(room, ends, strict=True)]
    place = np.array([next(free[host]) for host in host_of], dtype=np.int64)
    peer = np.where(schedule.peer >= 0, place[np.maximum(schedule.peer, 0)], schedule.peer)
    return replace(schedule, ranks=int(ends[-1]), rank=place[schedule.rank], peer=peer)
