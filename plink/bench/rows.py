"""From launches to the rows of a result: times, what links allow at least, and bytes per link."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.bench.clients.client import Measured, Traffic
from plink.bench.request import BenchRequest, Case
from plink.bench.rounds import Rounds
from plink.bench.statistics import spread
from plink.files.comparison import LinkBytes, Links, Row
from plink.files.groups import Group
from plink.plans.forest import Forest, make_forest
from plink.plans.measures import bytes_between
from plink.solvers.contention.network import Network, make_network
from plink.solvers.forests.lower_bound import allreduce_bound_s
from plink.solvers.forests.time import dealt

# Where the two bounds are this near to each other, hosts' links are named.
_EQUAL = 1.001

Bytes = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Limit:
    """A lower bound.

    Args:
        time_s: of one allreduce, latency left out.
        by: whose links set it: `hosts` or `uplinks`.
    """

    time_s: float
    by: str


def make_rows(request: BenchRequest, done: Rounds[Measured]) -> list[Row]:
    """Rows for the cases that ran."""
    # In the first round every case has run once or not at all, so that all of it can be compared.
    compared = max(1, done.rounds_done)
    limits = {
        size_bytes: limit_of(request.network, size_bytes)
        for size_bytes in {case.workload.size_bytes for case in request.cases}
    }
    return [
        _row(case, request, launches, compared, limits[case.workload.size_bytes])
        for case, launches in zip(request.cases, done.results, strict=True)
        if launches
    ]


def limit_of(network: Network, size_bytes: int) -> Limit | None:
    """The bound of `plink.solvers.forests.time`; None where nothing is known of what links carry.

    Args:
        network: its unknown links are unlimited.
        size_bytes: of each rank's buffer.
    """
    whole_s = allreduce_bound_s(network, size_bytes)
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
    is_by_uplinks = whole_s > _EQUAL * allreduce_bound_s(alone, size_bytes)
    return Limit(whole_s, "uplinks" if is_by_uplinks else "hosts")


def links_of(
    launches: Sequence[Traffic],
    repetitions: int,
    forest: Forest,
    size_bytes: int,
    *,
    names: Sequence[str],
    host_of: Sequence[int],
    groups: Sequence[Group],
) -> Links:
    """The bytes over every link.

    Args:
        launches: at least one.
        repetitions: timed ones of each launch.
        forest: the plan.
        size_bytes: of each rank's buffer.
        names: of the hosts.
        host_of: (P,) the host of each rank.
        groups: of hosts; what their hosts exchange with all others crosses their uplinks.
    """
    count = repetitions * len(launches)
    hosts = np.asarray(host_of, dtype=np.intp)
    sent = _of_hosts(np.sum([one.sent_bytes for one in launches], axis=0) / count, hosts)
    # Counted by the receiver: turned round, so that a row is the sender here, too.
    received = _of_hosts(np.sum([one.received_bytes for one in launches], axis=0).T / count, hosts)
    planned = _of_hosts(planned_bytes(forest, size_bytes), hosts)
    place_of = {name: place for place, name in enumerate(names)}
    members = [(name, [place_of[name]]) for name in names if place_of[name] in set(host_of)]
    of_groups = [
        (group.name, [place_of[host] for host in group.hosts if host in place_of])
        for group in groups
    ]
    return Links(
        [_link(name, inside, sent, received, planned) for name, inside in members],
        [_link(name, inside, sent, received, planned) for name, inside in of_groups if inside],
    )


def planned_bytes(forest: Forest, size_bytes: int) -> Bytes:
    """(P, P) what a plan lets each rank (row) send to each other, by the routes of that size."""
    return bytes_between(make_forest(*dealt(forest, size_bytes)), size_bytes)


def _row(
    case: Case,
    request: BenchRequest,
    launches: Sequence[Measured],
    compared: int,
    limit: Limit | None,
) -> Row:
    names = request.cluster.names
    size_bytes, ranks = case.workload.size_bytes, len(case.order.order)
    times = spread([sample for launch in launches[:compared] for sample in launch.seconds])
    cpu_s = [used for launch in launches[:compared] for used in launch.cpu_s]
    traffic = [launch.traffic for launch in launches if launch.traffic is not None]
    links = None
    if case.plan is not None and traffic:
        links = links_of(
            traffic,
            case.workload.repetitions,
            case.plan.forest,
            size_bytes,
            names=names,
            host_of=case.order.order,
            groups=request.groups,
        )
    return Row(
        client=case.client,
        algorithm=case.algorithm,
        plan=None if case.plan is None else case.plan.kind,
        order=case.order.label or None,
        size_bytes=size_bytes,
        hosts=[names[host] for host in case.order.order],
        median_s=times.median_s,
        min_s=times.min_s,
        max_s=times.max_s,
        bus_mbit=8 * size_bytes * 2 * (ranks - 1) / ranks / times.median_s / 1e6,
        cpu_s_per_gb=statistics.median(cpu_s) / size_bytes * 1e9 if cpu_s else None,
        limit_s=None if limit is None else limit.time_s,
        limit_by=None if limit is None else limit.by,
        predicted_s=case.predicted_s,
        links=links,
        samples_s=[sample for launch in launches for sample in launch.seconds],
        cpu_s=[used for launch in launches for used in launch.cpu_s],
    )


def _of_hosts(between: Bytes, host_of: npt.NDArray[np.intp]) -> Bytes:
    """(N, N) from (P, P): what hosts exchange; nothing crosses a link inside a host."""
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
