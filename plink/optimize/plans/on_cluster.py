"""Matching of a plan's ranks to the hosts of a cluster, even one that it was not made for."""

from __future__ import annotations

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.files.cluster import Cluster
from plink.files.plan import Plan


def hosts_of(plan: Plan, cluster: Cluster, source: str) -> list[int]:
    """Return each rank's host as an index into the cluster; `source` names the plan in errors.

    Raises:
        WrongUseError: the plan is of other hosts.
    """
    place_of = {name: place for place, name in enumerate(cluster.names)}
    for rank in plan.ranks:
        if rank.host not in place_of:
            raise WrongUseError(
                f"{source}: {rank.host} is not a host of {cluster.source}",
                "name the cluster file that the plan was made from",
            )
    return [place_of[rank.host] for rank in plan.ranks]


def grouped_as(plan: Plan, cluster: Cluster) -> Cluster:
    """Return the cluster with the groups of a plan, which may cover only some of its hosts.

    Where these are the cluster's own but for hosts without a rank, the cluster as it is: its
    uplinks were measured with all hosts of its groups.
    """
    ranked = {rank.host for rank in plan.ranks}
    own = {frozenset(group.hosts) & ranked for group in cluster.groups} - {frozenset[str]()}
    of_plan = {frozenset(group.hosts) for group in plan.groups}
    if not of_plan or own == of_plan or not set().union(*of_plan) <= set(cluster.names):
        return cluster
    return replace(cluster, groups=tuple(plan.groups))
