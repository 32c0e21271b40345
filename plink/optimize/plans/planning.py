"""Search for a cluster's plan among candidates of every kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.errors import NotMeasuredError, WrongUseError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group
from plink.formats.plan import MAX_RANKS, Plan, PlanRank, Predicted
from plink.model.distance import filled_bandwidth_distances, has_only_bandwidth
from plink.model.network import USUAL_LINK_GBIT_S, build_network
from plink.optimize.groups.finding import UngroupableError, find_groups, with_groups
from plink.optimize.groups.request import GroupRequest
from plink.optimize.plans.candidates import (
    KINDS,
    Candidate,
    Refused,
    build_candidate,
    explain_refusal,
    find_short_ring,
)
from plink.optimize.plans.ports import PortsVerdict
from plink.optimize.plans.request import PlanRequest
from plink.optimize.plans.servers import (
    ServerHost,
    describe_port_assumptions,
    members_network,
    parse_servers,
)
from plink.optimize.plans.serving import ServerPlans, choose
from plink.optimize.plans.traffic import Demand, compute_least_exchange
from plink.plans.names import ALL_REDUCE
from plink.solvers.contention.network import Indices, Network
from plink.solvers.forests.lower_bound import lower_bound_s

# Another level of groups is taken if it is predicted to take less than this share of the time.
_CLEARLY_QUICKER = 0.98


@dataclass(frozen=True)
class Planned:
    """Result of a search for a plan: the plan, the candidates it was chosen from, and assumptions.

    Args:
        plan: to be written.
        chosen: the candidate that it is.
        reason: why that one, as a sentence.
        candidates: candidates of all kinds.
        refused: kinds that there is no plan of.
        ports: what servers' ports bring at most; None where no servers were named.
    """

    plan: Plan
    chosen: Candidate
    reason: str
    candidates: Sequence[Candidate]
    refused: Sequence[Refused]
    ports: PortsVerdict | None = None


def find_plan(
    cluster: Cluster,
    request: PlanRequest,
    on_progress: Callable[[str], None] | None = None,
) -> Planned:
    """Search for a plan of the requested kind, or of the kind predicted to be fastest.

    Named servers only aggregate, and all other hosts are workers. Beside the kinds of plans between
    workers (`flat` being a server on every worker's host, CS) there are then `cc`, where one
    worker's host serves; `ncc` and `ncs`, stars at the ports of one server or of several; and
    `hub-star`, `hub-chain` and `hub-ring`, where servers of groups aggregate among each other.
    Groups are found if the cluster has none.

    Raises:
        WrongUseError: no such servers, too many ranks, no plan of that kind for these hosts, or a
            collective that servers have no part in.
    """
    tell = on_progress or (lambda _: None)
    servers = parse_servers(request.server_names, cluster)
    workers, slots = _find_workers(cluster, request, servers)
    grouped = add_missing_groups(cluster, request.seed, tell)
    known = build_network(grouped, unknown_gbit_s=USUAL_LINK_GBIT_S)
    network = members_network(known.network, workers, (), np.zeros(0))
    host_of = np.repeat(np.arange(len(workers)), slots)
    demands = [Demand(name, request.size_bytes) for name in request.collectives]
    refused = [
        Refused(kind, reason)
        for kind in KINDS
        if (reason := explain_refusal(kind, network)) is not None
    ]
    for each in () if servers else refused:
        if each.kind == request.kind:
            raise WrongUseError(
                f"there is no plan of kind {each.kind}: {each.reason}",
                "if the distances show no groups, the method linkage makes balanced ones",
            )
    tell("order")
    distance = None
    if has_only_bandwidth(cluster):
        by_bandwidth = filled_bandwidth_distances(cluster).s_per_gbit
        distance = np.ascontiguousarray(by_bandwidth[np.ix_(workers, workers)])
    order = find_short_ring(network, request.seed, distance)
    candidates: list[Candidate] = []
    groups: Sequence[Group] = grouped.groups
    levels = [] if servers else list_levels(grouped, network)[1:]
    for kind in [kind for kind in KINDS if kind not in {each.kind for each in refused}]:
        tell(kind)
        candidates.append(build_candidate(kind, network, order, host_of, demands))
        for other in levels if kind == "2lha" else ():
            seen_as = regroup_network(network, grouped.names, other)
            tried = build_candidate(kind, network, order, host_of, demands, seen_as=seen_as)
            if tried.time_s < candidates[-1].time_s * _CLEARLY_QUICKER:
                candidates[-1], groups = tried, other
    hosts = [cluster.hosts[workers[place]] for place in host_of.tolist()]
    ranks = [PlanRank(host.name, host.address) for host in hosts]
    plans = None
    if servers:
        plans = ServerPlans(cluster, known.network, workers, host_of, servers, demand=demands[0])
        candidates += plans.candidates(tell)
        refused += plans.refused
    choice = choose(request.kind, candidates, refused)
    chosen = choice.candidate
    if plans is not None:
        bound_s = plans.bound_s()
        ranks += plans.ranks if chosen.ports else []
    else:
        exchanges = [compute_least_exchange(demand, host_of) for demand in demands]
        bound_s = sum(lower_bound_s(network, least) for least in exchanges)
    plan = Plan(
        kind=chosen.kind,
        ranks=ranks,
        forest=chosen.forest,
        size_bytes=request.size_bytes,
        collectives=request.collectives,
        groups=_restrict_groups(groups, ranks),
        predicted=[Predicted(each.kind, each.time_s) for each in candidates],
        bound_s=bound_s,
        assumptions=[*known.assumptions, *describe_port_assumptions(servers, cluster)],
        seed=request.seed,
        made_from=cluster.file_hash,
        route_ports=chosen.route_ports if plans is not None and plans.has_ports else None,
    )
    ports = None if plans is None else plans.judge_ports()
    return Planned(plan, chosen, choice.reason, candidates, refused, ports)


def _find_workers(
    cluster: Cluster, request: PlanRequest, servers: Sequence[ServerHost]
) -> tuple[Indices, list[int]]:
    """Return the indices of hosts that are not servers, (W,), and the number of ranks on each.

    Raises:
        WrongUseError: there is none, too many ranks, or a collective without servers' part.
    """
    if servers and request.collectives != (ALL_REDUCE,):
        raise WrongUseError(
            "a plan with parameter servers can carry all-reduce only",
            "leave out other collectives, or leave out the servers",
        )
    at_server = {server.place for server in servers}
    workers = np.array([place for place in range(len(cluster.hosts)) if place not in at_server])
    if not len(workers):
        raise WrongUseError("every host is a server, but a plan needs at least one worker")
    slots = [request.ranks_per_host or cluster.hosts[place].slots for place in workers]
    if sum(slots) + len(servers) > MAX_RANKS:
        raise WrongUseError(f"{sum(slots)} ranks are too many for a plan, at most {MAX_RANKS}")
    return workers, slots


def _restrict_groups(groups: Sequence[Group], ranks: Sequence[PlanRank]) -> tuple[Group, ...]:
    """Return the groups without hosts that have no rank, and without empty groups."""
    there = {rank.host for rank in ranks}
    left = (Group(group.name, [host for host in group.hosts if host in there]) for group in groups)
    return tuple(group for group in left if group.hosts)


def add_missing_groups(cluster: Cluster, seed: int, tell: Callable[[str], None]) -> Cluster:
    """Return the cluster, with groups computed from its readings if it has none."""
    if cluster.groups or len(cluster.hosts) < 3:
        return cluster
    try:
        found = find_groups(cluster, GroupRequest(seed=seed), on_progress=tell)
    except (NotMeasuredError, UngroupableError):  # too few hosts were measured
        return cluster
    return with_groups(cluster, found)


def list_levels(cluster: Cluster, network: Network) -> list[Sequence[Group]]:
    """Return the groupings of hosts to plan with: the cluster file's, then its other levels.

    Where no uplink is known, a prediction cannot tell levels apart, and those of the file stand.
    """
    groupings = [cluster.groups]
    grouping = cluster.grouping
    if grouping is None or not np.isfinite(network.uplink_send_bytes_s).any():
        return groupings
    known = {frozenset(frozenset(group.hosts) for group in cluster.groups)}
    for level in grouping.levels:
        hosts = frozenset(frozenset(group) for group in level)
        if len(level) > 1 and hosts not in known:
            known.add(hosts)
            groupings.append([Group(f"g{i}", group) for i, group in enumerate(level, start=1)])
    return groupings


def regroup_network(network: Network, names: Sequence[str], groups: Sequence[Group]) -> Network:
    """Return the network with its groups replaced; the new groups' uplinks are unlimited."""
    place_of = {name: place for place, name in enumerate(names)}
    group_of = np.full(network.hosts, -1)
    for number, group in enumerate(groups):
        group_of[[place_of[host] for host in group.hosts]] = number
    unlimited = np.full(len(groups), np.inf)
    return replace(
        network,
        group_of=group_of,
        uplink_send_bytes_s=unlimited,
        uplink_receive_bytes_s=unlimited,
    )
