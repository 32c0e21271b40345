"""From a cluster to groups of hosts that are near each other, and how sure they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from plink.denoising import Denoised, denoise, measured_hosts
from plink.distance import Matrix, both_directions
from plink.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.files.grouping import Grouping, GroupQuality
from plink.files.groups import Group
from solvers.groups.agreement import adjusted_mutual_information
from solvers.groups.grouping import ALONE, Labels, members, usual_count
from solvers.groups.kmeans import constrained_kmeans
from solvers.groups.levels import find_levels, primary
from solvers.groups.linkage import balanced_linkage
from solvers.groups.separation import Separation, log_distances, separation

METHODS = ("auto", "levels", "linkage", "kmeans")
DEFAULT_ELASTICITY = 2.0


@dataclass(frozen=True)
class GroupRequest:
    """What groups are wanted.

    Args:
        method: of `METHODS`; `auto` is `levels`, or `linkage` where k is given.
        groups: k; None for what the data show (`levels`), or sqrt(N).
        elasticity: 1 (balanced) to 2; not for `levels`, which take sizes as they are.
        seed: of what chance decides.
    """

    method: str = "auto"
    groups: int | None = None
    elasticity: float = DEFAULT_ELASTICITY
    seed: int = 0

    @property
    def chosen(self) -> str:
        """The method that `auto` stands for."""
        if self.method != "auto":
            return self.method
        return "levels" if self.groups is None else "linkage"


@dataclass(frozen=True)
class Found:
    """Groups, how they were found, and the distances they were found on; no groups is an answer."""

    groups: Sequence[Group]
    grouping: Grouping
    denoised: Denoised


def find_groups(
    cluster: Cluster,
    request: GroupRequest,
    *,
    needs_points: bool = False,
    on_progress: Callable[[str], None] | None = None,
) -> Found:
    """The groups of a cluster's hosts.

    Args:
        cluster: with round-trip times.
        request: which groups.
        needs_points: make an embedding in any case.
        on_progress: told what is being done.

    Raises:
        WrongUseError: too few hosts are measured, or not so many groups can be made.
    """
    tell = on_progress or (lambda _: None)
    hosts = measured_hosts(cluster)
    if len(hosts) < 2:
        raise WrongUseError(
            "fewer than two hosts have round-trip times to others",
            "plink probe measures them, plink import takes them from a matrix",
        )
    method = request.chosen
    if request.groups is not None and not 1 <= request.groups <= len(hosts):
        raise WrongUseError(f"{request.groups} groups cannot be made of {len(hosts)} hosts")
    tell("distances")
    denoised = denoise(
        cluster,
        hosts,
        needs_points=needs_points or method == "kmeans",
        seed=request.seed,
        on_progress=on_progress,
    )
    tell("groups")
    levels = [level.labels for level in find_levels(denoised.matrix_us)]
    labels = _labels(denoised, request, method)
    names = cluster.names
    placed = [names[host] for host in hosts]
    groups = _named(labels, placed, cluster.groups)
    clear = separation(log_distances(denoised.matrix_us), labels)
    tell("checking")
    grouping = Grouping(
        method=method,
        matrix="embedding" if denoised.is_embedded else "raw",
        options=_options(request, method),
        seed=request.seed,
        certainty=_weakest_certainty(clear, labels),
        confirmed=_confirmed(cluster, request, method) if groups else None,
        quality=_quality(groups, labels, denoised.matrix_us, clear),
        alone=[placed[host] for host in np.flatnonzero(labels == ALONE)] if groups else [],
        unmeasured=[name for host, name in enumerate(names) if host not in set(hosts)],
        levels=[[[placed[host] for host in group] for group in members(level)] for level in levels],
        notes=_notes(denoised, method, levels),
    )
    return Found(groups, grouping, denoised)


def with_groups(cluster: Cluster, found: Found) -> Cluster:
    """The cluster with the groups; uplinks stay with groups that have the hosts they had."""
    uplinks = cluster.uplinks
    if uplinks is not None:
        before = {group.name: set(group.hosts) for group in cluster.groups}
        same = {group.name for group in found.groups if before.get(group.name) == set(group.hosts)}
        kept = [uplink for uplink in uplinks.uplinks if uplink.group in same]
        uplinks = replace(uplinks, uplinks=kept) if kept else None
    return replace(cluster, groups=found.groups, uplinks=uplinks, grouping=found.grouping)


def _labels(denoised: Denoised, request: GroupRequest, method: str) -> Labels:
    """The group of each host that is placed."""
    size = len(denoised.hosts)
    if method == "levels":
        return _level_labels(denoised.matrix_us, request.groups)
    groups = request.groups or usual_count(size)
    if method == "linkage":
        return balanced_linkage(denoised.matrix_us, groups, elasticity=request.elasticity)
    if denoised.embedding is None:
        raise WrongUseError(
            f"there is no embedding for k-means: {denoised.why}", "--method linkage needs none"
        )
    return constrained_kmeans(
        denoised.embedding.points, groups, elasticity=request.elasticity, seed=request.seed
    )


def _level_labels(matrix_us: Matrix, groups: int | None) -> Labels:
    levels = find_levels(matrix_us)
    if groups is not None:
        levels = [level for level in levels if level.groups == groups]
    if not levels:
        return np.full(len(matrix_us), ALONE)
    return primary(levels).labels


def _named(labels: Labels, names: Sequence[str], before: Sequence[Group]) -> list[Group]:
    """Groups with names: the one that a group with the same hosts had, else g1, g2, ..."""
    known = {frozenset(group.hosts): group.name for group in before}
    hosts_of = [[names[host] for host in group] for group in members(labels)]
    kept = [known.get(frozenset(hosts)) for hosts in hosts_of]
    taken = set(kept)
    free = (name for name in (f"g{number}" for number in range(1, 1 << 20)) if name not in taken)
    return [
        Group(name if name is not None else next(free), hosts)
        for name, hosts in zip(kept, hosts_of, strict=True)
    ]


def _quality(
    groups: Sequence[Group], labels: Labels, matrix_us: Matrix, clear: Separation
) -> list[GroupQuality]:
    found = []
    certainty = clear.certainty
    for number, group in enumerate(groups):
        hosts = np.flatnonzero(labels == number)
        inside = matrix_us[np.ix_(hosts, hosts)][np.triu_indices(len(hosts), 1)]
        others = clear.nearest_group[hosts]
        outside = [
            matrix_us[host, labels == other]
            for host, other in zip(hosts, others, strict=True)
            if other >= 0
        ]
        found.append(
            GroupQuality(
                group=group.name,
                within_us=float(np.median(inside)) if inside.size else None,
                between_us=float(np.median(np.concatenate(outside))) if outside else None,
                certainty=float(certainty[hosts].mean()) if outside else None,
            )
        )
    return found


def _weakest_certainty(clear: Separation, labels: Labels) -> float | None:
    """The certainty that nine in ten of the grouped hosts have."""
    certainty = clear.certainty[(labels != ALONE) & np.isfinite(clear.of_hosts)]
    return float(np.quantile(certainty, 0.1)) if certainty.size else None


def _confirmed(cluster: Cluster, request: GroupRequest, method: str) -> float | None:
    """How well the groups found on one direction's readings agree with those on the other's."""
    if method == "kmeans":
        return None
    readings = both_directions(cluster)
    if readings is None:
        return None
    first, second = (
        _labels(Denoised(range(len(matrix_us)), matrix_us, False, None, "", 0), request, method)
        for matrix_us in readings
    )
    return adjusted_mutual_information(_singled(first), _singled(second))


def _singled(labels: Labels) -> list[int]:
    """Labels in which each host that is alone has its own."""
    return [int(label) if label != ALONE else -1 - host for host, label in enumerate(labels)]


def _options(request: GroupRequest, method: str) -> dict[str, object]:
    options: dict[str, object] = {}
    if request.groups is not None:
        options["k"] = request.groups
    if method != "levels":
        options["elasticity"] = request.elasticity
    return options


def _notes(denoised: Denoised, method: str, levels: Sequence[Labels]) -> list[str]:
    notes = []
    if denoised.filled_pairs:
        source = "the embedding" if denoised.is_embedded else "the raw matrix"
        notes.append(
            f"{denoised.filled_pairs:,} pairs were not measured; distances are of {source}: "
            f"{denoised.why}"
        )
    elif method != "kmeans":
        notes.append(
            "the embedding was not used: every pair was measured, and groups found on the readings "
            "themselves are no worse"
        )
    if method != "levels" and not levels:
        notes.append("the distances show no groups: these are cut from a continuum")
    return notes
