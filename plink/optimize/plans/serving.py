"""Candidate plans with parameter servers, to compare with plans without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.optimize.plans.candidates import (
    Candidate,
    ChosenCandidate,
    PortUse,
    Refused,
    choose_best,
    choose_requested,
    predict_candidate,
)
from plink.optimize.plans.ports import PortsVerdict, judge_ports
from plink.optimize.plans.servers import ServerHost, members_network, port_rates, server_ranks
from plink.optimize.plans.traffic import (
    Demand,
    Traffic,
    build_traffic,
    measure_traffic,
    traffic_time_s,
)
from plink.plans.by_port import merge_ports
from plink.plans.check import Flags
from plink.plans.forest import Forest, make_forest
from plink.solvers.contention.network import Indices, Network, with_every_host_grouped
from plink.solvers.forests.lower_bound import ExchangedBytes, LeastExchange, lower_bound_s
from plink.solvers.forests.servers import ABSENT, BETWEEN, central, route_by_racks, stars
from plink.solvers.forests.trees import Parents, Routes, expand_to_ranks

# Of servers in groups, before how they aggregate among each other.
HUB = "hub"

# How a service cuts a model (Luo 2020, §3.2.3), finer than the engine cuts a buffer.
_CHUNK_BYTES = 32 * 1024

# Stars at servers' ports, of one server or of several.
PS = "ps"


def traffic_through_servers(demand: Demand, forest: Forest) -> Traffic:
    """Return a collective's traffic along a forest through servers, in chunks of at most 32 KiB."""
    traffic = build_traffic(demand, forest)
    if traffic.chunks_bytes is None:
        return traffic
    return replace(traffic, chunks_bytes=np.minimum(traffic.chunks_bytes, _CHUNK_BYTES))


class ServerPlans:
    """Builder of candidate plans over workers' hosts and parameter servers' ports.

    Args:
        cluster: hosts and what was measured.
        network: network of all hosts.
        workers: (W,) places of the workers' hosts.
        host_of_rank: (P,) the host of each worker's rank, as an index into `workers`.
        servers: at least one.
        demand: the all-reduce that the plan is for.
    """

    def __init__(
        self,
        cluster: Cluster,
        network: Network,
        workers: Indices,
        host_of_rank: Indices,
        servers: Sequence[ServerHost],
        *,
        demand: Demand,
    ) -> None:
        self._cluster, self._servers, self._demand = cluster, servers, demand
        self._host_of_rank, self._count = host_of_rank, len(workers)
        self._rates = port_rates(servers, network)
        self._members = members_network(network, workers, servers, self._rates)
        self._between_workers = members_network(network, workers, (), self._rates[:0])
        # Of ranks, then of ports.
        ports = np.arange(len(self._rates))
        self._host_of = np.concatenate([host_of_rank, self._count + ports])
        self._server_of_port = np.repeat(
            np.arange(len(servers)), [len(each.addresses) for each in servers]
        )
        self.ranks = server_ranks(servers, cluster, self._rates)
        self.refused: list[Refused] = []

    @property
    def has_ports(self) -> bool:
        """Whether any server has several ports, or one at another address than its host's."""
        return any(rank.ports for rank in self.ranks)

    def judge_ports(self) -> PortsVerdict:
        """Compute how much faster than an all-reduce these servers can be, by their ports alone."""
        between = self._between_workers
        return judge_ports(
            self._count, float(np.sum(self._rates / np.median(between.link_bytes_s)))
        )

    def candidates(self, tell: Callable[[str], None]) -> list[Candidate]:
        """Return candidates of all kinds with servers, and add impossible kinds to `refused`."""
        network = self._between_workers
        # Its own host is as any other, but for what its link carries.
        routes = central(self._count, int(np.argmax(network.link_bytes_s)))
        forest = make_forest(*expand_to_ranks(routes, self._host_of_rank))
        found = [predict_candidate("cc", forest, network, self._host_of_rank, [self._demand])]
        at_ports = "ncc" if len(self._servers) == 1 else "ncs"
        tell(at_ports)
        found.append(self._through_servers(at_ports, stars(self._count, self._rates)))
        reason = self._no_racks()
        for between in BETWEEN:
            if reason is not None:
                self.refused.append(Refused(f"{HUB}-{between}", reason))
                continue
            tell(f"{HUB}-{between}")
            found.append(self._through_servers(f"{HUB}-{between}", self._by_racks(between)))
        return found

    def bound_s(self) -> float:
        """Return a lower bound in seconds on an all-reduce along any plan with these servers."""
        is_worker = np.arange(self._members.hosts) < self._count
        return lower_bound_s(self._members, _least_exchange(self._demand.size_bytes, is_worker))

    def _no_racks(self) -> str | None:
        """Return why a server in every rack is impossible; None if it is possible."""
        of_workers = self._members.group_of[: self._count]
        of_ports = self._members.group_of[self._count :]
        if (of_workers < 0).any():
            return "not all workers are in groups of near hosts"
        if len(np.unique(of_workers)) < 2:
            return "all workers are in one group"
        if not set(of_workers.tolist()) <= set(of_ports.tolist()):
            return "not every group of workers has a server"
        return None

    def _by_racks(self, between: str) -> Routes:
        """Return trees that lead through a server in every rack (group) that has workers."""
        count, network = self._count, self._members
        groups, dense = np.unique(network.group_of[:count], return_inverse=True)
        used = np.flatnonzero(np.isin(network.group_of[count:], groups))
        of_ports = np.searchsorted(groups, network.group_of[count:][used])
        uplinks = network.uplink_bytes_s[groups]
        routes = route_by_racks(dense, of_ports, self._rates[used], uplinks, between)
        members = np.concatenate([np.arange(count), count + used])
        return _embed_members(routes, members, network.hosts)

    def _through_servers(self, kind: str, routes: Routes) -> Candidate:
        over_ports = make_forest(*expand_to_ranks(routes, self._host_of))
        traffic = traffic_through_servers(self._demand, over_ports)
        group_of = with_every_host_grouped(self._members).group_of[self._host_of].tolist()
        measures = measure_traffic(traffic, group_of, self._host_of.tolist())
        first = len(self._host_of_rank)
        rank_of = np.concatenate([np.arange(first), first + self._server_of_port])
        forest, route_ports = merge_ports(over_ports, rank_of)
        ports, count_of = [], [0] * len(self._servers)
        for port, server in enumerate(self._server_of_port.tolist()):
            ports.append(
                PortUse(
                    self._cluster.names[self._servers[server].place],
                    count_of[server],
                    float(measures.sent_bytes[first + port]),
                    float(measures.received_bytes[first + port]),
                )
            )
            count_of[server] += 1
        time_s = traffic_time_s(traffic, self._host_of, self._members)
        return Candidate(kind, forest, time_s, measures, route_ports, ports)


def _embed_members(routes: Routes, members: Indices, count: int) -> Routes:
    """Convert routes over some members to routes over all, in which the others are absent."""

    def spread(parents: Parents) -> Parents:
        trees = np.full((len(parents), count), ABSENT, dtype=np.int32)
        trees[:, members] = np.where(parents >= 0, members[np.maximum(parents, 0)], parents)
        return trees

    return Routes(routes.weights, spread(routes.reduce_parents), spread(routes.broadcast_parents))


def _least_exchange(size_bytes: float, is_worker: Flags) -> LeastExchange:
    """Return a function from hosts' parties (N,) to the least bytes that workers' ones exchange."""

    def least(party_of: Indices) -> ExchangedBytes:
        working = np.bincount(party_of, is_worker) > 0
        parties = int(working.sum())
        once = np.where(working & (parties > 1), float(size_bytes), 0.0)
        return ExchangedBytes(once, once, 2.0 * (parties - 1) * size_bytes)

    return least


def choose(
    kind: str, candidates: Sequence[Candidate], refused: Sequence[Refused]
) -> ChosenCandidate:
    """Return the candidate of a requested kind (also `ps` and `hub`), or the best one for `auto`.

    Raises:
        WrongUseError: there is none.
    """
    if kind == "auto":
        return choose_best(candidates)
    wanted = {
        PS: [each for each in candidates if each.kind in ("ncc", "ncs")],
        # Chains and rings of servers are there to compare; a service aggregates by stars.
        HUB: [each for each in candidates if each.kind == f"{HUB}-star"],
    }.get(kind, [each for each in candidates if each.kind == kind])
    if not wanted:
        reasons = [each.reason for each in refused if each.kind.startswith(kind)]
        reason = reasons[0] if reasons else "none of these servers is in the group"
        raise WrongUseError(
            f"there is no plan of kind {kind}: {reason}",
            "plink group finds groups; name a server in each of them, or plan with another kind",
        )
    return choose_requested(choose_best(wanted).candidate.kind, candidates)
