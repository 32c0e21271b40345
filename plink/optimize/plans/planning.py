"""Search for a cluster's plan among candidates of every kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.errors import NotMeasuredError, WrongUseError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group
from plink.formats.matrices import Matrix
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
    choose_best,
    choose_requested,
    explain_refusal,
    find_short_ring,
)
from plink.optimize.plans.ports import PortsVerdict
from plink.optimize.plans.request import PlanRequest
from plink.optimize.plans.traffic import Demand, compute_least_exchange
from plink.solvers.contention.network import Network
from plink.solvers.forests.lower_bound import lower_bound_s

# Another level of groups is taken if it is predicted to take less than this share of the time.
_CLEARLY_QUICKER = 0.98


@dataclass(frozen=True)
class Planned:
    """Result of planning: the plan, the candidates it was chosen from, and assumptions.

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
    """Return a plan of the requested kind, or of the kind predicted to be fastest.

    Args:
        cluster: hosts and what was measured. Groups are found if it has none.
        request: which plan.
        on_progress: told what is being done.

    Raises:
        WrongUseError: too many ranks, or no plan of that kind for these hosts.
    """
    tell = on_progress or (lambda _: None)
    slots = [request.ranks_per_host or host.slots for host in cluster.hosts]
    if sum(slots) > MAX_RANKS:
        raise WrongUseError(f"{sum(slots)} ranks are too many for a plan, at most {MAX_RANKS}")
    grouped = add_missing_groups(cluster, request.seed, tell)
    known = build_network(grouped, unknown_gbit_s=USUAL_LINK_GBIT_S)
    network = known.network
    refused = [
        Refused(kind, reason)
        for kind in KINDS
        if (reason := explain_refusal(kind, network)) is not None
    ]
    _refuse(request.kind, refused)
    host_of = np.repeat(np.arange(len(slots)), slots)
    demands = [Demand(name, request.size_bytes) for name in request.collectives]
    tell("order")
    order = find_short_ring(network, request.seed, distances_without_times(cluster))
    candidates = []
    groups: Sequence[Group] = grouped.groups
    for kind in KINDS:
        if kind in {each.kind for each in refused}:
            continue
        tell(kind)
        made = build_candidate(kind, network, order, host_of, demands)
        if kind == "2lha":
            for other in list_levels(grouped, network)[1:]:
                seen_as = regroup_network(network, grouped.names, other)
                tried = build_candidate(kind, network, order, host_of, demands, seen_as=seen_as)
                if tried.time_s < made.time_s * _CLEARLY_QUICKER:
                    made, groups = tried, other
        candidates.append(made)
    choice = (
        choose_best(candidates)
        if request.kind == "auto"
        else choose_requested(request.kind, candidates)
    )
    hosts = [cluster.hosts[host] for host in host_of.tolist()]
    plan = Plan(
        kind=choice.candidate.kind,
        ranks=[PlanRank(host.name, host.address) for host in hosts],
        forest=choice.candidate.forest,
        size_bytes=request.size_bytes,
        collectives=request.collectives,
        groups=tuple(groups),
        predicted=[Predicted(each.kind, each.time_s) for each in candidates],
        bound_s=sum(
            lower_bound_s(network, compute_least_exchange(demand, host_of)) for demand in demands
        ),
        assumptions=list(known.assumptions),
        seed=request.seed,
        made_from=cluster.file_hash,
    )
    return Planned(plan, choice.candidate, choice.reason, candidates, refused)


def distances_without_times(cluster: Cluster) -> Matrix | None:
    """Return distances by bandwidth if no round-trip time is known, else None."""
    if not has_only_bandwidth(cluster):
        return None
    return filled_bandwidth_distances(cluster).s_per_gbit


def add_missing_groups(cluster: Cluster, seed: int, tell: Callable[[str], None]) -> Cluster:
    """Return the cluster with its groups, or with computed ones if it has none."""
    if cluster.groups or len(cluster.hosts) < 3:
        return cluster
    try:
        found = find_groups(cluster, GroupRequest(seed=seed), on_progress=tell)
    except (NotMeasuredError, UngroupableError):  # too few hosts were measured
        return cluster
    return with_groups(cluster, found)


def _refuse(kind: str, refused: Sequence[Refused]) -> None:
    for each in refused:
        if each.kind == kind:
            raise WrongUseError(
                f"there is no plan of kind {kind}: {each.reason}",
                "if the distances show no groups, the method linkage makes balanced ones",
            )


def list_levels(cluster: Cluster, network: Network) -> list[Sequence[Group]]:
    """Return groupings of hosts to plan on: the file's groups first, then other levels.

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
    """Return the network with other groups, whose uplinks count as unlimited.

    Args:
        network: network of hosts with these names.
        groups: groups of some of its hosts.
    """
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
