"""Explanations of readings without groups: extra latency of hosts, and hosts as points."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import gammaln

from plink.solvers.embedding.fit import Shape, fit_points, start
from plink.solvers.embedding.observations import observe
from plink.solvers.groups.densities import Floats, Ints, Mask, ReadingDensities

_DIMENSIONS = (1, 2, 3)
# Time common to all pairs, as shares of the least reading that are tried.
_SHARES_IN_COMMON = (0.5, 0.9)
_ITERATIONS = 60
# A point has one coordinate for at least so many readings.
_LEAST_READINGS = 1.2
# Groups of fewer points come by chance, with gaps around them that are so much wider than they.
_LEAST_CLUSTER, _LEAST_GAP = 8, 1.5

# Changes of a time that are tried in a sweep; sweeps at least and at most.
_STEPS = np.arange(-0.6, 0.61, 0.03)
_LEAST_SWEEPS, _MOST_SWEEPS = 3, 8
# Partners whose readings tell the time of a host.
_PARTNERS = 64
# Density of readings that are nearer or farther than all others.
_LEAST_DENSITY = 1e-6


def cost_points(logs: Floats, is_measured: Mask, labels: Ints) -> float:
    """Return the cost in nats of readings as distances of points; infinite if no points fit.

    A reading is the distance of two points and a time common to all pairs, which is half or most
    of the least reading. Points are fitted in one to three dimensions; each coordinate is paid for.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
        labels: (N,) groups; points that lie in large ones, with gaps around them, say the same.
    """
    size, upper = len(logs), np.triu(is_measured, 1)
    if int(upper.sum()) < _LEAST_READINGS * size:
        return np.inf
    is_within = labels[:, None] == labels[None, :]
    within, between = upper & is_within, upper & ~is_within
    are_large = size >= _LEAST_CLUSTER * (int(labels.max()) + 1) and between.any() and within.any()
    readings = np.where(is_measured, np.exp(logs), np.nan)
    partners, least = float(is_measured.sum(axis=1).mean()), np.inf
    commons = [share * float(np.nanmin(readings)) for share in _SHARES_IN_COMMON]
    starts = [(common, observe(readings - common)) for common in commons]
    for (common, observations), dimensions in product(starts, _DIMENSIONS):
        unknowns = size * dimensions - dimensions * (dimensions + 1) // 2 + 1
        if int(upper.sum()) < _LEAST_READINGS * unknowns:
            continue
        begin = start(observations, Shape(dimensions, has_heights=False))
        fit = fit_points(observations, begin, dimensions, _ITERATIONS, np.random.default_rng(0))
        fitted = np.maximum(fit.distance * observations.scale + common, 1e-12)
        nearest = np.quantile(fitted[between], 0.1) if are_large else 0.0
        if are_large and _LEAST_GAP * np.quantile(fitted[within], 0.9) < nearest:
            continue
        densities = ReadingDensities((logs - np.log(fitted))[upper])
        precision = np.sqrt(partners / dimensions) / (2.5 * densities.bandwidth)
        spread = fit.points.std(axis=0) * (observations.scale / float(np.nanmedian(readings)))
        ranges = np.maximum(3.46 * spread * precision, 2.0)
        # Points can be turned as a whole, which saves coordinates.
        price = float((size - np.arange(dimensions)) @ np.log(ranges))
        least = min(least, densities.one_class_cost + price)
    return least


def add_times(times: Floats, others: Floats) -> Floats:
    """Return what slow hosts' extra latencies add to the log readings of pairs, (N, M)."""
    added: Floats = np.log((np.exp(times)[:, None] + np.exp(others)[None, :]) / 2.0)
    return added


def price_times(times: Floats, partners: float, bandwidth: float) -> tuple[float, float]:
    """Return the nats of describing all slow hosts' extra latencies, and those of one of them.

    Args:
        times: (N,) zero for hosts without one.
        partners: readings of a host.
        bandwidth: of the readings' density.
    """
    spread = max(3.46 * float(times.std()), 0.1)
    one = float(np.log(max(spread * np.sqrt(max(partners, 1.0)) / (5.0 * bandwidth), 2.0)))
    count, size = int((times != 0.0).sum()), len(times)
    which = gammaln(size + 1.0) - gammaln(count + 1.0) - gammaln(size - count + 1.0)
    return float(count * one + which), one


def fit_times(logs: Floats, is_measured: Mask, begin: Floats) -> tuple[float, Floats]:
    """Fit one distance for all pairs and hosts' extra log latencies; return nats and (N,) extras.

    A reading is log((e^t_i + e^t_j) / 2) above the one distance, and noise of any shape. Times are
    chosen host by host where the density of what remains is likeliest; most are zero.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
        begin: (N,) times to begin with.
    """
    size, times = len(logs), begin
    best = np.inf, times
    if int(is_measured.sum()) < 2 * size:
        return best
    upper, partners = np.triu(is_measured, 1), float(is_measured.sum(axis=1).mean())
    share = min(_PARTNERS / partners, 1.0)
    some = np.random.default_rng(0).permutation(size)[: max(round(share * size), 1)]
    readings, weight = logs[:, some], is_measured[:, some] * (size / len(some))
    for sweep in range(_MOST_SWEEPS):
        densities = ReadingDensities((logs - add_times(times, times))[upper])
        all_times, price = price_times(times, partners, densities.bandwidth)
        cost = densities.one_class_cost + all_times
        if cost < best[0] - 1e-6:
            best = cost, times
        elif sweep >= _LEAST_SWEEPS:
            break
        offered = np.append(np.zeros((size, 1)), times[:, None] + _STEPS, axis=1)
        added = add_times(offered.ravel(), times[some]).reshape(*offered.shape, -1)
        bins = densities.find_bins(readings[:, None, :] - added)
        log_densities = np.log(np.pad(densities.density, 1) + _LEAST_DENSITY)
        likelihood = log_densities[np.clip(bins, -1, densities.count) + 1]
        gain = np.einsum("htp,hp->ht", likelihood, weight) - price * (offered != 0.0)
        times = offered[np.arange(size), gain.argmax(axis=1)].round(3)
    return best
