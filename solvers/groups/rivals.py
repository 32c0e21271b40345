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
from threadpoolctl import threadpool_limits

from plink.solvers.gaps import fill_gaps
from plink.solvers.groups.classes import Classes, Floats, Ints, Mask

_SWEEPS, _COARSE_SWEEPS = 8, 3
_COARSE = np.arange(-0.6, 0.61, 0.03)
_FINE = np.arange(-0.06, 0.07, 0.01)
# Hosts whose times are fitted at once, as a share of all; partners that tell the time of one.
_BLOCKS, _PARTNERS = 6, 64
# Share of readings that a host's time need not explain.
_SHARE_OUTSIDE = 0.02
# Of more hosts only some are placed as points.
MOST_PLACED = 64
_DIMENSIONS = (1, 2, 3)
_COMMON_TIMES = (0.02, 0.4)
_MOST_LOG_TIME = 40.0
_FEW_ITERATIONS, _ITERATIONS = 30, 150
_MEDIANS, _STEP_OF_MEDIANS = 5, 1.2
# Of fewer points groups with gaps around them are often found by chance.
_LEAST_CLUSTERED, _LEAST_GAP = 24, 1.25
# A logarithm: more is not a time beside the others but another network.
_MOST_TIME = 3.0


def added(times: Floats, others: Floats | None = None) -> Floats:
    """Return (N, M) what hosts' times add to the logarithms of their pairs."""
    factors = np.exp(times)
    of_others = factors if others is None else np.exp(others)
    found: Floats = np.log((factors[:, None] + of_others[None, :]) / 2.0)
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
    partners = float(pairs.sum(axis=1).mean())
    some = _some_partners(pairs)
    readings, weight = logs[:, some], pairs[:, some] * (size / len(some))
    is_other = np.isin(np.arange(size), some, invert=True)
    # Each pair once: its density leaves out its own reading.
    counted = np.triu(pairs, 1)[:, some] | (pairs[:, some] & is_other[:, None])
    of_all = float(pairs.sum()) / (2.0 * max(int(counted.sum()), 1))
    blocks = np.array_split(np.random.default_rng(1).permutation(size), min(_BLOCKS, size))
    for sweep in range(_SWEEPS):
        classes = Classes((readings - added(times, times[some]))[counted])
        cost = of_all * classes.one_class_cost
        cost += price_of_times(times, partners, classes.bandwidth)
        if cost < best[0] - 1e-6:
            best = cost, times
        elif sweep >= _COARSE_SWEEPS:
            break
        times = times.copy()
        price = _price_of_one(times, partners, classes.bandwidth)
        steps = _COARSE if sweep < _COARSE_SWEEPS else _FINE
        # A bin at either end stands for what lies outside: readings within a host's own group.
        outside = _SHARE_OUTSIDE / (classes.count * classes.step + 0.5)
        logs_of_bins = np.log(np.pad(classes.density, 1) + outside)
        for hosts in blocks:
            offered = np.append(np.zeros((len(hosts), 1)), times[hosts, None] + steps, axis=1)
            factors = np.exp(offered)[:, :, None] + np.exp(times[some])
            bins = classes.bins_of(readings[hosts, None, :] - np.log(factors / 2.0))
            found = logs_of_bins[np.clip(bins, -1, classes.count) + 1]
            gain = np.einsum("htp,hp->ht", found, weight[hosts]) - price * (offered != 0.0)
            times[hosts] = offered[np.arange(len(hosts)), gain.argmax(axis=1)].round(3)
    if len(some) < size and best[1].any():
        upper = np.triu(pairs, 1)
        classes = Classes((logs - added(best[1]))[upper])
        cost = classes.one_class_cost + price_of_times(best[1], partners, classes.bandwidth)
        best = cost, best[1]
    return best


def median_times(logs: Floats, is_measured: Mask) -> Floats:
    """Return (N,) times to begin with, from the medians of the hosts' readings."""
    some = _some_partners(is_measured)
    times = np.zeros(len(logs))
    has_partners = is_measured[:, some].any(axis=1)
    known = np.where(is_measured, logs, np.nan)[np.ix_(has_partners, some)]
    usual = float(np.nanmedian(known))
    for _ in range(_MEDIANS):
        missed = np.nanmedian(known - added(times, times[some])[has_partners] - usual, axis=1)
        times[has_partners] += _STEP_OF_MEDIANS * missed
        times = np.clip(times, -_MOST_TIME, _MOST_TIME)
    return np.round(times, 3)


def _some_partners(pairs: Mask) -> Ints:
    """Return hosts that tell the times of others, at random where there are many."""
    share = max(float(pairs.mean()), 1.0 / len(pairs))
    return np.random.default_rng(0).permutation(len(pairs))[: round(_PARTNERS / share)]


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
    distance = np.exp(fill_gaps(np.where(is_measured, logs, np.nan))[0] - scale)
    np.fill_diagonal(distance, 0.0)
    squared = distance**2
    gram = -0.5 * (squared - squared.mean(0) - squared.mean(1)[:, None] + squared.mean())
    strengths, directions = np.linalg.eigh(gram)
    partners = float(is_measured.sum(axis=1).mean())
    is_within = labels[first] == labels[second]

    def cost_of(points: Floats, time: float) -> float:
        apart = np.sqrt(((points[first] - points[second]) ** 2).sum(axis=1))
        if size >= _LEAST_CLUSTERED and _is_clustered(apart, is_within):
            return np.inf
        classes = Classes(wanted - np.log(apart + max(time, 1e-3)))
        dimensions = points.shape[1]
        precision = np.sqrt(partners / dimensions) / (2.5 * classes.bandwidth)
        return classes.one_class_cost + sum(
            (size - axis) * float(np.log(max(3.46 * points[:, axis].std() * precision, 2.0)))
            for axis in range(dimensions)
        )

    fits = []
    for dimensions in _DIMENSIONS:
        if len(wanted) < 1.2 * (size * dimensions - dimensions * (dimensions + 1) // 2 + 1):
            continue
        begin = directions[:, -dimensions:] * np.sqrt(np.maximum(strengths[-dimensions:], 1e-9))
        for common in _COMMON_TIMES:
            fit = _placed(begin, common, first, second, wanted, _FEW_ITERATIONS)
            fits.append((cost_of(*fit), *fit))
    fits.sort(key=lambda fit: fit[0])
    return min(
        (
            min(cost, cost_of(*_placed(points, time, first, second, wanted, _ITERATIONS)))
            for cost, points, time in fits[:3]
        ),
        default=np.inf,
    )


def _is_clustered(apart: Floats, is_within: Mask) -> bool:
    """Tell whether distances within groups and between them leave a gap."""
    if is_within.all() or not is_within.any():
        return False
    nearest = np.quantile(apart[~is_within], 0.1)
    return bool(_LEAST_GAP * np.quantile(apart[is_within], 0.9) < nearest)


def _placed(  # noqa: PLR0917  all of them are needed
    begin: Floats, time: float, first: Ints, second: Ints, wanted: Floats, iterations: int
) -> tuple[Floats, float]:
    """Return (N, D) points and a common time that fit the wanted logarithms, outliers aside."""
    shape = begin.shape
    size = shape[0]

    def loss(flat: Floats) -> tuple[float, Floats]:
        points, time = flat[:-1].reshape(shape), _time(flat)
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

    # OpenBLAS starts threads for triangles of 20 numbers, which poll longer than they compute.
    with threadpool_limits(limits=1, user_api="blas"):
        found = minimize(
            loss,
            np.append(begin.ravel(), np.log(time)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": iterations},
        ).x
    return found[:-1].reshape(shape), _time(found)


def _time(flat: Floats) -> float:
    """Return the common time; a step of the search may leave what numbers can hold."""
    return float(np.exp(np.clip(flat[-1], -_MOST_LOG_TIME, _MOST_LOG_TIME)))


def _price_of_one(times: Floats, partners: float, bandwidth: float) -> float:
    spread = max(3.46 * float(times.std()), 0.1)
    return float(np.log(max(spread * np.sqrt(max(partners, 1.0)) / (5.0 * bandwidth), 2.0)))
