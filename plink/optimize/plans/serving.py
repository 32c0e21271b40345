"""Search for a cluster's plan with parameter servers, beside plans without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from plink.base.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.files.hosts import Group
from plink.files.plan import MAX_RANKS, Plan, PlanRank, Predicted
from plink.model.network import USUAL_LINK_GBIT_S, build_network
from plink.optimize.plans.candidates import Candidate, ChosenCandidate, Refused, asked_for, best
from plink.optimize.plans.planning import (
    Planned,
    PlanRequest,
    with_known_groups,
)
from plink.optimize.plans.ports import judge_ports
from plink.optimize.plans.servers import describe_port_assumptions, parse_servers, server_ranks
from plink.optimize.plans.through_servers import HUB, ServerPlanInput, ServerPlanSearch
from plink.plans.names import ALL_REDUCE

# Stars at servers' ports, of one server or of several.
PS = "ps"


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
    if tuple(request.collectives) != (ALL_REDUCE,):
        raise WrongUseError(
            "plans with servers are for all-reduce only",
            "leave out other collectives, or leave out the servers",
        )
    servers = parse_servers(request.servers, cluster)
    at_server = {server.place for server in servers}
    workers = np.array([place for place in range(len(cluster.hosts)) if place not in at_server])
    if not len(workers):
        raise WrongUseError("every host is a server, but a plan needs at least one worker")
    slots = [request.ranks_per_host or cluster.hosts[place].slots for place in workers]
    if sum(slots) + len(servers) > MAX_RANKS:
        raise WrongUseError(f"{sum(slots)} ranks are too many for a plan, at most {MAX_RANKS}")
    grouped = with_known_groups(cluster, request.seed, tell)
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
        collectives=tuple(request.collectives),
        groups=_groups_of(grouped.groups, ranks),
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
        return best(candidates)
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
    return asked_for(best(wanted).candidate.kind, candidates)


def _ranks(setting: ServerPlanInput, search: ServerPlanSearch, chosen: Candidate) -> list[PlanRank]:
    """Return the workers as ranks, followed by the servers if the plan uses any."""
    cluster = setting.cluster
    hosts = [cluster.hosts[setting.workers[place]] for place in search.host_of_rank]
    ranks = [PlanRank(host.name, host.address) for host in hosts]
    return ranks + (server_ranks(setting.servers, cluster, search.rates) if chosen.ports else [])


def _groups_of(groups: Sequence[Group], ranks: Sequence[PlanRank]) -> tuple[Group, ...]:
    """Return the groups restricted to hosts that have ranks."""
    there = {rank.host for rank in ranks}
    left = (Group(group.name, [host for host in group.hosts if host in there]) for group in groups)
    return tuple(group for group in left if group.hosts)
