"""Times of hosts: an explanation that groups have to beat, or that goes with them.

A host that is slow, or behind a link of its own, adds its time to every reading that it takes part
in: `log d_ij = log d + log((exp v_i + exp v_j) / 2)`. Few hosts have one: each is priced by the
nats that it takes to say it as precisely as the readings tell.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from plink.solvers.groups.classes import Classes, Floats, Mask

# Steps in which times are looked for, and for how many sweeps in the coarse ones.
_COARSE, _FINE = np.arange(-0.6, 0.61, 0.03), np.arange(-0.06, 0.07, 0.01)
_SWEEPS, _COARSE_SWEEPS = 8, 3
# Hosts whose times are fitted at once, as a share of all; partners that tell the time of one.
_BLOCKS, _PARTNERS = 6, 64
# Share of readings that a host's time need not explain.
_SHARE_OUTSIDE = 0.02


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
