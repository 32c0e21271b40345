"""A plan's ranks on a cluster, which need not be the one that it was made for."""

from __future__ import annotations

from plink.base.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.files.plan import Plan


def hosts_of(plan: Plan, cluster: Cluster, source: str) -> list[int]:
    """The index in the cluster of the host of every rank; `source` names the plan in errors.

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
