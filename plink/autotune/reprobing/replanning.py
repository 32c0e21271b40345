"""The plan for the network as it is now, for the very ranks of a running job. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from plink.autotune.protocol.identity import identity
from plink.autotune.reprobing.regrouping import knows_more, other_rates
from plink.base.errors import PlinkError
from plink.base.text import named
from plink.files.cluster import Cluster
from plink.files.groups import Group
from plink.files.plan import Plan
from plink.measure.probing.resume import carried_over
from plink.optimize.plans.candidates import Candidate
from plink.optimize.plans.planning import PlanRequest, find_plan

# Kinds of plans with masters that can be moved.
_TUNABLE = ("flat", "2lha")


@dataclass(frozen=True)
class Replanned:
    """What is to be done about a network that was measured again.

    Args:
        plan: the job's new one; None where the one that it has is good.
        reason: half a sentence.
        is_confirmed: the plan that it has is good for a network that is another one, or of which
            more is known.
    """

    plan: Plan | None
    reason: str
    is_confirmed: bool = False


def cluster_of(plan: Plan, cluster: Cluster) -> Cluster:
    """The hosts of a job only, in its order, with as many slots as it has ranks there.

    Raises:
        PlinkError: one of them is not in the cluster.
    """
    by_name = {host.name: host for host in cluster.hosts}
    ranks = Counter(rank.host for rank in plan.ranks)
    for name in ranks:
        if name not in by_name:
            raise PlinkError(
                f"{name}, a host of the plan, is not in the cluster file",
                "give the file that the plan was made from",
            )
    hosts = [replace(by_name[name], slots=count) for name, count in ranks.items()]
    groups = [
        Group(group.name, [name for name in group.hosts if name in ranks])
        for group in cluster.groups
    ]
    kept = carried_over(hosts, cluster, moved=())
    return replace(kept, groups=[group for group in groups if group.hosts])


def replan(plan: Plan, before: Cluster, after: Cluster, moved: Sequence[str]) -> Replanned:
    """The job's plan for the network of now, where it is another one than that of its plan.

    Args:
        plan: of the job.
        before: what was known when its plan was made, or was last found to be good.
        after: what was measured since, with its groups.
        moved: hosts whose distances have changed.

    Raises:
        PlinkError: there is no plan, or hosts of the job are missing from the cluster.
    """
    then, now = cluster_of(plan, before), cluster_of(plan, after)
    rates = other_rates(then, now)
    has_other_groups = _partition(plan, now) != _partition(plan, plan)
    if not has_other_groups and not rates:
        # What was not known before could never be seen to change.
        is_new = knows_more(then, now)
        if moved:
            return Replanned(None, f"{named(moved)} moved, and groups are as they were", is_new)
        return Replanned(None, "nothing changed", is_new)
    found = find_plan(now, PlanRequest(size_bytes=plan.size_bytes, seed=plan.seed))
    chosen = _chosen(plan, found.candidates)
    changes = [f"links carry other rates: {named(rates)}"] if rates else []
    if has_other_groups:
        sizes = " + ".join(str(len(group.hosts)) for group in found.plan.groups) or "none"
        changes.append(f"groups are others ({sizes}{_because(moved)})")
    reason = "; ".join(changes)
    new = replace(
        found.plan, kind=chosen.kind, forest=chosen.forest, ranks=plan.ranks, made_from=None
    )
    if identity(0, chosen.forest) == identity(0, plan.forest):
        return Replanned(None, f"{reason}; the plan is good for that, too", True)
    return Replanned(new, reason)


def _chosen(plan: Plan, candidates: Sequence[Candidate]) -> Candidate:
    """Of the kinds that can be tuned: the job's own if it was wished for, else the quickest."""
    tunable = [each for each in candidates if each.kind in _TUNABLE]
    predicted = {each.kind: each.time_s for each in plan.predicted if each.kind in _TUNABLE}
    is_wish = plan.kind not in predicted or predicted[plan.kind] > min(predicted.values())
    own = next((each for each in tunable if each.kind == plan.kind), None)
    if is_wish and own is not None:
        return own
    return min(tunable, key=lambda each: (each.time_s, each.kind != plan.kind))


def _partition(plan: Plan, grouped: Cluster | Plan) -> frozenset[frozenset[str]]:
    """The hosts of a job by group; one that is in none is one by itself."""
    group_of = {host: group.name for group in grouped.groups for host in group.hosts}
    members: dict[str, set[str]] = {}
    for rank in plan.ranks:
        name = group_of.get(rank.host)
        members.setdefault(f"host {rank.host}" if name is None else name, set()).add(rank.host)
    return frozenset(map(frozenset, members.values()))


def _because(moved: Sequence[str]) -> str:
    return f", {named(moved)} moved" if moved else ""
