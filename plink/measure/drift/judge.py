"""Drift judgement by latency: which pairs and hosts changed distance, by new round-trip times.

Three things are told apart. A *common factor* is in all readings: the hosts' processors are faster
or slower than they were, and no distance changed against another. A *pair* has changed when both
of its directions left the noise on the same side, beyond that factor. A *host* is named when most
of what is near it has changed, or most of what is not, and no other host explains that better: the
partners of a host that was moved have each only that one pair that changed.

Each host meets its nearest partners and random others again: a host that is moved to another rack
keeps its distance to most hosts, and only what was near it is far now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.base.replacing import replace
from plink.formats.matrices import Matrix
from plink.formats.measurements import RttMeasurement
from plink.solvers.shrinkage import EstimatedDistances

Pair = tuple[int, int]
Mask = npt.NDArray[np.bool_]

# Readings of one kind of path differ by so much at most, mostly less (docs/benchmarks/probing.md).
_NEAR_FACTOR = 1.35


def average_both_ways_us(readings_us: Matrix) -> Matrix:
    """Return each pair's geometric mean of both directions in µs, (N, N), or the only reading.

    NaN where neither direction has a reading above zero, and on the diagonal.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(readings_us > 0.0, np.log(readings_us), np.nan)
    np.fill_diagonal(logs, np.nan)
    there, back = np.where(np.isnan(logs), logs.T, logs), np.where(np.isnan(logs.T), logs, logs.T)
    mean_us: Matrix = np.exp((there + back) / 2.0)
    return mean_us


def find_near_hosts(times_us: Matrix) -> Mask:
    """Return a mask (N, N): True if host j is at most 1.35 times as far from i as i's nearest."""
    known = np.where(np.isnan(times_us), np.inf, times_us)
    nearest = known.min(axis=1, keepdims=True)
    near: Mask = np.isfinite(known) & (known <= _NEAR_FACTOR * nearest)
    return near


def choose_pairs(
    times_us: Matrix,
    partners: int,
    seed: int,
    *,
    hosts: Iterable[int] | None = None,
    having: Iterable[Pair] = (),
) -> list[Pair]:
    """Choose pairs to measure again: per host `partners` others, half its nearest, half random.

    Args:
        times_us: (N, N), symmetric, NaN for pairs that cannot be compared.
        partners: at least 1; a host with fewer that can be compared gets those.
        hosts: indices of the hosts; None for all.
        having: pairs that count already, and are not returned.
    """
    chance = np.random.default_rng(seed)
    met: list[set[int]] = [set() for _ in range(len(times_us))]
    for a, b in having:
        met[a].add(b)
        met[b].add(a)
    chosen: set[Pair] = set()
    for host in range(len(times_us)) if hosts is None else hosts:
        order = chance.permutation(len(times_us))
        comparable = order[~np.isnan(times_us[host, order])]
        ranked = comparable[np.argsort(times_us[host, comparable], kind="stable")]
        nearest = ranked[: (partners + 1) // 2].tolist()
        others = [other for other in comparable.tolist() if other not in nearest]
        for other in [*nearest, *others]:
            if other in met[host]:
                continue
            if len(met[host]) >= partners and other not in nearest:
                break
            met[host].add(other)
            met[other].add(host)
            chosen.add((min(host, other), max(host, other)))
    return sorted(chosen)


# On a log scale. The cores of a virtual machine may be slower by a third for some tenths of a
# second, which both directions of a pair then show; a rack more or less on the way is 0.5 and more.
LEAST_CEILING = 0.35
_NOISE_QUANTILE = 0.95
# The same of estimates, whose noise is small. Three runs in a row hardly meet slow cores.
LEAST_CEILING_OF_ESTIMATE = 0.22
_DEVIATIONS = 3.0
# No shift at all is preferred to one that leaves twice as many pairs unchanged at most.
_PREFER_NO_SHIFT = 0.5
# Beyond that the file's times say little even if all of them changed alike.
MAX_COMMON_FACTOR = 2.0
_CANDIDATES = 101
_LEAST_SHARE = 0.5
# In ceilings, summed up over a host's changed pairs: two pairs, or one that is far beyond it.
_LEAST_EVIDENCE = 2.0
_SAME_SCORE = 0.05


@dataclass(frozen=True)
class DistanceChange:
    """Set of hosts (indices) whose round-trip times to the others, not to each other, changed.

    Args:
        pairs: number of pairs of one of them with another host that were compared.
        longer, shorter: numbers of these pairs that take longer, or less long, now.
        longer_factor, shorter_factor: median of new over old round-trip time of those, beyond the
            common factor; None where there are none.
    """

    hosts: Sequence[int]
    pairs: int
    longer: int
    shorter: int
    longer_factor: float | None
    shorter_factor: float | None

    @property
    def changed(self) -> int:
        """Number of pairs of one of these hosts and another whose round-trip time changed."""
        return self.longer + self.shorter


@dataclass(frozen=True)
class DriftJudgement:
    """Verdict of a drift check on round-trip times: changed pairs, and hosts that explain them.

    Args:
        changed: unordered pairs that changed, whether a host explains it or not.
        common_factor: new over old round-trip time of all pairs that did not change.
        changes: the hosts that changed, the most changed pairs first.
        noise_factor: a pair that takes less than so many times as long, or as short, counts as
            unchanged: the median of the pairs' ceilings.
    """

    changed: Sequence[Pair]
    unchanged: Sequence[Pair]
    common_factor: float
    changes: Sequence[DistanceChange]
    noise_factor: float

    @property
    def pairs(self) -> int:
        """Number of unordered pairs of hosts that were compared, changed or not."""
        return len(self.changed) + len(self.unchanged)

    @property
    def is_changed(self) -> bool:
        """Whether a host's distances changed, or all round-trip times by over a factor of 2."""
        limit = MAX_COMMON_FACTOR
        return bool(self.changes) or not 1.0 / limit <= self.common_factor <= limit


def noise_ceilings(rtt: RttMeasurement) -> Matrix:
    """Return how far noise alone may move the log of a pair's new reading from the old, (N, N).

    From the file itself: how much both directions of its pairs differ, and of each pair, how far
    its median lies above its reading.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = {
            key: np.where(times > 0.0, np.log(times), np.nan) for key, times in rtt.rtt_us.items()
        }
    readings = logs[rtt.reading]
    apart = np.abs(readings - readings.T)
    known = apart[np.isfinite(apart)]
    floor = max(LEAST_CEILING, float(np.quantile(known, _NOISE_QUANTILE)) if known.size else 0.0)
    ceilings = np.full(readings.shape, floor)
    if 50.0 in logs:
        width = logs[50.0] - readings
        ceilings = np.fmax(ceilings, np.fmax(width, width.T))
    return ceilings


@dataclass(frozen=True)
class Baseline:
    """Round-trip times (N, N) in µs to expect, and noise allowed in their logarithms, (N, N)."""

    times_us: Matrix
    ceilings: Matrix


def build_baseline(rtt: RttMeasurement, estimate: EstimatedDistances | None = None) -> Baseline:
    """Build the baseline of a drift check from a file's round-trip times, or an estimate of them.

    With an estimate of the same pairs, its distances are expected. The noise is then how far the
    lower readings of both directions in the file are off: a change counts only if both directions
    show it, so that what one of them shows more is no noise of this test.
    """
    if estimate is None:
        return Baseline(rtt.readings_us, noise_ceilings(rtt))
    lower = np.fmin(rtt.readings_us, rtt.readings_us.T)
    is_known = (lower > 0.0) & (estimate.distance > 0.0)
    off = np.abs(np.log(lower[is_known] / estimate.distance[is_known]))
    floor = LEAST_CEILING_OF_ESTIMATE
    if off.size:
        floor = max(floor, float(np.quantile(off, _NOISE_QUANTILE)))
    times_us = np.where(is_known, estimate.distance, np.nan)
    return Baseline(times_us, np.maximum(floor, _DEVIATIONS * estimate.deviation))


def fit_common_factor(file_us: Matrix, new_us: Matrix, pairs: Sequence[Pair]) -> float | None:
    """Return the median ratio of new to old round-trip times of these pairs; None without any."""
    shifts = _compute_log_ratios(file_us, new_us)
    values = np.array([shifts[ends] for a, b in pairs for ends in ((a, b), (b, a))])
    known = values[np.isfinite(values)]
    return float(np.exp(np.median(known))) if known.size else None


def keep_nearer(file_us: Matrix, first_us: Matrix, second_us: Matrix) -> Matrix:
    """Return, per pair, the one of two new readings that is nearer to the file's, (N, N) in µs.

    The matrices are (N, N), NaN where not measured, the new ones without their common factors.
    """
    first, second = (
        np.abs(_compute_log_ratios(file_us, new_us)) for new_us in (first_us, second_us)
    )
    takes_second = ~(first <= second) & ~np.isnan(second_us)
    return np.where(takes_second, second_us, first_us)


def judge(file_us: Matrix, new_us: Matrix, ceilings: Matrix) -> DriftJudgement:
    """Judge which pairs and hosts changed by more than noise and a factor common to all readings.

    The matrices are (N, N) in µs, [source][destination]; NaN where not measured.
    """
    shifts = _compute_log_ratios(file_us, new_us)
    # A direction that is missing does not contradict the other.
    there, back = np.where(np.isnan(shifts), shifts.T, shifts), shifts.T
    back = np.where(np.isnan(back), there, back)
    compared = ~np.isnan(there)
    if not compared.any():
        return DriftJudgement((), (), 1.0, (), 1.0)
    common = fit_common_shift((there + back) / 2.0, ceilings, compared)
    above = (there - common > ceilings) & (back - common > ceilings)
    below = (there - common < -ceilings) & (back - common < -ceilings)
    changed = above | below
    beyond = (there + back) / 2.0 - common
    near = find_near_hosts(average_both_ways_us(file_us))
    groups = _group_neighbours(
        _blame_hosts(near, compared, changed, np.abs(beyond) / ceilings), near, changed
    )
    changes = [_build_change(group, compared, changed, beyond) for group in groups]
    return DriftJudgement(
        changed=_list_pairs(changed),
        unchanged=_list_pairs(compared & ~changed),
        common_factor=float(np.exp(common)),
        changes=sorted(changes, key=lambda change: -change.changed),
        noise_factor=float(np.exp(np.median(ceilings[compared]))),
    )


def _list_pairs(mask: Mask) -> list[Pair]:
    return [(int(a), int(b)) for a, b in np.argwhere(np.triu(mask, 1))]


def _compute_log_ratios(file_us: Matrix, new_us: Matrix) -> Matrix:
    """Return log(new / old) of each reading, (N, N); NaN if one is missing, and on the diagonal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shifts = np.where((file_us > 0.0) & (new_us > 0.0), np.log(new_us / file_us), np.nan)
    np.fill_diagonal(shifts, np.nan)
    return shifts


def fit_common_shift(shifts: Matrix, ceilings: Matrix, compared: Mask) -> float:
    """Return the shift log(new / old) that most pairs share, or one near 0 if half as many fit."""
    values, limits = shifts[compared], ceilings[compared]
    candidates = np.quantile(values, np.linspace(0.0, 1.0, _CANDIDATES))
    unchanged = [int((np.abs(values - shift) <= limits).sum()) for shift in candidates]
    without = int((np.abs(values) <= limits).sum())
    prefers_none = without >= _PREFER_NO_SHIFT * max(unchanged)
    about = 0.0 if prefers_none else float(candidates[int(np.argmax(unchanged))])
    explained = values[np.abs(values - about) <= limits]
    return float(np.median(explained)) if explained.size else 0.0


def _blame_hosts(near: Mask, compared: Mask, changed: Mask, evidence: Matrix) -> list[int]:
    """Return hosts that explain changed pairs: half of their near or of their far pairs changed."""
    open_ = compared.copy()
    blamed: list[int] = []
    while True:
        scores = np.zeros(len(near))
        for kind in (near, ~near):
            pairs = (open_ & kind).sum(axis=1)
            hit = open_ & kind & changed
            share = hit.sum(axis=1) / np.maximum(pairs, 1)
            weight = np.where(hit, evidence, 0.0).sum(axis=1)
            scores += np.where((share >= _LEAST_SHARE) & (weight >= _LEAST_EVIDENCE), 1.0, 0.0)
            scores += share
        is_host = scores >= 1.0 + _LEAST_SHARE
        if not is_host.any():
            return sorted(blamed)
        worst = np.flatnonzero(is_host & (scores >= scores.max() - _SAME_SCORE))
        blamed += worst.tolist()
        open_[worst, :] = open_[:, worst] = False


def _group_neighbours(hosts: Sequence[int], near: Mask, changed: Mask) -> list[list[int]]:
    """Join changed hosts into sets that were near each other and whose distance did not change."""
    is_mate = near & near.T & ~changed
    groups: list[list[int]] = []
    for host in hosts:
        mates = [group for group in groups if is_mate[host, group].any()]
        joined = sorted([host, *(other for group in mates for other in group)])
        groups = [group for group in groups if group not in mates] + [joined]
    return groups


def _build_change(
    group: Sequence[int], compared: Mask, changed: Mask, beyond: Matrix
) -> DistanceChange:
    inside = np.zeros(len(compared), dtype=np.bool_)
    inside[group] = True
    outward = compared & inside[:, None] & ~inside[None, :]
    shifts = beyond[outward & changed]
    longer, shorter = shifts[shifts > 0.0], shifts[shifts < 0.0]
    return DistanceChange(
        hosts=group,
        pairs=int(outward.sum()),
        longer=longer.size,
        shorter=shorter.size,
        longer_factor=float(np.exp(np.median(longer))) if longer.size else None,
        shorter_factor=float(np.exp(np.median(shorter))) if shorter.size else None,
    )


# What seems to have changed is measured again so often, and counts only if it stays so.
_CONFIRMATIONS = 2
# Hosts that seem to have changed get so many times the partners before they are named.
_MORE_PARTNERS = 3
# Pairs that did not change are measured again too, for the common factor: about so many.
_CONTROLS = 32


def measure_and_judge(
    file: Baseline,
    is_comparable: Mask,
    measure: Callable[[Sequence[Pair]], Matrix],
    *,
    partners: int,
    seed: int,
) -> DriftJudgement | None:
    """Measure some pairs again, changed ones up to twice more, and judge; None if no pair can be.

    Args:
        is_comparable: (N, N) which pairs can be measured again.
        measure: measures pairs in both directions, (N, N) in µs, NaN where it could not.
        partners: least number of partners with which each host is measured again.
    """
    file_us, ceilings = file.times_us, file.ceilings
    times_us = average_both_ways_us(np.where(is_comparable, file_us, np.nan))
    pairs = choose_pairs(times_us, partners, seed)
    if not pairs:
        return None
    first_us = measure(pairs)
    judgement = judge(file_us, first_us, ceilings)
    # Each run has its own common factor: the hosts may be busy in one and idle in the next.
    common, steady_us = judgement.common_factor, first_us / judgement.common_factor
    for _ in range(_CONFIRMATIONS):
        if not judgement.changed:
            break
        controls = judgement.unchanged[:: max(1, len(judgement.unchanged) // _CONTROLS)]
        named = {host for change in judgement.changes for host in change.hosts}
        suspects = sorted(named or {host for pair in judgement.changed for host in pair})
        more = choose_pairs(times_us, _MORE_PARTNERS * partners, seed, hosts=suspects, having=pairs)
        pairs = sorted({*pairs, *more})
        again_us = measure(sorted({*judgement.changed, *controls, *more}))
        factor = fit_common_factor(file_us, again_us, controls) or common
        steady_us = keep_nearer(file_us, steady_us, again_us / factor)
        judgement = judge(file_us, steady_us, ceilings)
    return replace(judgement, common_factor=common)
