"""Explanations of readings without groups, which groups have to beat: hosts' times and points.

- Times of hosts: a host that is slow, or behind a link of its own, adds its time to every reading
  that it takes part in: `log d_ij = log d + log((exp v_i + exp v_j) / 2)`. Few hosts have one.
- Points: hosts lie in a space of one to three dimensions, and each reading adds a common time.

Both are priced by the nats that it takes to say their parameters as precisely as the readings tell.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

from plink.solvers.gaps import filled
from plink.solvers.groups.classes import Classes, Floats, Ints, Mask

_SWEEPS, _COARSE_SWEEPS = 8, 3
_COARSE = np.arange(-0.6, 0.61, 0.03)
_FINE = np.arange(-0.06, 0.07, 0.01)
# Of more hosts only those that look slow get a time, and only some are placed as points.
_MOST_TIMED = 512
MOST_PLACED = 96
_DIMENSIONS = (1, 2, 3)
_COMMON_TIMES = (0.02, 0.4)
_ITERATIONS = 80
_MEDIANS = 10
# Of fewer points groups with gaps around them are often found by chance.
_LEAST_CLUSTERED = 24
# A logarithm: more is not a time beside the others but another network.
_MOST_TIME = 3.0


def added(times: Floats) -> Floats:
    """Return (N, N) what hosts' times add to the logarithms of their pairs."""
    factors = np.exp(times)
    found: Floats = np.log((factors[:, None] + factors[None, :]) / 2.0)
    return found


def price_of_times(times: Floats, partners: float, bandwidth: float) -> float:
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
    return float(count * _price_of_one(times, partners, bandwidth) + which)


def fit_times(
    logs: Floats, is_measured: Mask, start: Floats, labels: Ints | None = None
) -> tuple[float, Floats]:
    """Return the cost of one distance and hosts' times, and the (N,) times.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
        start: (N,) times to begin with.
        labels: (N,) groups; only pairs between them count; None for all pairs.
    """
    pairs = is_measured
    if labels is not None:
        pairs = is_measured & (labels[:, None] != labels[None, :])
    size = len(logs)
    times = start.copy()
    best = np.inf, times
    if int(pairs.sum()) < 2 * size:
        return best
    first, second = np.nonzero(np.triu(pairs, 1))
    partners = float(pairs.sum(axis=1).mean())
    own = [np.flatnonzero(row) for row in pairs]
    hosts = np.arange(size)
    if size > _MOST_TIMED:
        medians = np.array([np.median(logs[h, own[h]]) if len(own[h]) else 0.0 for h in hosts])
        hosts = np.argsort(-np.abs(medians - np.median(medians)))[: _MOST_TIMED // 8]
    for sweep in range(_SWEEPS):
        classes = Classes((logs - added(times))[first, second])
        cost = classes.one_class_cost + price_of_times(times, partners, classes.bandwidth)
        if cost < best[0] - 1e-6:
            best = cost, times
        elif sweep >= _COARSE_SWEEPS:
            break
        times = times.copy()
        price = _price_of_one(times, partners, classes.bandwidth)
        steps = _COARSE if sweep < _COARSE_SWEEPS else _FINE
        for host in hosts:
            others = own[host]
            times[host] = _best_time(
                logs[host, others], times[others], classes, times[host] + steps, price
            )
    return best


def _best_time(
    readings: Floats, times: Floats, classes: Classes, offered: Floats, price: float
) -> float:
    """Return the time, of those offered and none, that suits a host's readings best.

    Args:
        readings: (M,) logarithms of the host's readings.
        times: (M,) of its partners.
        classes: the density of readings without times.
        offered: (T,) times to try.
        price: nats that a time costs.
    """
    if not len(readings):
        return 0.0
    offered = np.append(0.0, offered)
    factors = (np.exp(offered)[:, None] + np.exp(times)[None, :]) / 2.0
    missed = readings[None, :] - np.log(factors) - classes.lowest
    bins = np.rint(missed / classes.step).astype(np.int64)
    is_outside = (bins < 0) | (bins >= classes.count)
    found = classes.log_density[np.clip(bins, 0, classes.count - 1)] - 3.0 * is_outside
    gain = found.sum(axis=1) - price * (offered != 0.0)
    return round(float(offered[int(gain.argmax())]), 3)


def median_times(logs: Floats, is_measured: Mask) -> Floats:
    """Return (N,) times to begin with, from the medians of the hosts' readings."""
    times = np.zeros(len(logs))
    has_partners = is_measured.any(axis=1)
    known = np.where(is_measured, logs, np.nan)[has_partners]
    usual = float(np.median(logs[is_measured]))
    for _ in range(_MEDIANS):
        missed = np.nanmedian(known - added(times)[has_partners] - usual, axis=1)
        times[has_partners] += 0.8 * missed
        times = np.clip(times, -_MOST_TIME, _MOST_TIME)
    return np.round(times, 3)


def cost_of_points(logs: Floats, is_measured: Mask, labels: Ints) -> float:
    """Return the cost of hosts as points in one to three dimensions, and a common time.

    Points of many hosts that lie in the groups themselves, with gaps around them, are no other
    explanation: their cost is infinite.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
        labels: (N,) the groups to compare with.
    """
    size = len(logs)
    first, second = np.nonzero(np.triu(is_measured, 1))
    scale = float(np.median(logs[first, second]))
    wanted = logs[first, second] - scale
    distance = np.exp(filled(np.where(is_measured, logs, np.nan))[0] - scale)
    np.fill_diagonal(distance, 0.0)
    squared = distance**2
    gram = -0.5 * (squared - squared.mean(0) - squared.mean(1)[:, None] + squared.mean())
    strengths, directions = np.linalg.eigh(gram)
    partners = float(is_measured.sum(axis=1).mean())
    is_within = labels[first] == labels[second]
    least = np.inf
    for dimensions in _DIMENSIONS:
        if len(wanted) < 1.2 * (size * dimensions - dimensions * (dimensions + 1) // 2 + 1):
            continue
        begin = directions[:, -dimensions:] * np.sqrt(np.maximum(strengths[-dimensions:], 1e-9))
        for common in _COMMON_TIMES:
            points, time = _placed(begin, np.log(common), first, second, wanted)
            apart = np.sqrt(((points[first] - points[second]) ** 2).sum(axis=1))
            if size >= _LEAST_CLUSTERED and _is_clustered(apart, is_within):
                continue
            classes = Classes(wanted - np.log(apart + max(time, 1e-3)))
            precision = np.sqrt(partners / dimensions) / (2.5 * classes.bandwidth)
            price = sum(
                (size - axis) * np.log(max(3.46 * points[:, axis].std() * precision, 2.0))
                for axis in range(dimensions)
            )
            least = min(least, classes.one_class_cost + price)
    return float(least)


def _is_clustered(apart: Floats, is_within: Mask) -> bool:
    """Tell whether distances within groups and between them leave a gap."""
    if is_within.all() or not is_within.any():
        return False
    return bool(np.quantile(apart[is_within], 0.9) < np.quantile(apart[~is_within], 0.1))


def _placed(
    begin: Floats, log_time: float, first: Ints, second: Ints, wanted: Floats
) -> tuple[Floats, float]:
    """Return (N, D) points and a common time that fit the wanted logarithms, outliers aside."""
    shape = begin.shape
    size = shape[0]

    def loss(flat: Floats) -> tuple[float, Floats]:
        points, time = flat[:-1].reshape(shape), np.exp(flat[-1])
        apart = points[first] - points[second]
        length = np.sqrt((apart**2).sum(axis=1) + 1e-9)
        missed = np.log(length + time) - wanted
        root = np.sqrt(1.0 + (missed / 0.1) ** 2)
        slope = (missed / root) / (length + time)
        pull = (slope / length)[:, None] * apart
        gradient = np.stack(
            [
                np.bincount(first, pull[:, axis], size) - np.bincount(second, pull[:, axis], size)
                for axis in range(shape[1])
            ],
            axis=1,
        )
        total = 0.01 * float((root - 1.0).sum())
        return total, np.append(gradient.ravel(), float((slope * time).sum()))

    found = minimize(
        loss,
        np.append(begin.ravel(), log_time),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _ITERATIONS},
    ).x
    return found[:-1].reshape(shape), float(np.exp(found[-1]))


def _price_of_one(times: Floats, partners: float, bandwidth: float) -> float:
    spread = max(3.46 * float(times.std()), 0.1)
    return float(np.log(max(spread * np.sqrt(max(partners, 1.0)) / (5.0 * bandwidth), 2.0)))
