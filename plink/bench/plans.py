"""Plans that a bench runs on the engine: of kinds, or from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.base.text import format_count
from plink.formats import plan as plan_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group
from plink.formats.plan import Plan
from plink.model.network import build_network
from plink.optimize.plans.candidates import KINDS
from plink.optimize.plans.planning import find_plan
from plink.optimize.plans.request import PlanRequest
from plink.optimize.plans.serving import choose
from plink.optimize.plans.traffic import Demand, build_traffic, traffic_time_s
from plink.plans.forest import Forest

AUTO = "auto"
PLAN_KINDS = (AUTO, *KINDS)


@dataclass(frozen=True)
class EnginePlan:
    """Plan that the engine runs for one collective and size.

    Args:
        label: kind that was asked for, `auto`, or the name of a file.
        kind: kind of the plan.
        forest: aggregation trees over the ranks.
        hosts: (P,) the host of each rank, by its place in the cluster file.
        groups: of near hosts, which the plan was made for.
        predicted_s: of one collective; None where nothing is known of what links carry.
    """

    label: str
    kind: str
    forest: Forest
    hosts: Sequence[int]
    groups: Sequence[Group]
    predicted_s: float | None


def plans_of_kinds(
    kinds: Sequence[str],
    cluster: Cluster,
    *,
    slots: int,
    demand: Demand,
    seed: int,
) -> list[EnginePlan]:
    """Return a plan of each kind for a collective of a size, ranks numbered as `plink plan` does.

    Raises:
        WrongUseError: there is no plan of a kind for these hosts.
    """
    wanted = PlanRequest(
        size=round(demand.size_bytes),
        collective=demand.collective,
        ranks_per_host=slots,
        seed=seed,
    )
    found = find_plan(cluster, wanted)
    for refused in found.refused:
        if refused.kind in kinds:
            raise WrongUseError(f"there is no plan of kind {refused.kind}: {refused.reason}")
    place_of = {name: place for place, name in enumerate(cluster.names)}
    hosts = [place_of[rank.host] for rank in found.plan.ranks]
    has_rates = build_network(cluster).has_rates
    plans = []
    for kind in kinds:
        chosen = choose(kind, found.candidates, found.refused).candidate
        plans.append(
            EnginePlan(
                label=kind,
                kind=chosen.kind,
                forest=chosen.forest,
                hosts=hosts,
                groups=found.plan.groups,
                predicted_s=chosen.time_s if has_rates else None,
            )
        )
    return plans


def plan_from_file(path: str, cluster: Cluster, slots: int, demand: Demand) -> EnginePlan:
    """Return the plan in a file, for a collective and a size that it need not have been made for.

    Raises:
        WrongUseError: no plan file, or a plan for other hosts or ranks than the bench's.
    """
    plan = plan_file.read_plan(path)
    hosts = _hosts_of(plan, path, cluster, slots)
    known = build_network(_with_groups(cluster, plan.groups))
    predicted_s = traffic_time_s(build_traffic(demand, plan.forest), hosts, known.network)
    return EnginePlan(
        label=PurePath(path).name,
        kind=plan.kind,
        forest=plan.forest,
        hosts=hosts,
        groups=plan.groups,
        predicted_s=predicted_s if known.has_rates else None,
    )


def _hosts_of(plan: Plan, path: str, cluster: Cluster, slots: int) -> list[int]:
    place_of = {name: place for place, name in enumerate(cluster.names)}
    hosts = []
    for rank in plan.ranks:
        if rank.host not in place_of:
            raise WrongUseError(f"{path}: {rank.host} is not a host of the cluster file")
        hosts.append(place_of[rank.host])
    if any(hosts.count(host) != slots for host in range(len(cluster.hosts))):
        ranks = format_count(slots, "rank")
        raise WrongUseError(
            f"{path}: the plan does not have {ranks} on each of {len(cluster.hosts)} hosts",
            "--slots K says how many run on a host; plink plan makes a plan for these hosts",
        )
    return hosts


def _with_groups(cluster: Cluster, groups: Sequence[Group]) -> Cluster:
    names = set(cluster.names)
    if not all(set(group.hosts) <= names for group in groups):
        return cluster
    return replace(cluster, groups=tuple(groups))
