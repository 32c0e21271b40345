"""Rows of a bench's result, made from launches: times, limits of links, bytes per link."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.bench.clients.client import Measured
from plink.bench.clients.client import Traffic as SeenTraffic
from plink.bench.request import BenchRequest, Case
from plink.bench.rounds import Rounds
from plink.formats.comparison import BytesByLink, ComparisonRow, LinkBytes
from plink.formats.hosts import Group
from plink.optimize.plans.traffic import (
    Demand,
    Traffic,
    build_traffic,
    compute_least_exchange,
    traffic_bytes,
)
from plink.plans.names import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BARRIER,
    BROADCAST,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
    SEND_RECEIVE,
)
from plink.solvers.contention.network import Network, make_network
from plink.solvers.forests.lower_bound import lower_bound_s

# Where the two bounds are this near to each other, hosts' links are named.
_EQUAL = 1.001

Bytes = npt.NDArray[np.float64]

# What a rank sends at least of the buffer, where all have as fast links: the bus bandwidth of
# nccl-tests.
BUS_FACTORS: Mapping[str, Callable[[int], float]] = {
    ALL_REDUCE: lambda ranks: 2 * (ranks - 1) / ranks,
    **dict.fromkeys(
        (REDUCE_SCATTER, ALL_GATHER, GATHER, SCATTER, ALL_TO_ALL), lambda ranks: (ranks - 1) / ranks
    ),
    **dict.fromkeys((BROADCAST, REDUCE, SEND_RECEIVE), lambda _: 1.0),
    BARRIER: lambda _: 0.0,
}


@dataclass(frozen=True)
class Limit:
    """Least time that links allow for one collective, without latency.

    Args:
        time_s: the time, in s.
        by: links that set it, `hosts` or `uplinks`.
    """

    time_s: float
    by: str


def make_rows(request: BenchRequest, done: Rounds[Measured]) -> list[ComparisonRow]:
    """Return the rows of a comparison for the cases that ran."""
    # In the first round every case has run once or not at all, so that all of it can be compared.
    compared = max(1, done.rounds_done)
    return [
        _row(case, request, launches, compared)
        for case, launches in zip(request.cases, done.results, strict=True)
        if launches
    ]


def limit_of(network: Network, demand: Demand, host_of: Sequence[int]) -> Limit | None:
    """Return the least time that links allow; None for a barrier and where no rate is known.

    Args:
        network: its unknown links are unlimited.
        demand: the collective.
        host_of: (P,) the host of each rank.
    """
    if demand.collective == BARRIER:
        return None
    least = compute_least_exchange(demand, host_of)
    whole_s = lower_bound_s(network, least)
    if whole_s == 0.0:
        return None
    alone = make_network(
        network.hosts,
        send_bytes_s=network.send_bytes_s,
        receive_bytes_s=network.receive_bytes_s,
        group_of=network.group_of,
        uplink_send_bytes_s=np.full(network.groups, np.inf),
        uplink_receive_bytes_s=np.full(network.groups, np.inf),
    )
    is_by_uplinks = whole_s > _EQUAL * lower_bound_s(alone, least)
    return Limit(whole_s, "uplinks" if is_by_uplinks else "hosts")


def links_of(
    launches: Sequence[SeenTraffic],
    repetitions: int,
    traffic: Traffic,
    *,
    names: Sequence[str],
    host_of: Sequence[int],
    groups: Sequence[Group],
) -> BytesByLink:
    """Return the bytes that a collective sent over each host's link and group's uplink.

    Args:
        launches: bytes that were counted in each launch, at least one.
        repetitions: number of timed repetitions of each launch.
        traffic: traffic that the plan predicts.
        names: names of the hosts.
        host_of: (P,) the host of each rank.
        groups: of hosts; what their hosts exchange with all others crosses their uplinks.
    """
    count = repetitions * len(launches)
    hosts = np.asarray(host_of, dtype=np.intp)
    sent = _of_hosts(np.sum([one.sent_bytes for one in launches], axis=0) / count, hosts)
    # Counted by the receiver: turned round, so that a row is the sender here, too.
    received = _of_hosts(np.sum([one.received_bytes for one in launches], axis=0).T / count, hosts)
    planned = _of_hosts(traffic_bytes(traffic), hosts)
    place_of = {name: place for place, name in enumerate(names)}
    members = [(name, [place_of[name]]) for name in names if place_of[name] in set(host_of)]
    of_groups = [
        (group.name, [place_of[host] for host in group.hosts if host in place_of])
        for group in groups
    ]
    return BytesByLink(
        [_link(name, inside, sent, received, planned) for name, inside in members],
        [_link(name, inside, sent, received, planned) for name, inside in of_groups if inside],
    )


def _row(
    case: Case,
    request: BenchRequest,
    launches: Sequence[Measured],
    compared: int,
) -> ComparisonRow:
    names = request.cluster.names
    size_bytes, ranks = case.workload.size_bytes, len(case.order.order)
    demand = Demand(case.workload.collective, size_bytes)
    limit = _limit(case, request, demand)
    bus = BUS_FACTORS[demand.collective](ranks)
    samples_s = [sample for launch in launches[:compared] for sample in launch.seconds]
    median_s = float(np.median(samples_s))
    cpu_s = [used for launch in launches[:compared] for used in launch.cpu_s]
    traffic = [launch.traffic for launch in launches if launch.traffic is not None]
    planned = case.served or case.plan
    links = None
    if case.plan is not None and traffic:
        links = links_of(
            traffic,
            case.workload.repetitions,
            build_traffic(demand, case.plan.forest),
            names=names,
            host_of=case.order.order,
            groups=request.groups,
        )
    return ComparisonRow(
        client=case.client,
        algorithm=case.algorithm,
        plan=None if planned is None else planned.kind,
        order=case.order.label or None,
        collective=demand.collective,
        size_bytes=size_bytes,
        hosts=[names[host] for host in case.order.order],
        median_s=median_s,
        min_s=min(samples_s),
        max_s=max(samples_s),
        bus_mbit=8 * size_bytes * bus / median_s / 1e6,
        cpu_s_per_gb=statistics.median(cpu_s) / size_bytes * 1e9 if cpu_s and bus else None,
        limit_s=None if limit is None else limit.time_s,
        limit_by=None if limit is None else limit.by,
        predicted_s=case.predicted_s,
        links=links,
        samples_s=[sample for launch in launches for sample in launch.seconds],
        cpu_s=[used for launch in launches for used in launch.cpu_s],
    )


def _limit(case: Case, request: BenchRequest, demand: Demand) -> Limit | None:
    served = case.served
    between_workers = limit_of(request.network, demand, case.order.order)
    if served is None or between_workers is None:
        return between_workers
    # Its servers' ports are none of the network's links.
    if served.bound_s is None or served.size_bytes != demand.size_bytes:
        return None
    return Limit(served.bound_s, "hosts")


def _of_hosts(between: Bytes, host_of: npt.NDArray[np.intp]) -> Bytes:
    """Sum bytes between ranks, (P, P), to bytes between different hosts, (N, N)."""
    hosts = int(host_of.max()) + 1
    total = np.zeros((hosts, hosts))
    np.add.at(total, (host_of[:, None], host_of[None, :]), between)
    np.fill_diagonal(total, 0.0)
    return total


def _link(
    name: str, inside: Sequence[int], sent: Bytes, received: Bytes, planned: Bytes
) -> LinkBytes:
    is_inside = np.zeros(len(sent), dtype=bool)
    is_inside[[host for host in inside if host < len(sent)]] = True
    out, into = np.ix_(is_inside, ~is_inside), np.ix_(~is_inside, is_inside)
    return LinkBytes(
        name,
        sent_bytes=float(sent[out].sum()),
        received_bytes=float(received[into].sum()),
        plan_sent_bytes=float(planned[out].sum()),
        plan_received_bytes=float(planned[into].sum()),
    )
