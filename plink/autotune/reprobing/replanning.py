"""Derive groups, and a plan for a running job, from a network that was measured again.

Without I/O. Groups and plan stay as they are where nothing has changed beyond noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, get_args

import numpy as np

from plink.autotune.protocol.identity import identity
from plink.base.errors import NotMeasuredError, PlinkError
from plink.base.replacing import replace
from plink.base.text import format_names
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group
from plink.formats.matrices import Matrix
from plink.formats.plan import Plan
from plink.measure.drift.judge import average_both_ways_us, judge, noise_ceilings
from plink.measure.probing.request import carry_over
from plink.model.network import capacity
from plink.optimize.groups.finding import (
    UngroupableError,
    find_groups,
    with_groups,
)
from plink.optimize.groups.request import GroupRequest, Method
from plink.optimize.plans.candidates import Candidate
from plink.optimize.plans.planning import find_plan
from plink.optimize.plans.request import PlanRequest

# Kinds of plans with masters that can be moved.
_TUNABLE = ("flat", "2lha")

# A link that carries so many times more or less than before has changed.
_OTHER_RATE = 1.25


@dataclass(frozen=True)
class Regrouped:
    """Groups after measuring again, and which hosts moved.

    Args:
        cluster: as it is now.
        moved: names of hosts whose distances have changed beyond noise.
    """

    cluster: Cluster
    moved: Sequence[str]


def regroup_cluster(before: Cluster, after: Cluster, measured_us: Matrix | None) -> Regrouped:
    """Return the cluster with its groups now: those of before if no distance has changed.

    Args:
        before: the cluster that there was.
        after: the same hosts, measured again.
        measured_us: (N, N) of the pairs that were measured again the reading, else NaN; None where
            there is nothing to compare with.
    """
    names = after.names
    moved: Sequence[str] = ()
    if measured_us is not None and before.rtt is not None:
        found = judge(before.rtt.readings_us, measured_us, noise_ceilings(before.rtt))
        moved = sorted({names[host] for change in found.changes for host in change.hosts})
    if measured_us is not None and not moved and after.groups:
        return Regrouped(after, moved)
    request = _request(before)
    try:
        groups = find_groups(after, request)
    except (NotMeasuredError, UngroupableError):
        return Regrouped(after, moved)
    if not groups.groups and len(after.groups) > 1:
        return Regrouped(_with_moved(after, moved), moved)
    return Regrouped(with_groups(after, groups), moved)


def _with_moved(cluster: Cluster, moved: Sequence[str]) -> Cluster:
    """Return the groups as they were, but hosts that moved are put where they are near now.

    Few hosts, or a busy network, may show no groups at all, so the other hosts stay where they
    were. A host that is as far from every group as groups are from each other is in no group.
    """
    if cluster.rtt is None:
        return cluster
    logs = np.log(average_both_ways_us(cluster.rtt.readings_us))
    place_of = {name: place for place, name in enumerate(cluster.names)}
    members = [[host for host in group.hosts if host not in moved] for group in cluster.groups]
    places = [[place_of[host] for host in hosts] for hosts in members]
    group_of = np.full(len(logs), -1)
    for number, group in enumerate(places):
        group_of[group] = number
    is_placed = (group_of >= 0)[:, None] & (group_of >= 0)[None, :] & np.isfinite(logs)
    is_inside = group_of[:, None] == group_of[None, :]
    inside, outside = logs[is_placed & is_inside], logs[is_placed & ~is_inside]
    if not inside.size or not outside.size:
        return cluster
    farthest = (np.median(inside) + np.median(outside)) / 2.0
    for host in moved:
        found = [_median(logs[place_of[host], group]) for group in places]
        nearest = int(np.argmin(found))
        if found[nearest] < farthest:
            members[nearest].append(host)
    groups = [
        Group(group.name, hosts)
        for group, hosts in zip(cluster.groups, members, strict=True)
        if hosts
    ]
    same = {group.name for group in groups if group in cluster.groups}
    uplinks = cluster.uplinks
    if uplinks is not None:
        uplinks = replace(uplinks, uplinks=[each for each in uplinks.uplinks if each.group in same])
    return replace(cluster, groups=groups, uplinks=uplinks, grouping=None)


def _median(values: Matrix) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else np.inf


def other_rates(before: Cluster, after: Cluster) -> Sequence[str]:
    """Names of the hosts and groups whose links carry materially more or less than before."""
    then, now = _rates(before, after.groups), _rates(after, after.groups)
    # A rate that is unknown compares with nothing.
    is_other = (np.maximum(then, now) > _OTHER_RATE * np.minimum(then, now)).any(axis=1)
    names = [*after.names, *(group.name for group in after.groups)]
    return [names[index] for index in np.flatnonzero(is_other).tolist()]


def knows_more(before: Cluster, after: Cluster) -> bool:
    """Return whether what some link carries is known now, and was not before."""
    then, now = _rates(before, after.groups), _rates(after, after.groups)
    return bool((np.isnan(then) & ~np.isnan(now)).any())


def _rates(cluster: Cluster, groups: Sequence[Group]) -> Matrix:
    """(N + G, 2) what links of hosts and groups send and receive in Gbit/s; NaN where unknown."""
    known = capacity(cluster, groups)
    uplinks = [(each.send_gbit_s, each.receive_gbit_s) for each in known.uplinks]
    hosts = np.stack([known.send_gbit_s, known.receive_gbit_s], axis=1)
    return np.vstack([hosts, np.array(uplinks, dtype=np.float64).reshape(-1, 2)])


def _request(cluster: Cluster) -> GroupRequest:
    """Return the request with which the earlier groups were found."""
    known = cluster.grouping
    if known is None or known.method not in get_args(Method):
        return GroupRequest()
    groups, elasticity = known.options.get("k"), known.options.get("elasticity")
    return GroupRequest(
        method=cast("Method", known.method),
        k=groups if isinstance(groups, int) else None,
        elasticity=float(elasticity) if isinstance(elasticity, (int, float)) else None,
        seed=known.seed,
    )


@dataclass(frozen=True)
class Replanned:
    """The answer to what was measured again.

    Args:
        plan: the job's new one; None where the one that it has is good.
        reason: half a sentence.
        is_confirmed: the network has changed, or more of it is known, and the plan that the job has
            is good for it.
    """

    plan: Plan | None
    reason: str
    is_confirmed: bool = False


def cluster_of(plan: Plan, cluster: Cluster) -> Cluster:
    """Return the hosts of a job only, in its order, with as many slots as it has ranks there.

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
    kept = carry_over(hosts, cluster, moved=())
    return replace(kept, groups=[group for group in groups if group.hosts])


def replan(plan: Plan, before: Cluster, after: Cluster, moved: Sequence[str]) -> Replanned:
    """Return the job's plan for the network of now, where it is another one than that of its plan.

    Args:
        plan: of the job.
        before: what was known when its plan was made, or was last found to be good.
        after: what was measured since, with its groups.
        moved: hosts whose distances have changed.

    Raises:
        PlinkError: no plan can be made, or hosts of the job are missing from the cluster.
    """
    then, now = cluster_of(plan, before), cluster_of(plan, after)
    rates = other_rates(then, now)
    has_other_groups = _partition(plan, now) != _partition(plan, plan)
    if not has_other_groups and not rates:
        # What was not known before could never be seen to change.
        is_new = knows_more(then, now)
        if moved:
            return Replanned(
                None, f"{format_names(moved)} moved, and groups are as they were", is_new
            )
        return Replanned(None, "nothing changed", is_new)
    found = find_plan(now, PlanRequest(size=plan.size_bytes, seed=plan.seed))
    chosen = _choose_candidate(plan, found.candidates)
    changes = [f"links carry other rates: {format_names(rates)}"] if rates else []
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


def _choose_candidate(plan: Plan, candidates: Sequence[Candidate]) -> Candidate:
    """Return the quickest kind that can be tuned; the job's own kind if that was asked for."""
    tunable = [each for each in candidates if each.kind in _TUNABLE]
    predicted = {each.kind: each.time_s for each in plan.predicted if each.kind in _TUNABLE}
    is_wish = plan.kind not in predicted or predicted[plan.kind] > min(predicted.values())
    own = next((each for each in tunable if each.kind == plan.kind), None)
    if is_wish and own is not None:
        return own
    return min(tunable, key=lambda each: (each.time_s, each.kind != plan.kind))


def _partition(plan: Plan, grouped: Cluster | Plan) -> frozenset[frozenset[str]]:
    """Return the hosts of a job by group; one that is in none is one by itself."""
    group_of = {host: group.name for group in grouped.groups for host in group.hosts}
    members: dict[str, set[str]] = {}
    for rank in plan.ranks:
        name = group_of.get(rank.host)
        members.setdefault(f"host {rank.host}" if name is None else name, set()).add(rank.host)
    return frozenset(map(frozenset, members.values()))


def _because(moved: Sequence[str]) -> str:
    return f", {format_names(moved)} moved" if moved else ""
