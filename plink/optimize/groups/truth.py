"""Comparison of found groups and distances with the true positions of the hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plink.files.cluster import Cluster
from plink.files.hosts import Group
from plink.model.denoising import readings_between
from plink.optimize.groups.finding import FoundGroups
from plink.solvers.groups.agreement import (
    adjusted_mutual_information,
    adjusted_rand,
    affinity,
    find_misplaced_hosts,
)

SEPARATOR = "/"


@dataclass(frozen=True)
class TruthLevel:
    """Level of the true hierarchy, with the found grouping that agrees best.

    Args:
        name: the prefix length, as `1 of 2`.
        groups: how many true ones there are.
        of_groups: adjusted mutual information of the cluster file's groups with it.
        of_levels: that of the best level that the distances show; None where they show none.
        rand: adjusted Rand index of the cluster file's groups with it.
    """

    name: str
    groups: int
    of_groups: float
    of_levels: float | None
    rand: float


@dataclass(frozen=True)
class Elsewhere:
    """Host that was grouped with hosts of another true group.

    Args:
        host: its name.
        stands: the true group that it is in.
        found_with: the true group whose hosts it was found with; None where those are of none.
    """

    host: str
    stands: str
    found_with: str | None


@dataclass(frozen=True)
class Judgement:
    """Agreement of found groups and distances with the truth.

    Args:
        hosts: how many the truth has a place for.
        triplets: comparable ones (Luo 2020, §6.2.5).
        raw: PAIA of the readings; None without triplets.
        embedded: PAIA of the embedding; None without one.
        levels: of the truth, the widest first; those in which all hosts are together say nothing.
        compared: the level with which the groups agree most; None where there is none.
        elsewhere: hosts that are in another group there than the cluster file's.
    """

    hosts: int
    triplets: int
    raw: float | None
    embedded: float | None
    levels: Sequence[TruthLevel]
    compared: str | None = None
    elsewhere: Sequence[Elsewhere] = ()


def judge(cluster: Cluster, found: FoundGroups, truth: Sequence[Group]) -> Judgement:
    """Compare groups and distances with true groups named by position, as `row1/rack3`."""
    position_of = {host: _position(group) for group in truth for host in group.hosts}
    placed = [cluster.names[host] for host in found.denoised.hosts]
    known = [index for index, name in enumerate(placed) if name in position_of]
    names = [placed[index] for index in known]
    positions = [position_of[name] for name in names]
    readings = readings_between(cluster, [found.denoised.hosts[index] for index in known])
    raw = affinity(readings, positions)
    embedding = found.denoised.embedding
    embedded = None
    if embedding is not None and raw.triplets:
        embedded = affinity(embedding.distance[np.ix_(known, known)], positions).accuracy
    grouped = [list(group.hosts) for group in found.groups]
    levels = _levels(names, positions, grouped, [level.groups for level in found.grouping.levels])
    best = max(levels, key=lambda level: level.of_groups, default=None)
    return Judgement(
        hosts=len(known),
        triplets=raw.triplets,
        raw=raw.accuracy if raw.triplets else None,
        embedded=embedded,
        levels=levels,
        compared=None if best is None else best.name,
        elsewhere=[] if best is None else _elsewhere(names, positions, grouped, best),
    )


def _elsewhere(
    names: Sequence[str],
    positions: Sequence[tuple[str, ...]],
    groups: Sequence[Sequence[str]],
    level: TruthLevel,
) -> list[Elsewhere]:
    length = int(level.name.partition(" ")[0])
    true = [SEPARATOR.join(position[:length]) for position in positions]
    return [
        Elsewhere(names[place], true[place], None if other is None else str(other))
        for place, other in find_misplaced_hosts(_labels(names, groups), true).items()
    ]


def _levels(
    names: Sequence[str],
    positions: Sequence[tuple[str, ...]],
    groups: Sequence[Sequence[str]],
    levels: Sequence[Sequence[Sequence[str]]],
) -> list[TruthLevel]:
    depth = max((len(position) for position in positions), default=0)
    found = []
    for length in range(1, depth + 1):
        true = [position[:length] for position in positions]
        if len(set(true)) == 1:
            continue
        of_levels = [_agreement(names, level, true) for level in levels]
        found.append(
            TruthLevel(
                name=f"{length} of {depth}",
                groups=len(set(true)),
                of_groups=_agreement(names, groups, true),
                of_levels=max(of_levels, default=None),
                rand=adjusted_rand(_labels(names, groups), true),
            )
        )
    return found


def _agreement(
    names: Sequence[str], groups: Sequence[Sequence[str]], true: Sequence[tuple[str, ...]]
) -> float:
    return adjusted_mutual_information(_labels(names, groups), true)


def _labels(names: Sequence[str], groups: Sequence[Sequence[str]]) -> list[str]:
    """Return each host's group number; a host in no group has one of its own."""
    group_of = {host: str(number) for number, hosts in enumerate(groups) for host in hosts}
    return [group_of.get(name, f"alone {name}") for name in names]


def _position(group: Group) -> tuple[str, ...]:
    return tuple(group.name.split(SEPARATOR))
