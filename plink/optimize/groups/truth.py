"""Comparison of found groups and distances with the true positions of the hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from plink.base.lazy import lazy_imports
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group
from plink.formats.limits import Positive, Share, Text, Whole
from plink.formats.structs import Output
from plink.model.denoising import select_readings
from plink.optimize.groups.finding import FoundGroups

with lazy_imports():
    # scikit-learn takes a second to import.
    from plink.solvers.groups import agreement

SEPARATOR = "/"

Agreement = Annotated[float, Meta(ge=-1, le=1)]


class TruthLevel(Output, frozen=True):
    """Level of the true hierarchy of hosts, with scores of how well found groups agree with it.

    Attributes:
        name: the prefix length, as `1 of 2`
        groups: number of true groups
        of_groups: adjusted mutual information of the cluster file's groups with it
        of_levels: that of the best level that the distances show; null if they show none
        rand: adjusted Rand index of the cluster file's groups with it
    """

    name: Text
    groups: Positive
    of_groups: Agreement
    of_levels: Agreement | None
    rand: Agreement


class Elsewhere(Output, frozen=True):
    """Host that was grouped with hosts of another true group than its own.

    Attributes:
        host: name of the host
        stands: true group that it is in
        found_with: true group whose hosts it was found with; null if those are in none
    """

    host: Text
    stands: Text
    found_with: Text | None


class Judgement(Output, frozen=True):
    """Agreement of found groups and measured distances with the hosts' true positions.

    Attributes:
        hosts: number of hosts that the truth has a place for
        triplets: number of comparable triplets (Luo 2020, §6.2.5)
        raw: share of triplets that the readings have in the true order (PAIA)
        embedded: share of triplets that the embedding has in the true order (PAIA)
        levels: levels of the truth, the widest first, without those that keep all hosts together
        compared: level with which the groups agree most
        elsewhere: hosts that are in another group there than the cluster file's
    """

    hosts: Whole
    triplets: Whole
    raw: Share | None
    embedded: Share | None
    levels: Sequence[TruthLevel]
    compared: Text | None = None
    elsewhere: Sequence[Elsewhere] = ()


def judge(cluster: Cluster, found: FoundGroups, truth: Sequence[Group]) -> Judgement:
    """Compare found groups and distances with true groups named by position, as `row1/rack3`."""
    position_of = {host: _position(group) for group in truth for host in group.hosts}
    placed = [cluster.names[host] for host in found.denoised.hosts]
    known = [index for index, name in enumerate(placed) if name in position_of]
    names = [placed[index] for index in known]
    positions = [position_of[name] for name in names]
    readings = select_readings(cluster, [found.denoised.hosts[index] for index in known])
    raw = agreement.affinity(readings, positions)
    embedding = found.denoised.embedding
    embedded = None
    if embedding is not None and raw.triplets:
        embedded = agreement.affinity(embedding.distance[np.ix_(known, known)], positions).accuracy
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
        for place, other in agreement.find_misplaced_hosts(_labels(names, groups), true).items()
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
                rand=agreement.adjusted_rand(_labels(names, groups), true),
            )
        )
    return found


def _agreement(
    names: Sequence[str], groups: Sequence[Sequence[str]], true: Sequence[tuple[str, ...]]
) -> float:
    return agreement.adjusted_mutual_information(_labels(names, groups), true)


def _labels(names: Sequence[str], groups: Sequence[Sequence[str]]) -> list[str]:
    """Return the group number of each host; a host in no group has a number of its own."""
    group_of = {host: str(number) for number, hosts in enumerate(groups) for host in hosts}
    return [group_of.get(name, f"alone {name}") for name in names]


def _position(group: Group) -> tuple[str, ...]:
    return tuple(group.name.split(SEPARATOR))
