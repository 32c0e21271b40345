"""Findings about lost packets: at a host, between a pair, or on a group's uplink.

Each echo is lost with some chance. Which chances explain the counts best is asked as by likelihood
(Wilks 1938): of every host, pair and group, how much likelier the counts are where all ways through
it lose their own share than where they lose what networks always do. The best explanation is taken,
and what it explains is taken away, until nothing is left that chance cannot explain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from plink.doctor.certainty import Floats, Mask
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind
from plink.formats.matrices import Matrix

# What is lost where all is well: beside other work an echo may come too late.
_USUAL_SHARE = 0.002
# Below this share a loss is told of nobody.
_LEAST_SHARE = 0.004
# In natural units of information, beyond the choice of the explanation.
_LEAST_GAIN = 6.0
_LEAST_PAIRS = 2
_MOST_FINDINGS = 8
# One direction of a pair may have lost so many times what the other has, and so many echoes more.
_BURST_FACTOR, _BURST = 3, 2
# Of TCP, roughly: a share of 1 % doubles what a transfer takes.
_COST_PER_ROOT = 10.0
_ADVICE = (
    "look at drops and errors (ip -s link, ethtool -S) at both ends and the switch ports between",
    "look for a policer or a full queue on that way: shape traffic instead of dropping it",
)


@dataclass(frozen=True)
class _LossPlace:
    """Possible place of losses (host, pair or uplink), with the pairs whose packets pass it."""

    hosts: tuple[str, ...]
    how: str
    group: str | None
    pairs: Mask


def find(evidence: Evidence) -> list[Finding]:
    """Return findings on the hosts, pairs or uplinks that lose packets, the clearest first."""
    rtt = evidence.cluster.rtt
    if rtt is None or not rtt.losses.any():
        return []
    # Counts are whole numbers of few bits where a file holds them so.
    losses = rtt.losses.astype(np.float64)
    one_way = rtt.samples + losses
    sent = np.triu(one_way + one_way.T, 1)
    lost = np.triu(_remove_bursts(losses), 1)
    found: list[Finding] = []
    while len(found) < _MOST_FINDINGS:
        way, gain = _find_best(evidence, lost, sent)
        if gain < _LEAST_GAIN or _lost_share(lost, sent, way.pairs) < _LEAST_SHARE:
            break
        found.append(_build_finding(way, lost, sent, gain))
        lost, sent = (np.where(way.pairs, 0.0, matrix) for matrix in (lost, sent))
    return found


def _remove_bursts(losses: Matrix) -> Matrix:
    """Return each pair's losses of both directions, less what one alone had in excess, (N, N).

    An echo goes both ways, so that a way that loses packets loses those of either end. What only
    one end missed is a burst: it, or its partner, did not get a processor for a moment.
    """
    most = _BURST_FACTOR * losses + _BURST
    alike: Matrix = np.minimum(losses, most.T)
    return alike + alike.T


def _find_best(evidence: Evidence, lost: Matrix, sent: Matrix) -> tuple[_LossPlace, float]:
    """Return the place that explains the losses best, and its gain in log likelihood."""
    names, groups = evidence.names, evidence.cluster.groups
    pairs = np.argwhere(lost > 0.0)
    of_hosts = _likelihood_gains(_sum_by_host(lost), _sum_by_host(sent))
    # A host of one pair is that pair.
    of_hosts[_sum_by_host(np.sign(sent)) < _LEAST_PAIRS] = 0.0
    of_pairs = _likelihood_gains(lost[tuple(pairs.T)], sent[tuple(pairs.T)])
    of_groups = _likelihood_gains(*(_sum_by_group(evidence, matrix) for matrix in (lost, sent)))
    gains = np.concatenate([of_hosts, of_pairs, of_groups])
    place = int(np.argmax(gains))
    mask = np.zeros(lost.shape, dtype=np.bool_)
    if place < len(names):
        mask[place, :] = mask[:, place] = True
        way = _LossPlace((names[place],), f"{names[place]} exchanges with all others", None, mask)
    elif place < len(names) + len(pairs):
        one, other = pairs[place - len(names)].tolist()
        mask[one, other] = True
        ends = (names[one], names[other])
        way = _LossPlace(ends, f"{ends[0]} and {ends[1]} exchange", None, mask)
    else:
        number = place - len(names) - len(pairs)
        is_in = evidence.group_by_host == number
        how = f"{groups[number].name} exchanges with other groups"
        mask = is_in[:, None] != is_in[None, :]
        way = _LossPlace(tuple(groups[number].hosts), how, groups[number].name, mask)
    return way, float(gains[place]) - math.log(len(gains))


def _sum_by_host(matrix: Matrix) -> Floats:
    """Return the sum of a matrix over each host's pairs, (N,)."""
    total: Floats = matrix.sum(axis=0) + matrix.sum(axis=1)
    return total


def _sum_by_group(evidence: Evidence, matrix: Matrix) -> Floats:
    """Return a matrix's sum over each group's pairs with other hosts, (G,); 0 for one host."""
    size = int(evidence.group_by_host.max()) + 1
    between = np.zeros((size, size))
    ends = np.broadcast_arrays(evidence.group_by_host[:, None], evidence.group_by_host[None, :])
    np.add.at(between, tuple(ends), matrix)
    np.fill_diagonal(between, 0.0)
    total: Floats = between.sum(axis=0) + between.sum(axis=1)
    groups = len(evidence.cluster.groups)
    sizes = np.bincount(evidence.group_by_host, minlength=size)
    return np.where(sizes >= _LEAST_PAIRS, total, 0.0)[:groups]


def _lost_share(lost: Matrix, sent: Matrix, pairs: Mask) -> float:
    total = float(sent[pairs].sum())
    return float(lost[pairs].sum()) / total if total else 0.0


def _likelihood_gains(lost: Floats, sent: Floats) -> Floats:
    """Return log likelihood ratios of losses at their own rate over the usual; 0 if not above."""
    share = np.divide(lost, sent, out=np.zeros_like(lost), where=sent > 0.0)
    of_lost = xlogy(lost, share / _USUAL_SHARE)
    of_kept = xlogy(sent - lost, (1.0 - share) / (1.0 - _USUAL_SHARE))
    gains: Floats = np.where(share > _USUAL_SHARE, of_lost + of_kept, 0.0)
    return gains


def _build_finding(way: _LossPlace, lost: Matrix, sent: Matrix, gain: float) -> Finding:
    share = _lost_share(lost, sent, way.pairs)
    known = way.pairs & (sent > 0.0)
    with_loss = int((lost[known] > 0.0).sum())
    pairs = int(known.sum())
    says = (
        f"{100.0 * share:.2g} % of the echoes that {way.how} are lost "
        f"({int(lost[known].sum()):,} of {int(sent[known].sum()):,}"
    )
    says += f", on {with_loss} of {pairs} pairs)" if pairs > 1 else ")"
    kind = FindingKind.LOSS if way.group is None else FindingKind.CONGESTED
    cost = 1.0 + _COST_PER_ROOT * math.sqrt(share)
    return Finding(kind, way.hosts, says, 1.0 - math.exp(-gain), cost, _ADVICE, way.group)
