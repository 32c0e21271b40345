"""Groups that readings show: at which levels, how sure they are, or that there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.groups.certainty import compared_share, host_probabilities
from plink.solvers.groups.dendrogram import Mask
from plink.solvers.groups.evidence import EQUAL, Evidence, Readings, probability, weigh
from plink.solvers.groups.grouping import ALONE, Labels, Matrix, check_distances, renumbered
from plink.solvers.groups.structure import LEAST_GAIN, LEAST_NOISE, Structure

# Below, an answer is a guess and not given.
LIKELY = 0.8
SURE = 0.99
# Two levels differ in what they say only if one has this many times the other's groups.
_LEAST_RATIO = 1.5
# A wider level is taken if it costs less than this share of a finer one: the finer one leaves more
# of the traffic within groups.
_CLEARLY_CHEAPER = 0.75
# Three distances are always two near ones, or a near one and two far ones.
_LEAST_HOSTS = 4
# With fewer pairs of groups compared, too many of them may be parts of one.
_LEAST_COMPARED = 0.8
# Below this share of the median a distance's logarithm says nothing.
_LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class Level:
    """One grouping of the hosts.

    Args:
        labels: (N,) each host's group; `ALONE` for a host that is near no other.
        step: by which share what is around groups is at least farther than what is within them.
        of_groups: (k,) the probability that each is a group.
        of_hosts: (N,) the probability that each host belongs where it is, given the groups.
    """

    labels: Labels
    step: float
    of_groups: npt.NDArray[np.float64]
    of_hosts: npt.NDArray[np.float64]

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.labels.max()) + 1

    @property
    def alone(self) -> int:
        """How many hosts are in no group."""
        return int((self.labels == ALONE).sum())


@dataclass(frozen=True)
class Discovery:
    """What readings say of groups.

    Args:
        levels: the fewest groups first; empty where groups are less than likely.
        probability: that there are groups.
        rival: the best explanation without groups, in words.
        is_too_sparse: there are groups, but too few pairs were measured to say which.
    """

    levels: Sequence[Level]
    probability: float
    rival: str
    is_too_sparse: bool = False


def discover(
    distance: Matrix,
    is_measured: Mask | None = None,
    *,
    also: Sequence[Matrix] = (),
    noise: float = 0.0,
    seed: int = 0,
) -> Discovery:
    """The levels of groups that readings show.

    A structure of nested groups is a description of the readings, the shortest of which is taken
    (`structure`), and weighed against others without groups and against shuffled readings
    (`evidence`). It is cut into levels where the distances make clear steps.

    Args:
        distance: (N, N), symmetric, finite, zero diagonal; what was not measured is filled in.
        is_measured: (N, N) which of them were measured and so are evidence; None for all.
        also: other (N, N) distances without gaps on which groups are looked for, such as those of
            an embedding; what they are worth is judged by the readings alone.
        noise: by which share readings are off, where that is known.
        seed: of what chance decides.

    Raises:
        ValueError: no such matrices.
    """
    for matrix in (distance, *also):
        check_distances(matrix)
    size = len(distance)
    between = ~np.eye(size, dtype=bool)
    measured = between if is_measured is None else is_measured & between
    known = distance[measured & (distance > 0.0)]
    if size < _LEAST_HOSTS or not known.size:
        return Discovery((), 0.0, EQUAL)
    least = _LEAST_SHARE * float(np.median(known))
    filled = [np.log(np.maximum(matrix, least)) for matrix in (distance, *also)]
    logs = np.where(measured, filled[0], 0.0)
    readings = Readings(logs, measured, filled, max(noise, LEAST_NOISE))
    evidence = weigh(readings, seed=seed)
    if evidence.probability < LIKELY:
        return Discovery((), evidence.probability, evidence.rival)
    shown = _levels(evidence, logs, measured)
    deviation = evidence.structure.deviation
    levels = [
        level
        for level in shown
        if compared_share(logs, measured, level.labels, deviation) >= _LEAST_COMPARED
    ]
    # A level that leaves most hosts alone says little beside one that does not.
    levels = [level for level in levels if level.alone <= size / 2] or levels
    is_too_sparse = bool(shown) and not levels
    return Discovery(levels, evidence.probability, evidence.rival, is_too_sparse)


def primary(levels: Sequence[Level]) -> Level:
    """The level to aggregate on: the finest, but for one that is clearly cheaper (`cost`)."""
    chosen, *wider = sorted(levels, key=lambda level: -level.groups)
    for level in wider:
        if cost(level.labels) < _CLEARLY_CHEAPER * cost(chosen.labels):
            chosen = level
    return chosen


def cost(labels: Labels) -> int:
    """What the busiest global master of two-level aggregation sends or receives, in messages.

    Luo 2020, eq. 4.2, n / k + k, for groups of unequal sizes: those of the largest group, and one
    of each group. A host that is alone is a group.
    """
    placed = labels[labels != ALONE]
    largest = int(np.bincount(placed).max(initial=1))
    return largest + int(labels.max()) + 1 + int((labels == ALONE).sum())


def _levels(evidence: Evidence, logs: Matrix, is_measured: Mask) -> Sequence[Level]:
    """Cuts at the widest steps first; another with about as many groups says the same."""
    structure = evidence.structure
    found: list[Level] = []
    for step, labels in sorted(_cuts(structure), key=lambda cut: -cut[0]):
        groups = int(labels.max()) + 1
        parts = [groups + int((labels == ALONE).sum())]
        parts += [level.groups + level.alone for level in found]
        ratios = (max(parts[0] / other, other / parts[0]) for other in parts[1:])
        if parts[0] >= 2 and all(ratio >= _LEAST_RATIO for ratio in ratios):
            found.append(_level(evidence, logs, is_measured, labels, step))
    return sorted(found, key=lambda level: (level.groups, -level.step))


def _cuts(structure: Structure) -> list[tuple[float, Labels]]:
    """The step in the logarithm, and the groups, of every cut between two means."""
    order = np.argsort(structure.log_mean[1:], kind="stable") + 1
    around = float(structure.log_mean[0])
    least = max(np.log1p(LEAST_GAIN), structure.deviation)
    cuts = []
    for count in range(1, len(order) + 1):
        inside = float(structure.log_mean[order[count - 1]])
        outside = around
        if count < len(order):
            outside = min(around, float(structure.log_mean[order[count]]))
        if outside - inside >= least:
            nodes = [structure.nodes[place] for place in sorted(order[:count])]
            cuts.append((outside - inside, _labels(structure, nodes)))
    return cuts


def _labels(structure: Structure, nodes: Sequence[int]) -> Labels:
    """The groups of the widest of these nodes, which come before those below them."""
    labels = np.full(len(structure.tree.hosts), ALONE, dtype=np.int64)
    for number, node in enumerate(nodes):
        hosts = structure.tree.hosts_below(node)
        if labels[hosts[0]] == ALONE:
            labels[hosts] = number
    return renumbered(labels)


def _level(
    evidence: Evidence, logs: Matrix, is_measured: Mask, labels: Labels, step: float
) -> Level:
    structure = evidence.structure
    whole = evidence.probability
    of_groups = np.full(int(labels.max()) + 1, whole)
    for place, node in enumerate(structure.nodes[1:], start=1):
        hosts = structure.tree.hosts_below(node)
        group = labels[hosts[0]]
        if group != ALONE and int((labels == group).sum()) == len(hosts):
            loss = structure.cost_without[place] - structure.cost
            of_groups[group] = min(whole, float(probability(loss / 2.0)))
    return Level(
        labels=labels,
        step=float(np.expm1(step)),
        of_groups=of_groups,
        of_hosts=host_probabilities(logs, is_measured, labels, structure.deviation),
    )
