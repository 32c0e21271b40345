"""Plans through servers: each of a server's ports is a link, and so a host of the simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.plan import SERVER, Plan, PlanRank
from plink.model.network import USUAL_LINK_GBIT_S, build_network
from plink.optimize.plans.forecasting import locate_ranks, regroup_cluster
from plink.optimize.plans.servers import ServerHost, members_network, parse_servers, port_rates
from plink.optimize.plans.serving import traffic_through_servers
from plink.optimize.plans.traffic import Demand, Traffic, traffic_time_s
from plink.plans.by_port import list_member_ranks, split_by_port
from plink.plans.names import ALL_REDUCE
from plink.simulate.making import schedule_of_traffic
from plink.simulate.schedule import Schedule
from plink.simulate.simgrid.platforms import Platform, Zones
from plink.solvers.contention.network import Floats, Indices, Network

_ALIKE = 1e-6


@dataclass(frozen=True)
class ThroughServers:
    """An all-reduce along a plan with servers.

    Args:
        schedule: over workers' ranks, and then servers' ports.
        platform: whose hosts are workers' hosts, and then servers' ports.
        hosts: of each rank of the schedule.
        predicted_s: by plink's own model, in which a port is a link as well.
    """

    schedule: Schedule
    platform: Platform
    hosts: Sequence[int]
    predicted_s: float


def through_servers(
    cluster: Cluster,
    plan: Plan,
    size_bytes: int,
    platform: Platform,
    told: Sequence[str] = (),
    *,
    source: str = "the plan",
) -> ThroughServers:
    """Return the traffic of a plan's workers and servers, and where it flows.

    A server's heaviest port carries what the cluster file says of its host's link, others by their
    weights, unless servers are told as a plan is asked for them.

    Args:
        cluster: the plan's hosts, and what was measured between them.
        plan: with servers.
        size_bytes: of the buffer.
        platform: of the cluster's hosts.
        told: servers with their ports' rates (`plink.optimize.plans.servers`).
        source: what messages call the plan.

    Raises:
        WrongUseError: hosts that the cluster does not have, servers that the plan does not, or
            ports that the platform has no place for.
    """
    places = locate_ranks(plan, cluster, source)
    known = build_network(regroup_cluster(plan, cluster), unknown_gbit_s=USUAL_LINK_GBIT_S).network
    servers, rates = _servers_of(plan, cluster, known, told)
    of_rank = [place for place, rank in zip(places, plan.ranks, strict=True) if rank.role != SERVER]
    workers, place_of_rank = np.unique(of_rank, return_inverse=True)
    ports = [len(rank.ports) for rank in plan.ranks]
    forest = split_by_port(plan.forest, plan.route_ports, ports)
    # Members stand as their ranks do, in the forest; on the platform, servers stand last.
    is_port = plan.is_server[list_member_ranks(ports)]
    hosts = np.empty(len(is_port), dtype=np.intp)
    hosts[~is_port] = place_of_rank
    hosts[is_port] = len(workers) + np.arange(int(is_port.sum()))
    traffic = traffic_through_servers(Demand(ALL_REDUCE, size_bytes), forest)
    network = members_network(known, workers, servers, rates)
    at = np.concatenate([workers, np.repeat([one.place for one in servers], _counts(servers))])
    return ThroughServers(
        schedule_of_traffic(traffic, len(hosts)),
        _with_ports(platform, at.astype(np.intp), len(workers), rates),
        _on_hosts(platform, hosts, at),
        traffic_time_s(traffic, hosts, network),
    )


def traffic_of_ranks(plan: Plan, size_bytes: int) -> Traffic:
    """Return the same with a server's ports as one, for what knows hosts alone."""
    return traffic_through_servers(Demand(ALL_REDUCE, size_bytes), plan.forest)


def _counts(servers: Sequence[ServerHost]) -> list[int]:
    return [len(one.addresses) for one in servers]


def _servers_of(
    plan: Plan, cluster: Cluster, network: Network, told: Sequence[str]
) -> tuple[list[ServerHost], Floats]:
    """Return the plan's servers in its order, and (K,) what each port carries."""
    ranks = [rank for rank in plan.ranks if rank.role == SERVER]
    if not told:
        servers = [_server(rank, cluster) for rank in ranks]
        weights = [_weights(rank) for rank in ranks]
        return servers, port_rates(servers, network) * np.concatenate(weights)
    by_name = {cluster.names[one.place]: one for one in parse_servers(told, cluster)}
    found = []
    for rank in ranks:
        one = by_name.get(rank.host)
        ports = max(1, len(rank.ports))
        if one is None or len(one.addresses) != ports:
            raise WrongUseError(
                f"the plan has a server {rank.host} with {ports} ports",
                f"write it as the plan was asked for: {rank.host}:{ports}@RATE",
            )
        found.append(one)
    return found, port_rates(found, network)


def _server(rank: PlanRank, cluster: Cluster) -> ServerHost:
    addresses = tuple(port.address for port in rank.ports) or (rank.address,)
    return ServerHost(cluster.names.index(rank.host), addresses, True, None)


def _weights(rank: PlanRank) -> Floats:
    """Return the weights of a server's ports, relative to the heaviest."""
    weights = np.array([port.weight for port in rank.ports] or [1.0])
    relative: Floats = weights / weights.max()
    return relative


def _with_ports(platform: Platform, at: Indices, workers: int, rates: Floats) -> Platform:
    """Return the platform of members: workers' hosts, and ports with links of their own.

    Args:
        platform: of all hosts.
        at: (M,) the host of each member.
        workers: how many of them are workers' hosts.
        rates: what each port carries, either way.
    """
    if isinstance(platform, Zones):
        between = platform.between_s
        return replace(
            platform,
            zone_of=platform.zone_of[at],
            send_bytes_s=np.concatenate([platform.send_bytes_s[at[:workers]], rates]),
            receive_bytes_s=np.concatenate([platform.receive_bytes_s[at[:workers]], rates]),
            host_latency_s=platform.host_latency_s[at],
            between_s=None if between is None else between[np.ix_(at, at)],
        )
    is_alike = np.abs(rates / platform.rate_bytes_s - 1.0) < _ALIKE
    if len(np.unique(at)) < len(at) or not is_alike.all():
        raise WrongUseError(
            "a host of a fat tree or a dragonfly has one link of the usual rate",
            "name several servers with a port each, or describe racks",
        )
    return platform


def _on_hosts(platform: Platform, hosts: Indices, at: Indices) -> list[int]:
    """Return the place of each member of the schedule on the members' platform."""
    # Fat trees and dragonflies keep all their hosts.
    found: list[int] = (hosts if isinstance(platform, Zones) else at[hosts]).tolist()
    return found
