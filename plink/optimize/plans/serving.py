"""Search for a cluster's plan with parameter servers, beside plans without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group
from plink.formats.plan import MAX_RANKS, Plan, PlanRank, Predicted
from plink.model.network import USUAL_LINK_GBIT_S, build_network
from plink.optimize.plans.candidates import (
    KINDS,
    Candidate,
    ChosenCandidate,
    PortUse,
    Refused,
    build_candidate,
    choose_best,
    choose_requested,
    explain_refusal,
    find_short_ring,
)
from plink.optimize.plans.planning import (
    Planned,
    add_missing_groups,
    distances_without_times,
)
from plink.optimize.plans.ports import judge_ports
from plink.optimize.plans.request import PlanRequest
from plink.optimize.plans.servers import (
    ServerHost,
    describe_port_assumptions,
    members_network,
    parse_servers,
    port_rates,
    server_ranks,
)
from plink.optimize.plans.traffic import (
    Demand,
    Traffic,
    build_traffic,
    measure_traffic,
    traffic_time_s,
)
from plink.plans.by_port import merge_ports
from plink.plans.check_servers import Flags
from plink.plans.forest import Forest, make_forest
from plink.plans.names import ALL_REDUCE
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


@dataclass(frozen=True)
class ServerPlanInput:
    """Input of the search for plans with parameter servers.

    Args:
        cluster: the hosts, and what was measured.
        network: network of all of them.
        workers: (W,) places of the workers' hosts.
        slots: (W,) ranks on each.
        servers: at least one.
        size_bytes: size of the buffer, in bytes.
        seed: decides every choice by chance.
    """

    cluster: Cluster
    network: Network
    workers: Indices
    slots: Indices
    servers: Sequence[ServerHost]
    size_bytes: int
    seed: int


def traffic_through_servers(demand: Demand, forest: Forest) -> Traffic:
    """Return the traffic of a collective along a forest through servers, in chunks."""
    traffic = build_traffic(demand, forest)
    if traffic.chunks_bytes is None:
        return traffic
    return replace(traffic, chunks_bytes=np.minimum(traffic.chunks_bytes, _CHUNK_BYTES))


class ServerPlanSearch:
    """Search for plans over workers' hosts and servers' ports."""

    def __init__(self, setting: ServerPlanInput) -> None:
        network, workers, servers = setting.network, setting.workers, setting.servers
        self._cluster, self._workers, self._servers = setting.cluster, workers, servers
        self._seed = setting.seed
        self.rates = port_rates(servers, network)
        self._members = members_network(network, workers, servers, self.rates)
        self._between_workers = members_network(network, workers, [], self.rates[:0])
        count = len(workers)
        # Of ranks, then of ports.
        self.host_of_rank = np.repeat(np.arange(count), setting.slots)
        ports = np.arange(len(self.rates))
        self._host_of = np.concatenate([self.host_of_rank, count + ports])
        ranks = len(self.host_of_rank)
        of_server = np.repeat(np.arange(len(servers)), [len(each.addresses) for each in servers])
        self._server_of_port = of_server
        self._rank_of = np.concatenate([np.arange(ranks), ranks + of_server])
        self._demand = Demand(ALL_REDUCE, setting.size_bytes)

    def ports(self) -> tuple[int, float]:
        """Return the number of workers' hosts, and of ports in units of a host's link."""
        between = self._between_workers
        links = np.minimum(between.send_bytes_s, between.receive_bytes_s)
        return len(self._workers), float(np.sum(self.rates / np.median(links)))

    def candidates(self, tell: Callable[[str], None]) -> tuple[list[Candidate], list[Refused]]:
        """Return candidate plans of all kinds, and the kinds that are impossible."""
        network, refused = self._between_workers, []
        tell("order")
        distance = distances_without_times(self._cluster)
        if distance is not None:
            distance = np.ascontiguousarray(distance[np.ix_(self._workers, self._workers)])
        order = find_short_ring(network, self._seed, distance)
        found = []
        for kind in KINDS:
            reason = explain_refusal(kind, network)
            if reason is not None:
                refused.append(Refused(kind, reason))
                continue
            tell(kind)
            found.append(build_candidate(kind, network, order, self.host_of_rank, [self._demand]))
        count = len(self._workers)
        links = np.minimum(network.send_bytes_s, network.receive_bytes_s)
        # Its own host is as any other, but for what its link carries.
        found.append(self._of_workers("cc", central(count, int(np.argmax(links)))))
        at_ports = "ncc" if len(self._servers) == 1 else "ncs"
        tell(at_ports)
        found.append(self._through_servers(at_ports, stars(count, self.rates)))
        reason = self._no_racks()
        for between in BETWEEN:
            if reason is not None:
                refused.append(Refused(f"{HUB}-{between}", reason))
                continue
            tell(f"{HUB}-{between}")
            found.append(self._through_servers(f"{HUB}-{between}", self._by_racks(between)))
        return found, refused

    def bound_s(self) -> float:
        """Return a lower bound in seconds on any plan over these links."""
        is_worker = np.arange(self._members.hosts) < len(self._workers)
        return lower_bound_s(self._members, _least_exchange(self._demand.size_bytes, is_worker))

    def _no_racks(self) -> str | None:
        """Return why a server in every rack is impossible; None if it is possible."""
        of_workers = self._members.group_of[: len(self._workers)]
        of_ports = self._members.group_of[len(self._workers) :]
        if (of_workers < 0).any():
            return "not all workers are in groups of near hosts"
        if len(np.unique(of_workers)) < 2:
            return "all workers are in one group"
        if not set(of_workers.tolist()) <= set(of_ports.tolist()):
            return "not every group of workers has a server"
        return None

    def _by_racks(self, between: str) -> Routes:
        """Return routes with a server in every rack that has workers."""
        count, network = len(self._workers), self._members
        groups, dense = np.unique(network.group_of[:count], return_inverse=True)
        used = np.flatnonzero(np.isin(network.group_of[count:], groups))
        uplinks = np.minimum(network.uplink_send_bytes_s, network.uplink_receive_bytes_s)
        of_ports = np.searchsorted(groups, network.group_of[count:][used])
        routes = route_by_racks(dense, of_ports, self.rates[used], uplinks[groups], between)
        members = np.concatenate([np.arange(count), count + used])
        return _embed_members(routes, members, network.hosts)

    def _of_workers(self, kind: str, routes: Routes) -> Candidate:
        network, hosts = self._between_workers, self.host_of_rank
        forest = make_forest(*expand_to_ranks(routes, hosts))
        traffic = build_traffic(self._demand, forest)
        group_of = with_every_host_grouped(network).group_of[hosts].tolist()
        measures = measure_traffic(traffic, group_of, hosts.tolist())
        return Candidate(kind, forest, traffic_time_s(traffic, hosts, network), measures)

    def _through_servers(self, kind: str, routes: Routes) -> Candidate:
        over_ports = make_forest(*expand_to_ranks(routes, self._host_of))
        traffic = traffic_through_servers(self._demand, over_ports)
        group_of = with_every_host_grouped(self._members).group_of[self._host_of].tolist()
        measures = measure_traffic(traffic, group_of, self._host_of.tolist())
        forest, route_ports = merge_ports(over_ports, self._rank_of)
        first = len(self.host_of_rank)
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
    """Return routes over some members as routes over all members."""

    def spread(parents: Parents) -> Parents:
        trees = np.full((len(parents), count), ABSENT, dtype=np.int32)
        trees[:, members] = np.where(parents >= 0, members[np.maximum(parents, 0)], parents)
        return trees

    return Routes(routes.weights, spread(routes.reduce_parents), spread(routes.broadcast_parents))


def _least_exchange(size_bytes: float, is_worker: Flags) -> LeastExchange:
    """Return the least bytes that hosts must exchange; 0 for those without a worker."""

    def least(party_of: Indices) -> ExchangedBytes:
        working = np.bincount(party_of, is_worker) > 0
        parties = int(working.sum())
        once = np.where(working & (parties > 1), float(size_bytes), 0.0)
        return ExchangedBytes(once, once, 2.0 * (parties - 1) * size_bytes)

    return least


def find_plan_with_servers(
    cluster: Cluster,
    request: PlanRequest,
    on_progress: Callable[[str], None] | None = None,
) -> Planned:
    """Return a plan of the requested kind, or of the one predicted to be fastest.

    All other hosts are workers. Beside the kinds of plans between workers (`flat` being a server on
    every worker's host, CS) there are `cc`, where one worker's host serves; `ncc` and `ncs`, stars
    at the ports of one server or of several; and `hub-star`, `hub-chain` and `hub-ring`, where
    servers of groups aggregate among each other.

    Args:
        cluster: hosts and what was measured. Groups are found if it has none.
        request: which plan, with servers; `ps` and `hub` are kinds, too.
        on_progress: told what is being done.

    Raises:
        WrongUseError: no such servers, too many ranks, no plan of that kind for these hosts, or a
            collective that servers have no part in.
    """
    tell = on_progress or (lambda _: None)
    if request.collectives != (ALL_REDUCE,):
        raise WrongUseError(
            "plans with servers are for all-reduce only",
            "leave out other collectives, or leave out the servers",
        )
    servers = parse_servers(request.server_names, cluster)
    at_server = {server.place for server in servers}
    workers = np.array([place for place in range(len(cluster.hosts)) if place not in at_server])
    if not len(workers):
        raise WrongUseError("every host is a server, but a plan needs at least one worker")
    slots = [request.ranks_per_host or cluster.hosts[place].slots for place in workers]
    if sum(slots) + len(servers) > MAX_RANKS:
        raise WrongUseError(f"{sum(slots)} ranks are too many for a plan, at most {MAX_RANKS}")
    grouped = add_missing_groups(cluster, request.seed, tell)
    known = build_network(grouped, unknown_gbit_s=USUAL_LINK_GBIT_S)
    setting = ServerPlanInput(
        cluster,
        known.network,
        workers,
        np.array(slots),
        servers,
        request.size_bytes,
        request.seed,
    )
    search = ServerPlanSearch(setting)
    candidates, refused = search.candidates(tell)
    choice = _choose_candidate(request.kind, candidates, refused)
    chosen = choice.candidate
    has_ports = any(rank.ports for rank in server_ranks(servers, cluster, search.rates))
    ranks = _ranks(setting, search, chosen)
    plan = Plan(
        kind=chosen.kind,
        ranks=ranks,
        forest=chosen.forest,
        size_bytes=request.size_bytes,
        collectives=request.collectives,
        groups=_restrict_groups(grouped.groups, ranks),
        predicted=[Predicted(each.kind, each.time_s) for each in candidates],
        bound_s=search.bound_s(),
        assumptions=[*known.assumptions, *describe_port_assumptions(servers, cluster)],
        seed=request.seed,
        made_from=cluster.file_hash,
        route_ports=chosen.route_ports if has_ports else None,
    )
    ports = judge_ports(*search.ports())
    return Planned(plan, chosen, choice.reason, candidates, refused, ports)


def _choose_candidate(
    kind: str, candidates: Sequence[Candidate], refused: Sequence[Refused]
) -> ChosenCandidate:
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


def _ranks(setting: ServerPlanInput, search: ServerPlanSearch, chosen: Candidate) -> list[PlanRank]:
    """Return the ranks of a plan: the workers, then the servers if it uses any."""
    cluster = setting.cluster
    hosts = [cluster.hosts[setting.workers[place]] for place in search.host_of_rank]
    ranks = [PlanRank(host.name, host.address) for host in hosts]
    return ranks + (server_ranks(setting.servers, cluster, search.rates) if chosen.ports else [])


def _restrict_groups(groups: Sequence[Group], ranks: Sequence[PlanRank]) -> tuple[Group, ...]:
    """Return the groups restricted to hosts that have ranks."""
    there = {rank.host for rank in ranks}
    left = (Group(group.name, [host for host in group.hosts if host in there]) for group in groups)
    return tuple(group for group in left if group.hosts)
