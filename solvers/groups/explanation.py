"""The best groups of one level, and by how much they beat the best explanation without groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln
from threadpoolctl import threadpool_limits

from plink.solvers.distances import fill_gaps
from plink.solvers.groups.classes import Classes, Floats, Ints, Mask
from plink.solvers.groups.pairs import Pairs
from plink.solvers.groups.partitions import Membership, find_partition, weigh_membership

_DIMENSIONS = (1, 2, 3)
# Common time to start from, in shares of the median reading, and bounds of its logarithm.
_COMMON_TIME = 0.1
_LEAST_TIME, _MOST_LOG_TIME = 1e-3, 40.0
_ITERATIONS = 60
# A point has one coordinate for at least so many readings.
_LEAST_READINGS = 1.2
# Groups of fewer points come by chance, with gaps around them that are so much wider than they.
_LEAST_CLUSTER, _LEAST_GAP = 8, 1.5
# Readings count in proportion up to this error of their logarithm, and less beyond.
_USUAL_ERROR = 0.1

# Steps in which times are looked for, and for how many sweeps in the coarse ones.
_COARSE, _FINE = np.arange(-0.6, 0.61, 0.03), np.arange(-0.06, 0.07, 0.01)
_SWEEPS, _COARSE_SWEEPS = 8, 3
# Hosts whose times are fitted at once, as a share of all; partners that tell the time of one.
_BLOCKS, _PARTNERS = 6, 64
# Share of readings that a host's time need not explain.
_SHARE_OUTSIDE = 0.02

EQUAL = "all hosts are equally far from each other"
LATENCIES = "each host adds a time of its own"
SPACE = "hosts are points in a space without borders"
# Log odds of groups before any reading: most networks that are measured have some.
_LOG_ODDS = 1.0
# Nats that cutting evenly growing distances in two may gain for each reading within groups, beyond
# the first few readings.
_GAIN_ON_EVEN, _FEW_READINGS = 0.2, 8
# Of more hosts so many are placed as points, and so many of a group.
_MOST_PLACED, _MOST_OF_GROUP = 64, 8


def cost_points(logs: Floats, is_measured: Mask, labels: Ints) -> float:
    """Return the cost in nats of hosts as points; infinite where none explain the readings.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
        labels: (N,) groups; points that lie in large ones, with gaps around them, say the same.
    """
    size = len(logs)
    first, second = np.nonzero(np.triu(is_measured, 1))
    scale = float(np.median(logs[first, second]))
    wanted = logs[first, second] - scale
    distance = np.exp(fill_gaps(np.where(is_measured, logs, np.nan))[0] - scale)
    np.fill_diagonal(distance, 0.0)
    squared = distance**2
    gram = -0.5 * (squared - squared.mean(0) - squared.mean(1)[:, None] + squared.mean())
    strengths, directions = np.linalg.eigh(gram)
    scaled = directions * np.sqrt(np.maximum(strengths, 1e-9))
    partners = float(is_measured.sum(axis=1).mean())
    are_large, least = size >= _LEAST_CLUSTER * (int(labels.max()) + 1), np.inf
    for dimensions in _DIMENSIONS:
        unknowns = size * dimensions - dimensions * (dimensions + 1) // 2 + 1
        if len(wanted) < _LEAST_READINGS * unknowns:
            continue
        points, fitted = _fit_points(scaled[:, -dimensions:], first, second, wanted)
        if are_large and _are_clustered(fitted, labels[first] == labels[second]):
            continue
        classes = Classes(wanted - np.log(fitted))
        precision = np.sqrt(partners / dimensions) / (2.5 * classes.bandwidth)
        ranges = np.maximum(3.46 * points.std(axis=0) * precision, 2.0)
        # Points can be turned as a whole, which saves coordinates.
        price = float((size - np.arange(dimensions)) @ np.log(ranges))
        least = min(least, classes.one_class_cost + price)
    return least


def _are_clustered(distances: Floats, is_within: Mask) -> bool:
    """Tell whether a gap parts distances within groups from those between them."""
    if is_within.all() or not is_within.any():
        return False
    nearest = np.quantile(distances[~is_within], 0.1)
    return bool(_LEAST_GAP * np.quantile(distances[is_within], 0.9) < nearest)


def _fit_points(begin: Floats, first: Ints, second: Ints, wanted: Floats) -> tuple[Floats, Floats]:
    """Return (N, D) points that fit the wanted logarithms, outliers aside, and (P,) readings."""
    shape = size, _ = begin.shape

    def measure(flat: Floats) -> tuple[Floats, Floats, Floats, float]:
        points = flat[:-1].reshape(shape)
        # A step of the search may leave what numbers can hold.
        common = float(np.exp(np.clip(flat[-1], -_MOST_LOG_TIME, _MOST_LOG_TIME)))
        apart = points[first] - points[second]
        return points, apart, np.sqrt((apart**2).sum(axis=1) + 1e-9), common

    def lose(flat: Floats) -> tuple[float, Floats]:
        _, apart, length, common = measure(flat)
        missed = np.log(length + common) - wanted
        root = np.sqrt(1.0 + (missed / _USUAL_ERROR) ** 2)
        slope = missed / root / (length + common)
        pull = (slope / length)[:, None] * apart
        gradient = np.zeros(shape)
        for axis in range(shape[1]):
            gradient[:, axis] = np.bincount(first, pull[:, axis], size)
            gradient[:, axis] -= np.bincount(second, pull[:, axis], size)
        loss = _USUAL_ERROR**2 * float((root - 1.0).sum())
        return loss, np.append(gradient.ravel(), common * float(slope.sum()))

    # OpenBLAS starts threads for triangles of 20 numbers, which poll longer than they compute.
    with threadpool_limits(limits=1, user_api="blas"):
        fit = minimize(
            lose,
            np.append(begin.ravel(), np.log(_COMMON_TIME)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _ITERATIONS},
        )
    points, _, length, common = measure(fit.x)
    return points, length + max(common, _LEAST_TIME)


def add_times(times: Floats, others: Floats) -> Floats:
    """Return (N, M) what hosts' times add to the logarithms of their readings with others."""
    added: Floats = np.log((np.exp(times)[:, None] + np.exp(others)[None, :]) / 2.0)
    return added


def price_times(times: Floats, partners: float, bandwidth: float) -> float:
    """Return the nats that it takes to say which hosts have a time, and which.

    Args:
        times: (N,) zero for hosts without one.
        partners: readings of a host.
        bandwidth: of the readings' density.
    """
    count = int((times != 0.0).sum())
    if not count:
        return 0.0
    which = gammaln(len(times) + 1.0) - gammaln(count + 1.0) - gammaln(len(times) - count + 1.0)
    return float(count * _price_time(times, partners, bandwidth) + which)


def _price_time(times: Floats, partners: float, bandwidth: float) -> float:
    spread = max(3.46 * float(times.std()), 0.1)
    return float(np.log(max(spread * np.sqrt(max(partners, 1.0)) / (5.0 * bandwidth), 2.0)))


def fit_times(logs: Floats, is_measured: Mask, start: Floats) -> tuple[float, Floats]:
    """Return the cost of one distance and hosts' times, and the (N,) times.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
        start: (N,) times to begin with.
    """
    size, times = len(logs), start
    best = np.inf, times
    if int(is_measured.sum()) < 2 * size:
        return best
    upper, partners = np.triu(is_measured, 1), float(is_measured.sum(axis=1).mean())
    # The times of many hosts are told by their readings with some.
    rng = np.random.default_rng(0)
    some = rng.permutation(size)[: max(round(_PARTNERS * size / partners), 1)]
    readings, weight = logs[:, some], is_measured[:, some] * (size / len(some))
    for sweep in range(_SWEEPS):
        classes = Classes((logs - add_times(times, times))[upper])
        cost = classes.one_class_cost + price_times(times, partners, classes.bandwidth)
        if cost < best[0] - 1e-6:
            best = cost, times
        elif sweep >= _COARSE_SWEEPS:
            break
        times = times.copy()
        price = _price_time(times, partners, classes.bandwidth)
        steps = _COARSE if sweep < _COARSE_SWEEPS else _FINE
        # A bin at either end stands for what lies outside: readings within a host's own group.
        outside = _SHARE_OUTSIDE / (classes.count * classes.width + 0.5)
        log_densities = np.log(np.pad(classes.density, 1) + outside)
        for hosts in np.array_split(rng.permutation(size), min(_BLOCKS, size)):
            offered = np.append(np.zeros((len(hosts), 1)), times[hosts, None] + steps, axis=1)
            added = add_times(offered.ravel(), times[some]).reshape(*offered.shape, -1)
            bins = classes.find_bins(readings[hosts, None, :] - added)
            likelihood = log_densities[np.clip(bins, -1, classes.count) + 1]
            gain = np.einsum("htp,hp->ht", likelihood, weight[hosts]) - price * (offered != 0.0)
            times[hosts] = offered[np.arange(len(hosts)), gain.argmax(axis=1)].round(3)
    return best


@dataclass(frozen=True)
class Explanation:
    """Groups of one level and what speaks for them.

    Args:
        labels: (U,) the group of each unit.
        times: (N,) what hosts add to the logarithms of their readings; mostly zero.
        pairs: the readings without the hosts' times.
        cost: of the groups, in nats.
        rivals: the cost of each explanation without groups, in words.
    """

    labels: Ints
    times: Floats
    pairs: Pairs
    cost: float
    rivals: Mapping[str, float]

    @property
    def rival(self) -> str:
        """The best explanation without groups."""
        return min(self.rivals, key=lambda name: self.rivals[name])

    @property
    def gain(self) -> float:
        """Nats that the groups gain on the best explanation without groups."""
        return self.rivals[self.rival] - self.cost

    @property
    def is_grouped(self) -> bool:
        """Whether there are more groups than were known before."""
        return int(self.labels.max()) > int(self.pairs.parents.max())

    @cached_property
    def probability(self) -> float:
        """The probability that there are groups: two of two hosts, with half of the hosts."""
        hosts, is_group = np.bincount(self.host_labels), np.bincount(self.labels) > 1
        has_groups = (hosts > 1).sum() >= 2 and 2 * hosts[is_group].sum() >= len(self.host_labels)
        if not has_groups or self.gain <= 0.0:
            return 0.0
        is_within = self.host_labels[:, None] == self.host_labels[None, :]
        within = int((self.pairs.upper & is_within).sum())
        return convert_nats(self.gain - _GAIN_ON_EVEN * max(within - _FEW_READINGS, 0))

    @cached_property
    def membership(self) -> Membership:
        """Certainty of the units' groups."""
        return weigh_membership(self.pairs, self.labels)

    @property
    def host_labels(self) -> Ints:
        """(N,) the group of each host."""
        return self.labels[self.pairs.units]


def convert_nats(gain: float) -> float:
    """Return the probability of groups that gain so many nats on explanations without groups."""
    return float(1.0 / (1.0 + np.exp(-np.clip(_LOG_ODDS + gain, -30.0, 30.0))))


def explain(
    logs: Floats, is_measured: Mask, units: Ints | None = None, parents: Ints | None = None
) -> Explanation:
    """Find the groups that describe readings best.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
        units: (N,) groups that stay whole; None for hosts by themselves.
        parents: (U,) groups to find smaller ones in; None for none.
    """
    pairs = Pairs(logs, is_measured, units, parents)
    cost, labels = find_partition(pairs)
    rivals = {EQUAL: pairs.classes.one_class_cost}
    return Explanation(labels, np.zeros(len(logs)), pairs, cost, rivals)


def explain_with_times(logs: Floats, is_measured: Mask) -> Explanation:
    """Find the groups of hosts and the times of hosts that describe readings best.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
    """
    best = explain(logs, is_measured)
    latencies, times = fit_times(logs, is_measured, best.times)
    rivals = {**best.rivals, LATENCIES: min(best.rivals[EQUAL], latencies)}
    best = replace(best, rivals=rivals)
    partners = float(is_measured.sum(axis=1).mean())
    joined = _join_nearest(best)
    is_between = is_measured & (joined[:, None] != joined[None, :])
    for tried in (times, fit_times(logs, is_between, times)[1]):
        if not tried.any():
            continue
        pairs = Pairs(logs - add_times(tried, tried), is_measured)
        cost, labels = find_partition(pairs, best.labels)
        cost += price_times(tried, partners, pairs.classes.bandwidth)
        if cost < best.cost:
            best = Explanation(labels, tried, pairs, cost, rivals)
    return best


def _join_nearest(found: Explanation) -> Ints:
    """Return (N,) groups in which each host that is alone is with the nearest ones."""
    labels, is_measured = found.labels, found.pairs.is_measured
    counts = np.bincount(labels)
    groups = np.flatnonzero(counts > 1)
    if not len(groups):
        return labels
    is_member = (labels[:, None] == groups[None, :]).astype(np.float64)
    means = np.full(is_member.shape, np.inf)
    pairs = is_measured @ is_member
    sums = np.where(is_measured, found.pairs.logs, 0.0) @ is_member
    np.divide(sums, pairs, out=means, where=pairs > 0.0)
    return np.where(counts[labels] == 1, groups[means.argmin(axis=1)], labels)


def gain_on_points(
    found: Explanation, levels: Sequence[Ints], logs: Floats, is_measured: Mask
) -> float:
    """Return the nats that nested groups gain on hosts as points in a space.

    Args:
        found: one of the levels.
        levels: (N,) labels each, the finest first.
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
    """
    some = np.arange(len(logs))
    if len(logs) > _MOST_PLACED:
        # Some of each of some groups, so that there are pairs within groups.
        order = np.argsort(found.host_labels, kind="stable")
        counts = np.bincount(found.host_labels)
        place = some - np.repeat(counts.cumsum() - counts, counts)
        some = np.sort(order[place < _MOST_OF_GROUP][:_MOST_PLACED])
    square = np.ix_(some, some)
    pairs = Pairs(found.pairs.logs[square], is_measured[square])
    cost = pairs.cost_levels([np.unique(labels[some], return_inverse=True)[1] for labels in levels])
    partners = float(pairs.is_measured.sum(axis=1).mean())
    price = price_times(found.times[some], partners, pairs.classes.bandwidth)
    labels = np.unique(found.host_labels[some], return_inverse=True)[1]
    gain = cost_points(logs[square], pairs.is_measured, labels) - cost - price
    if found.times.any():
        # Points that have the same times pay for them as the groups do.
        gain = min(gain, cost_points(pairs.logs, pairs.is_measured, labels) - cost)
    return gain
