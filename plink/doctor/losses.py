"""Packets that are lost: by a host, on the way between two, or on the way out of a group.

Each echo is lost with some chance. Which chances explain the counts best is asked as by likelihood
(Wilks 1938): of every host, pair and group, how much likelier the counts are where all ways through
it lose their own share than where they lose what networks always do. The best explanation is taken,
and what it explains is taken away, until nothing is left that chance cannot explain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, Kind
from plink.files.measurement import Matrix

Mask = npt.NDArray[np.bool_]

# What is lost where all is well: beside other work an echo may come too late.
_USUAL_SHARE = 0.002
# Below this share a loss is told of nobody.
_LEAST_SHARE = 0.004
# In natural units of information, beyond the choice of the explanation.
_LEAST_GAIN = 6.0
_MOST_FINDINGS = 8
# Of TCP, roughly: a share of 1 % doubles what a transfer takes.
_COST_PER_ROOT = 10.0
_ADVICE = (
    "look at drops and errors (ip -s link, ethtool -S) at both ends and the switch ports between",
    "look for a policer or a full queue on that way: shape traffic instead of dropping it",
)


@dataclass(frozen=True)
class _Way:
    """One explanation: whose ways, `how` in words, and which pairs (upper triangle) they are."""

    hosts: tuple[str, ...]
    how: str
    group: str | None
    pairs: Mask


def find(evidence: Evidence) -> list[Finding]:
    """Where packets are lost, the clearest first."""
    rtt = evidence.cluster.rtt
    if rtt is None:
        return []
    lost = np.triu(rtt.losses + rtt.losses.T, 1).astype(np.float64)
    sent = lost + np.triu(rtt.samples + rtt.samples.T, 1)
    if not lost.any():
        return []
    ways = list(_ways(evidence, lost, sent))
    found: list[Finding] = []
    while len(found) < _MOST_FINDINGS:
        gains = [_gain(lost, sent, way.pairs) for way in ways]
        best = int(np.argmax(gains))
        gain = gains[best] - math.log(len(ways))
        way = ways[best]
        share = _share(lost, sent, way.pairs)
        if gain < _LEAST_GAIN or share < _LEAST_SHARE:
            break
        found.append(_finding(way, lost, sent, gain))
        lost, sent = (np.where(way.pairs, 0.0, matrix) for matrix in (lost, sent))
    return found


def _ways(evidence: Evidence, lost: Matrix, sent: Matrix) -> Iterator[_Way]:
    size, names = len(lost), evidence.names
    for host in range(size):
        mask = np.zeros((size, size), dtype=np.bool_)
        mask[host, :] = mask[:, host] = True
        if (mask & (sent > 0.0)).sum() >= 2:
            yield _Way((names[host],), f"{names[host]} exchanges with all others", None, mask)
    for one, other in np.argwhere(lost > 0.0):
        mask = np.zeros((size, size), dtype=np.bool_)
        mask[one, other] = True
        pair = (names[int(one)], names[int(other)])
        yield _Way(pair, f"{pair[0]} and {pair[1]} exchange", None, mask)
    for number, group in enumerate(evidence.cluster.groups):
        is_in = evidence.group_of == number
        mask = is_in[:, None] != is_in[None, :]
        if is_in.sum() >= 2:
            how = f"{group.name} exchanges with other groups"
            yield _Way(tuple(group.hosts), how, group.name, mask)


def _share(lost: Matrix, sent: Matrix, pairs: Mask) -> float:
    total = float(sent[pairs].sum())
    return float(lost[pairs].sum()) / total if total else 0.0


def _gain(lost: Matrix, sent: Matrix, pairs: Mask) -> float:
    """How much likelier the counts are with a share of their own (log likelihood ratio)."""
    total, gone = float(sent[pairs].sum()), float(lost[pairs].sum())
    share = gone / total if total else 0.0
    if share <= _USUAL_SHARE:
        return 0.0
    kept = total - gone
    stays = kept * math.log((1.0 - share) / (1.0 - _USUAL_SHARE)) if kept else 0.0
    return gone * math.log(share / _USUAL_SHARE) + stays


def _finding(way: _Way, lost: Matrix, sent: Matrix, gain: float) -> Finding:
    share = _share(lost, sent, way.pairs)
    known = way.pairs & (sent > 0.0)
    with_loss = int((lost[known] > 0.0).sum())
    pairs = int(known.sum())
    says = (
        f"{100.0 * share:.2g} % of the echoes that {way.how} are lost "
        f"({int(lost[known].sum()):,} of {int(sent[known].sum()):,}"
    )
    says += f", on {with_loss} of {pairs} pairs)" if pairs > 1 else ")"
    kind = Kind.LOSS if way.group is None else Kind.CONGESTED
    cost = 1.0 + _COST_PER_ROOT * math.sqrt(share)
    return Finding(kind, way.hosts, says, 1.0 - math.exp(-gain), cost, _ADVICE, way.group)
