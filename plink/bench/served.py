"""Plans with servers that the hub is to run, and the workers' part of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats import plan as plan_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group, Host
from plink.formats.plan import SERVER
from plink.hub.planned import PlannedService, planned_service
from plink.measure.probing.request import carry_over
from plink.optimize.plans.ports import judge_ports


@dataclass(frozen=True)
class ServedPlan:
    """A plan with servers.

    Args:
        label: the name of its file.
        kind: of the plan.
        service: that the hub has for it.
        workers: the host of each worker's rank.
        size_bytes: that predictions are of.
        predicted_s: as its file says.
        bound_s: no less is possible on this network, with the servers.
    """

    label: str
    kind: str
    service: PlannedService
    workers: Sequence[str]
    size_bytes: int
    predicted_s: float | None
    bound_s: float | None


def read_plans(paths: Sequence[str]) -> tuple[list[ServedPlan], list[str]]:
    """Return the plans with servers among some files, and the paths of the others.

    Raises:
        WrongUseError: no plan file, or a plan that no service is made of.
    """
    served, others = [], []
    for path in paths:
        plan = plan_file.read_plan(path, with_servers=True)
        if not plan.has_servers:
            others.append(path)
            continue
        predicted = {each.kind: each.time_s for each in plan.predicted}
        served.append(
            ServedPlan(
                PurePath(path).name,
                plan.kind,
                planned_service(plan, path),
                [rank.host for rank in plan.ranks if rank.role != SERVER],
                plan.size_bytes,
                predicted.get(plan.kind),
                plan.bound_s,
            )
        )
    return served, others


def split(cluster: Cluster, served: Sequence[ServedPlan], slots: int) -> tuple[Cluster, list[Host]]:
    """Return the workers' part of a cluster, and the servers' hosts.

    Raises:
        WrongUseError: plans are for other hosts or ranks than the bench's.
    """
    wanted = list(dict.fromkeys(server.host for plan in served for server in plan.service.servers))
    by_name = {host.name: host for host in cluster.hosts}
    for name in wanted:
        if name not in by_name:
            raise WrongUseError(f"the server {name} is not a host of the cluster file")
    workers = [host for host in cluster.hosts if host.name not in wanted]
    for plan in served:
        if any(plan.workers.count(host.name) != slots for host in workers) or (
            len(plan.workers) != len(workers) * slots
        ):
            raise WrongUseError(
                f"{plan.label}: its workers are not {slots} on each host that is no server here",
                "plans that are compared have the same servers; --slots K sets the ranks of a host",
            )
    names = {host.name for host in workers}
    left = (
        Group(each.name, [one for one in each.hosts if one in names]) for each in cluster.groups
    )
    grouped = replace(cluster, groups=[group for group in left if group.hosts])
    part = carry_over(workers, grouped, moved=())
    return (
        replace(part, file_hash=cluster.file_hash, source=cluster.source, way=cluster.way),
        [by_name[name] for name in wanted],
    )


def settings_of(served: Sequence[ServedPlan], ranks: int) -> Mapping[str, str]:
    """Describe servers, and the greatest gain of ports as fast as a worker's."""
    found = {}
    for plan in served:
        ports = [weight for server in plan.service.servers for weight in server.weights]
        judged = judge_ports(ranks, sum(ports) / max(ports)).sentence
        found[plan.label] = f"if its quickest port has a worker's rate: {judged}"
    return found
