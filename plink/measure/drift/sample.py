"""Selection of pairs to measure again: each host's nearest partners and random others.

A host that is moved to another rack keeps its distance to most hosts: only what was near it is far
now. Partners taken by chance alone would miss that in any large cluster.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from plink.files.matrices import Matrix

Pair = tuple[int, int]
Mask = npt.NDArray[np.bool_]

# Readings of one kind of path differ by so much at most, mostly less (docs/benchmarks/probing.md).
_NEAR_FACTOR = 1.35


def both_ways_us(readings_us: Matrix) -> Matrix:
    """Return the geometric mean of both directions, (N, N); the one reading if one is missing.

    NaN where neither direction has a reading above zero, and on the diagonal.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(readings_us > 0.0, np.log(readings_us), np.nan)
    np.fill_diagonal(logs, np.nan)
    there, back = np.where(np.isnan(logs), logs.T, logs), np.where(np.isnan(logs.T), logs, logs.T)
    mean_us: Matrix = np.exp((there + back) / 2.0)
    return mean_us


def near_hosts(times_us: Matrix) -> Mask:
    """Return a mask of the hosts about as near to each row's host as its nearest, (N, N).

    Args:
        times_us: (N, N), symmetric, NaN where unknown.
    """
    known = np.where(np.isnan(times_us), np.inf, times_us)
    nearest = known.min(axis=1, keepdims=True)
    near: Mask = np.isfinite(known) & (known <= _NEAR_FACTOR * nearest)
    return near


def pairs_to_check(times_us: Matrix, partners: int, seed: int) -> list[Pair]:
    """Return pairs that give every host at least `partners` partners, half of them near.

    Args:
        times_us: (N, N), symmetric, NaN for pairs that cannot be compared.
        partners: at least 1; a host with fewer that can be compared gets those.
        seed: decides the others, and among equals the nearest.

    Returns:
        pairs (lower index, higher index), sorted.
    """
    return more_partners(times_us, range(len(times_us)), (), partners, seed)


def more_partners(
    times_us: Matrix, hosts: Iterable[int], having: Iterable[Pair], partners: int, seed: int
) -> list[Pair]:
    """Return additional pairs until each of `hosts` has `partners` partners, half of them near."""
    chance = np.random.default_rng(seed)
    before = set(having)
    met: list[set[int]] = [set() for _ in range(len(times_us))]
    for a, b in before:
        met[a].add(b)
        met[b].add(a)
    chosen: set[Pair] = set()
    for host in hosts:
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
