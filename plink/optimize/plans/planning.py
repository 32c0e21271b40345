"""From a cluster to a plan, and what it was chosen from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.files.groups import Group
from plink.files.measurement import Matrix
from plink.files.plan import MAX_RANKS, Plan, PlanRank, Predicted
from plink.model.bandwidth_distance import filled_bandwidth_distances, has_only_bandwidth
from plink.model.network import network_of
from plink.optimize.groups.finding import GroupRequest, find_groups, with_groups
from plink.optimize.plans.candidates import Candidate, Refused, asked_for, best
from plink.optimize.plans.kinds import KINDS, build, near_order, refusal
from plink.optimize.plans.levels import grouped_as, levels_to_plan_on
from plink.plans.measures import measure
from solvers.contention.network import Network, with_every_host_grouped
from solvers.forests.routes import Indices
from solvers.forests.time import lower_bound_s, time_s

DEFAULT_SIZE_BYTES = 100_000_000

# What hosts' links are taken for where nothing was measured: it decides from which size on bytes
# count more than rounds.
USUAL_LINK_GBIT_S = 10.0

# Another level of groups is taken if it is predicted to take less than this share of the time.
_CLEARLY_QUICKER = 0.98


@dataclass(frozen=True)
class PlanRequest:
    """What a plan is asked for.

    Args:
        kind: of `KINDS`, or `auto`.
        size_bytes: of the buffer that it is to be good for.
        ranks_per_host: None for the cluster's slots.
        seed: decides every choice by chance; 0 to 2^63 - 1.
    """

    kind: str = "auto"
    size_bytes: int = DEFAULT_SIZE_BYTES
    ranks_per_host: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Planned:
    """A plan, and how it came about.

    Args:
        plan: to be written.
        chosen: the candidate that it is.
        reason: why that one, as a sentence.
        candidates: of all kinds.
        refused: kinds that there is no plan of.
    """

    plan: Plan
    chosen: Candidate
    reason: str
    candidates: Sequence[Candidate]
    refused: Sequence[Refused]


def find_plan(
    cluster: Cluster,
    request: PlanRequest,
    on_progress: Callable[[str], None] | None = None,
) -> Planned:
    """A plan of the kind asked for, or of the one that is predicted to be best.

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
    grouped = _with_groups(cluster, request.seed, tell)
    known = network_of(grouped, unknown_gbit_s=USUAL_LINK_GBIT_S)
    network = known.network
    refused = [
        Refused(kind, reason) for kind in KINDS if (reason := refusal(kind, network)) is not None
    ]
    _refuse(request.kind, refused)
    host_of = np.repeat(np.arange(len(slots)), slots)
    tell("order")
    order = near_order(network, request.seed, _without_times(cluster))
    candidates = []
    groups: Sequence[Group] = grouped.groups
    for kind in KINDS:
        if kind in {each.kind for each in refused}:
            continue
        tell(kind)
        made = candidate(kind, network, order, host_of, request.size_bytes)
        if kind == "2lha":
            for other in levels_to_plan_on(grouped, network)[1:]:
                seen_as = grouped_as(network, grouped.names, other)
                tried = candidate(
                    kind, network, order, host_of, request.size_bytes, seen_as=seen_as
                )
                if tried.time_s < made.time_s * _CLEARLY_QUICKER:
                    made, groups = tried, other
        candidates.append(made)
    choice = best(candidates) if request.kind == "auto" else asked_for(request.kind, candidates)
    hosts = [cluster.hosts[host] for host in host_of.tolist()]
    plan = Plan(
        kind=choice.candidate.kind,
        ranks=[PlanRank(host.name, host.address) for host in hosts],
        forest=choice.candidate.forest,
        size_bytes=request.size_bytes,
        groups=tuple(groups),
        predicted=[Predicted(each.kind, each.time_s) for each in candidates],
        bound_s=lower_bound_s(network, request.size_bytes),
        assumptions=list(known.assumptions),
        seed=request.seed,
        made_from=cluster.file_hash,
    )
    return Planned(plan, choice.candidate, choice.reason, candidates, refused)


def _without_times(cluster: Cluster) -> Matrix | None:
    """Distances where no round-trip time is known, by bandwidth; None where times tell."""
    if not has_only_bandwidth(cluster):
        return None
    return filled_bandwidth_distances(cluster).s_per_gbit


def _with_groups(cluster: Cluster, seed: int, tell: Callable[[str], None]) -> Cluster:
    if cluster.groups or len(cluster.hosts) < 3:
        return cluster
    try:
        found = find_groups(cluster, GroupRequest(seed=seed), on_progress=tell)
    except WrongUseError:  # too few hosts were measured
        return cluster
    return with_groups(cluster, found)


def _refuse(kind: str, refused: Sequence[Refused]) -> None:
    for each in refused:
        if each.kind == kind:
            raise WrongUseError(
                f"there is no plan of kind {kind}: {each.reason}",
                "plink group --method linkage cuts balanced groups where the distances show none",
            )


def candidate(
    kind: str,
    network: Network,
    order: list[int],
    host_of: Indices,
    size_bytes: int,
    *,
    seen_as: Network | None = None,
) -> Candidate:
    """The plan of a kind that the network does not refuse, and what is predicted of it.

    Args:
        kind, network, order, host_of: as `plink.optimize.plans.kinds.build` has them.
        size_bytes: of the buffer.
        seen_as: the network with the groups that the plan is made on, where they are others than
            those whose uplinks carry it.
    """
    forest = build(kind, seen_as or network, order, host_of)
    group_of = with_every_host_grouped(network).group_of[host_of]
    return Candidate(
        kind,
        forest,
        time_s(forest, host_of, network, size_bytes),
        measure(forest, size_bytes, group_of=group_of.tolist(), host_of=host_of.tolist()),
    )
