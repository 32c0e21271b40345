"""Grouping of a cluster's hosts by distance, with the certainty of the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.base.text import format_count
from plink.formats.cluster import Cluster, require_rtt
from plink.formats.groups import Grouping, Partition
from plink.formats.hosts import Group, with_domains
from plink.model.denoising import (
    LEAST_PARTNERS,
    Denoised,
    denoise,
    find_measured_hosts,
    split_halves,
)
from plink.optimize.groups.quality import doubtful_hosts, nearest_groups, qualities
from plink.optimize.groups.request import GroupRequest
from plink.solvers.groups.grouping import (
    ALONE,
    Labels,
    choose_group_count,
    list_members,
    separate_alone,
)
from plink.solvers.groups.levels import Discovery, Level, choose_level, discover

with lazy_imports():
    # scikit-learn takes a second to import.
    from plink.solvers.groups import agreement, balanced

# More hosts would take the better part of an hour, and more memory than most machines have.
_MOST_HOSTS = 8192
# Of more hosts each half of the readings is not grouped by itself, which takes twice the time more.
_MOST_CONFIRMED = 2048


DEFAULT_REQUEST = GroupRequest()


class UngroupableError(WrongUseError):
    """Error that the requested groups cannot be made of these hosts and measurements."""


@dataclass(frozen=True)
class FoundGroups:
    """Result of grouping: the groups, possibly none, and the distances they come from.

    Where `is_too_sparse`, there are groups, and too few pairs were measured to say which.
    """

    groups: Sequence[Group]
    grouping: Grouping
    denoised: Denoised
    is_too_sparse: bool = False


def find_groups(
    cluster: Cluster,
    request: GroupRequest = DEFAULT_REQUEST,
    *,
    needs_points: bool = False,
    on_progress: Callable[[str], None] | None = None,
) -> FoundGroups:
    """Find groups of near hosts in a cluster's measurements by the requested method.

    Args:
        cluster: with round-trip times, or with bandwidths alone.
        request: which groups.
        needs_points: make an embedding in any case.
        on_progress: told what is being done.

    Raises:
        WrongUseError: the request contradicts itself.
        UngroupableError: too few hosts are measured, or not so many groups can be made.
        NotMeasuredError: nothing is measured.
    """
    tell = on_progress or (lambda _: None)
    method = request.chosen
    if method == "levels" and request.elasticity is not None:
        raise WrongUseError(
            "{elasticity=} is allowed only with {method=linkage} or {method=kmeans}",
            "{method=levels} does not limit the sizes of groups",
            arguments=vars(request),
        )
    if cluster.bandwidth is None:
        require_rtt(cluster)
    if len(cluster.hosts) > _MOST_HOSTS:
        raise UngroupableError(
            f"{cluster.source}: {len(cluster.hosts):,} hosts are too many to be grouped, at most "
            f"{_MOST_HOSTS:,}",
            "plink order needs no groups, and plink probe accepts given groups",
        )
    hosts = find_measured_hosts(cluster)
    if len(hosts) < 2:
        partners = max(1, min(LEAST_PARTNERS, len(cluster.hosts) - 1))
        quantity = "bandwidths" if cluster.rtt is None else "round-trip times"
        raise UngroupableError(
            f"too few pairs have {quantity}: a host is grouped if it has them with at least "
            f"{format_count(partners, 'other host')}",
            "plink probe measures them, plink import takes them from a matrix",
        )
    if request.k is not None and not 1 <= request.k <= len(hosts):
        raise UngroupableError(
            f"{request.k} groups need as many measured hosts at least, but there are {len(hosts)}"
        )
    tell("distances")
    denoised = denoise(
        cluster,
        hosts,
        needs_points=needs_points or method == "kmeans",
        seed=request.seed,
        on_progress=on_progress,
    )
    tell("groups")
    discovery = discover(denoised.matrix, denoised.is_measured)
    level = _choose_level(discovery, request) if method == "levels" else None
    labels = _labels(denoised, request, method, level)
    placed = [cluster.names[host] for host in hosts]
    groups = _name_groups(labels, placed, cluster.groups)
    tell("checking")
    doubtful = doubtful_hosts(placed, labels, denoised, level)
    grouping = Grouping(
        method=method,
        matrix="embedding" if denoised.is_embedded else "raw",
        options=_options(request, method),
        seed=request.seed,
        probability=discovery.probability,
        rival=discovery.rival,
        confirmed=_compare_halves(cluster, denoised, request, method) if groups else None,
        quality=qualities(groups, labels, denoised, level),
        doubtful=doubtful,
        nearest=nearest_groups(placed, groups, level, doubtful),
        alone=[placed[host] for host in np.flatnonzero(labels == ALONE)] if groups else [],
        unmeasured=[name for host, name in enumerate(cluster.names) if host not in set(hosts)],
        levels=[
            Partition([[placed[host] for host in group] for group in list_members(each.labels)])
            for each in discovery.levels
        ],
        notes=_notes(denoised, method, discovery),
    )
    return FoundGroups(groups, grouping, denoised, discovery.is_too_sparse and not groups)


def with_groups(cluster: Cluster, found: FoundGroups) -> Cluster:
    """Return the cluster with found groups; a group of the same hosts keeps its uplink's rates."""
    return _with(cluster, found.groups, found.grouping)


def with_given_groups(
    cluster: Cluster, groups: Sequence[Group], domains: Mapping[str, str]
) -> Cluster:
    """Return the cluster with groups from another source, without probabilities of membership.

    Args:
        cluster: what was measured.
        groups: its groups.
        domains: NVLink domain of each host of which one is known; others stay as they are.
    """
    return _with(replace(cluster, hosts=with_domains(cluster.hosts, domains)), groups, None)


def _with(cluster: Cluster, groups: Sequence[Group], grouping: Grouping | None) -> Cluster:
    uplinks = cluster.uplinks
    if uplinks is not None:
        before = {group.name: set(group.hosts) for group in cluster.groups}
        same = {group.name for group in groups if before.get(group.name) == set(group.hosts)}
        kept = [uplink for uplink in uplinks.uplinks if uplink.group in same]
        uplinks = replace(uplinks, uplinks=kept) if kept else None
    return replace(cluster, groups=list(groups), uplinks=uplinks, grouping=grouping)


def _choose_level(discovery: Discovery, request: GroupRequest) -> Level | None:
    levels = discovery.levels
    if request.k is not None:
        levels = [level for level in levels if level.groups == request.k]
    return choose_level(levels) if levels else None


def _labels(denoised: Denoised, request: GroupRequest, method: str, level: Level | None) -> Labels:
    """Group the M hosts with enough readings; return each one's group, (M,), or `ALONE`."""
    size = len(denoised.hosts)
    if method == "levels":
        return np.full(size, ALONE) if level is None else level.labels
    groups = request.k or choose_group_count(size)
    if method == "linkage":
        return balanced.balanced_linkage(denoised.best, groups, elasticity=request.most_uneven)
    if denoised.embedding is None:
        raise UngroupableError(
            f"there is no embedding for k-means: {denoised.why}",
            "the method linkage needs no embedding",
        )
    return balanced.constrained_kmeans(
        denoised.embedding.points, groups, elasticity=request.most_uneven, seed=request.seed
    )


def _name_groups(labels: Labels, names: Sequence[str], before: Sequence[Group]) -> list[Group]:
    """Return groups with names: kept for a group with the same hosts, else g1, g2, ..."""
    known = {frozenset(group.hosts): group.name for group in before}
    hosts_of = [[names[host] for host in group] for group in list_members(labels)]
    kept = [known.get(frozenset(hosts)) for hosts in hosts_of]
    taken = set(kept)
    free = (name for name in (f"g{number}" for number in range(1, 1 << 20)) if name not in taken)
    return [
        Group(name if name is not None else next(free), hosts)
        for name, hosts in zip(kept, hosts_of, strict=True)
    ]


def _compare_halves(
    cluster: Cluster, denoised: Denoised, request: GroupRequest, method: str
) -> float | None:
    """Return how well groups from the readings' two halves agree, at most 1; None if unknown."""
    if len(denoised.hosts) > _MOST_CONFIRMED:
        return None
    halves = split_halves(cluster)
    if halves is None or method == "kmeans" or denoised.filled_pairs:
        return None
    found = []
    for half in halves:
        if len(find_measured_hosts(half)) < len(denoised.hosts):
            return None
        seen = denoise(half, denoised.hosts, seed=request.seed)
        level = None
        if method == "levels":
            level = _choose_level(discover(seen.matrix, seen.is_measured), request)
        found.append(separate_alone(_labels(seen, request, method, level)).tolist())
    return agreement.adjusted_mutual_information(*found)


def _options(request: GroupRequest, method: str) -> dict[str, object]:
    options: dict[str, object] = {}
    if request.k is not None:
        options["k"] = request.k
    if method != "levels":
        options["elasticity"] = request.most_uneven
    return options


def _notes(denoised: Denoised, method: str, discovery: Discovery) -> list[str]:
    notes = []
    if denoised.filled_pairs:
        instead = "by placing hosts as points" if denoised.is_embedded else "from the others"
        notes.append(
            f"{denoised.filled_pairs:,} pairs were not measured and speak neither for nor against "
            f"these groups: their distances were filled in {instead}"
        )
    if discovery.is_too_sparse:
        notes.append(
            "there are groups, but too few pairs were measured to say which hosts they have: "
            "measure more pairs"
        )
    if not denoised.is_time:
        notes.append("no round-trip times are known: hosts were grouped by bandwidth")
    if method != "levels" and not discovery.levels:
        notes.append(f"the distances show no groups: {method} cut these from a continuum of hosts")
    return notes
