"""Findings about a congested uplink of a group, on which packets wait in queues.

A longer way makes the round trips of all its pairs longer by as much; a queue fills and empties, so
that some wait and others do not. So what counts is by how much the usual round trip of a pair
exceeds the quickest one between the same two groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import entr

from plink.base.text import format_names, rtt_text
from plink.doctor.certainty import Floats, Mask
from plink.doctor.evidence import Evidence, symmetric
from plink.doctor.finding import Finding, FindingKind
from plink.formats.matrices import Matrix

_USUAL_PERCENTILE = 50.0
# A pair waits if its usual round trip takes so many µs, and by this share, more than the quickest.
_LEAST_US, _LEAST_SHARE = 60.0, 1.0
# Of the pairs across a full uplink at least so many wait, and of the others at most so many.
_MOST, _FEW = 0.25, 0.1
_LEAST_WAITING = 3
# A pair across that does not wait counts so much against it.
_AGAINST = _MOST / (1.0 - _MOST)
# In larger clusters only groups that are known are looked at.
_MOST_HOSTS = 512
_STARTS = 4
# Pairs are measured one after the other while a queue stays full, so that some go together.
_TOGETHER = 3.0
_ADVICE = (
    "find who else uses that uplink: counters of the switch's ports by the minute",
    "move the other traffic, or give it a lower class of service; or leave the group out meanwhile",
)
_COST = 3.0


def find(evidence: Evidence) -> list[Finding]:
    """Return at most one finding: hosts whose packets to all other hosts wait in queues."""
    waits = _compute_waits_us(evidence)
    if waits is None:
        return []
    waits_us, quick_us = waits
    known: Mask = np.isfinite(waits_us)
    waiting = known & (waits_us > _LEAST_US) & (waits_us > _LEAST_SHARE * quick_us)
    if np.triu(waiting).sum() < _LEAST_WAITING:
        return []
    is_in = max(
        _candidate_sides(evidence, waiting, known),
        key=lambda side: _score_side(waiting, known, side),
    )
    if 2 * is_in.sum() > len(is_in):
        is_in = ~is_in
    across = np.triu(known & (is_in[:, None] != is_in[None, :]))
    others = np.triu(known) & ~across
    if not across.any() or not others.any():
        return []
    if waiting[across].mean() < _MOST or waiting[others].mean() > _FEW:
        return []
    sure = _probability(waiting[across], waiting[others], len(evidence.names))
    return [_finding(evidence, is_in, waits_us[across & waiting], int(across.sum()), sure)]


def _candidate_sides(evidence: Evidence, waiting: Mask, known: Mask) -> Iterator[Mask]:
    """Yield masks (N,) of hosts that may be behind one congested uplink: groups, or fitted sets."""
    size = len(waiting)
    for number in range(len(evidence.cluster.groups)):
        yield evidence.group_by_host == number
    if size <= _MOST_HOSTS:
        # Where queues are full, groups that were found by round trips may be wrong.
        for start in np.argsort(-waiting.sum(axis=1))[:_STARTS]:
            yield _grow_side(waiting, known, int(start))
    else:
        yield np.zeros(size, dtype=np.bool_)


def _grow_side(waiting: Mask, known: Mask, start: int) -> Mask:
    """Return a mask (N,) of hosts, grown from `start`, whose outside pairs wait most."""
    # Across the way a waiting pair speaks for it twice, since elsewhere it would speak against it.
    value = np.where(waiting, 2.0, 0.0) - np.where(known & ~waiting, _AGAINST, 0.0)
    sign = np.full(len(waiting), -1.0)
    sign[start] = 1.0
    for _ in range(2 * len(sign)):
        # By moving to the other side a host's pairs within its side come to be across it.
        gain = sign * (value @ sign)
        best = int(np.argmax(gain))
        if gain[best] <= 0.0:
            break
        sign[best] = -sign[best]
    side: Mask = sign > 0.0
    return side


def _score_side(waiting: Mask, known: Mask, is_in: Mask) -> float:
    across = is_in[:, None] != is_in[None, :]
    good, bad = (waiting & across).sum(), (known & ~waiting & across).sum()
    return float(2.0 * good - _AGAINST * bad)


def _compute_waits_us(evidence: Evidence) -> tuple[Matrix, Matrix] | None:
    """Return waits beyond the groups' quickest round trips, and those, in µs; None without p50."""
    rtt = evidence.cluster.rtt
    if rtt is None or _USUAL_PERCENTILE not in rtt.rtt_us or rtt.reading >= _USUAL_PERCENTILE:
        return None
    readings, usual = symmetric(rtt.readings_us), symmetric(rtt.rtt_us[_USUAL_PERCENTILE])
    _, group_of = np.unique(evidence.group_by_host, return_inverse=True)
    ends = np.broadcast_arrays(group_of[:, None], group_of[None, :])
    least = np.full((group_of.max() + 1,) * 2, np.inf)
    np.minimum.at(least, tuple(ends), np.nan_to_num(readings, nan=np.inf))
    quickest = least[tuple(ends)]
    return np.maximum(usual - quickest, 0.0), quickest


def _probability(across: Mask, elsewhere: Mask, looked_at: int) -> float:
    """Return the probability that waits of pairs across are not chance (Wilks 1938)."""
    gain = _likelihood(across) + _likelihood(elsewhere)
    gain -= _likelihood(np.concatenate((across, elsewhere)))
    return 1.0 - min(1.0, looked_at * math.exp(-gain / _TOGETHER))


def _likelihood(is_waiting: Mask) -> float:
    """Return the log likelihood of waiting pairs, at the share of pairs that wait."""
    share = is_waiting.mean()
    return -is_waiting.size * float(entr(share) + entr(1.0 - share))


def _finding(evidence: Evidence, is_in: Mask, waits_us: Floats, pairs: int, sure: float) -> Finding:
    hosts = [evidence.names[int(host)] for host in np.flatnonzero(is_in)]
    groups = evidence.cluster.groups
    group = next((each.name for each in groups if set(each.hosts) == set(hosts)), None)
    return Finding(
        FindingKind.CONGESTED,
        hosts,
        f"packets between {group or format_names(hosts)} and the other hosts wait in queues: round "
        f"trips of {waits_us.size} of {pairs} pairs take {rtt_text(float(np.median(waits_us)))} "
        "(median) more than the quickest between the same groups",
        sure,
        _COST,
        _ADVICE,
        group,
    )
