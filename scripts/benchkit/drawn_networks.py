"""Networks drawn at random with groups that are known, and networks without any.

A network is the true distance of each pair, of which one to three passes are read with noise of
some kind, in each direction. Racks hang on paths of one to five switches, so that a pair of two
racks is farther apart by what both paths add.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Rng = np.random.Generator
Noise = Callable[[Rng, Matrix, int], Matrix]

# What the path of a rack adds, in shares of the distance within racks: a part, and one a switch.
_PATH, _SWITCH, _ROW_SWITCH = 0.1, 0.07, 0.14
# Every host keeps so many partners where pairs are left out.
_LEAST_PARTNERS = 4


@dataclass(frozen=True)
class DrawnNetwork:
    """One network.

    Args:
        readings_us: (N, N) the least reading of each direction; NaN where none was made.
        levels: (N,) the group of each host at each level, the finest level first; none where there
            are no groups.
        halves_us: (2, N, N) the same of the odd passes and of the even ones.
        truth_us: (N, N) the true distances.
    """

    readings_us: Matrix
    levels: Sequence[Labels]
    halves_us: Matrix
    truth_us: Matrix


def draw(kind: str, seed: int) -> DrawnNetwork:
    """Draw the network of a kind (of `GROUPED` or `UNGROUPED`) that a seed stands for."""
    rng = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    if kind in GROUPED:
        shape, noise = GROUPED[kind]
        distance, levels = shape(rng)
    else:
        plain, noise = UNGROUPED[kind]
        distance, levels = plain(rng), []
    scale_us, passes = rng.choice([9.5, 21.3, 60.0]), int(rng.choice([1, 1, 3]))
    readings = noise(rng, scale_us * distance, passes)
    readings[:, np.eye(len(distance), dtype=bool)] = np.nan
    readings[:, ~_draw_measured(rng, kind, len(distance))] = np.nan
    hosts = rng.permutation(len(distance))
    readings = readings[:, hosts][:, :, hosts]
    even = np.fmin.reduce(readings[1::2]) if passes > 1 else np.full(distance.shape, np.nan)
    truth_us = scale_us * distance[np.ix_(hosts, hosts)]
    np.fill_diagonal(truth_us, 0.0)
    return DrawnNetwork(
        readings_us=np.fmin.reduce(readings),
        levels=[level[hosts] for level in levels],
        halves_us=np.stack([np.fmin.reduce(readings[0::2]), even]),
        truth_us=truth_us,
    )


def _draw_measured(rng: Rng, kind: str, size: int) -> npt.NDArray[np.bool_]:
    """Which directions are read: all, those of a sample of the pairs, or one of each pair."""
    if kind == "one direction":
        one = np.triu(rng.random((size, size)) < 0.5, 1)
        upper: npt.NDArray[np.bool_] = one | np.tril(~one.T, -1)
        return upper
    share = {"25 % of the pairs": 0.25, "10 % of the pairs": 0.1}.get(kind, 1.0)
    if kind in ("10 to 50 % of the pairs", "a sample, no groups"):
        share = rng.uniform(0.1, 0.5)
    above = np.triu(rng.random((size, size)) < share, 1)
    is_read = above | above.T
    while is_read.sum(axis=1).min() < min(_LEAST_PARTNERS, size - 1):
        host = int(is_read.sum(axis=1).argmin())
        other = int(rng.integers(size))
        is_read[host, other] = is_read[other, host] = host != other
    return is_read


# Noise: the true distances of all directions in, (passes, N, N) readings out.


def _quiet(rng: Rng, distance: Matrix, passes: int) -> Matrix:
    shape = (passes, *distance.shape)
    pairs = np.exp(rng.normal(0.0, rng.uniform(0.004, 0.02), distance.shape))
    readings = distance * pairs * np.exp(np.abs(rng.normal(0.0, rng.uniform(0.004, 0.02), shape)))
    is_late = rng.random(shape) < rng.uniform(0.0, 0.06)
    return np.where(is_late, rng.uniform(1.2, 2.0, shape), 1.0) * readings


def _two_speeds(least: float, most: float) -> Noise:
    """Cores are slow at times, so that readings have a second mode in this share of all."""

    def noise(rng: Rng, distance: Matrix, passes: int) -> Matrix:
        shape, size = (passes, *distance.shape), len(distance)
        share = rng.uniform(least, most) ** (1.0 / (2 * passes))
        own = np.full(size, share)
        if rng.random() < 0.5:
            own = rng.beta(4.0 * share, 4.0 * (1.0 - share), size)
        is_slow = rng.random(shape) < np.sqrt(own[:, None] * own[None, :])
        slower = rng.uniform(1.25, 1.55) * np.exp(rng.normal(0.0, 0.03, shape))
        return _quiet(rng, distance, passes) * np.where(is_slow, slower, 1.0)

    return noise


_BIMODAL, _MOSTLY_SLOW = _two_speeds(0.1, 0.55), _two_speeds(0.6, 0.9)


def _gamma(rng: Rng, distance: Matrix, passes: int) -> Matrix:
    shape = (passes, *distance.shape)
    late = rng.gamma(rng.uniform(0.5, 2.0), rng.uniform(0.05, 0.35), shape)
    return distance * (1.0 + late)


def _lognormal(rng: Rng, distance: Matrix, passes: int) -> Matrix:
    shape = (passes, *distance.shape)
    readings = distance * np.exp(rng.normal(0.0, rng.uniform(0.06, 0.18), shape))
    return np.where(rng.random(shape) < 0.05, rng.uniform(1.2, 2.0, shape), 1.0) * readings


def _asymmetric(rng: Rng, distance: Matrix, passes: int) -> Matrix:
    slower = 1.0 + rng.exponential(rng.uniform(0.05, 0.3), distance.shape)
    return _quiet(rng, distance, passes) * slower


def _heavy_tail(rng: Rng, distance: Matrix, passes: int) -> Matrix:
    late = rng.uniform(0.02, 0.15) * rng.pareto(rng.uniform(1.2, 2.5), (passes, *distance.shape))
    return distance * (1.0 + late)


def _coarse_clock(rng: Rng, distance: Matrix, passes: int) -> Matrix:
    tick = rng.uniform(0.02, 0.1) * float(np.median(distance[distance > 0.0]))
    return np.maximum(np.ceil(_quiet(rng, distance, passes) / tick), 1.0) * tick


def _spells(rng: Rng, distance: Matrix, passes: int) -> Matrix:
    """All that is read while a spell lasts is longer: some rounds of disjoint pairs in sequence."""
    readings, size = _quiet(rng, distance, passes), len(distance)
    round_of = (np.arange(size)[:, None] + np.arange(size)[None, :]) % size
    for each in readings:
        first, length = rng.integers(size), rng.integers(1, 1 + size // 2)
        each[(round_of - first) % size < length] *= rng.uniform(1.2, 1.6)
    return readings


# Shapes with groups: distances in shares of that within racks, and the levels.

Shape = Callable[[Rng], tuple[Matrix, list[Labels]]]


def _sizes(
    rng: Rng, racks: tuple[int, int], hosts: tuple[int, int], total: tuple[int, int]
) -> Labels:
    """The hosts of each rack: at least two racks have two or more."""
    while True:
        found = rng.integers(hosts[0], hosts[1] + 1, rng.integers(racks[0], racks[1] + 1))
        if total[0] <= found.sum() <= total[1] and (found > 1).sum() >= 2:
            return found


def _different(labels: Labels) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = labels[:, None] != labels[None, :]
    return found


def _on_paths(sizes: Labels, switches: Labels) -> tuple[Matrix, list[Labels]]:
    rack = np.repeat(np.arange(len(sizes)), sizes)
    path = (_PATH + _SWITCH * switches.astype(np.float64))[rack]
    distance: Matrix = 1.0 + _different(rack) * (path[:, None] + path[None, :])
    return distance, [rack]


def _racks(rng: Rng, sizes: Labels | None = None) -> tuple[Matrix, list[Labels]]:
    found = _sizes(rng, (2, 8), (1, 8), (5, 40)) if sizes is None else sizes
    return _on_paths(found, np.full(len(found), rng.integers(1, 6)))


def _unequal(rng: Rng) -> tuple[Matrix, list[Labels]]:
    sizes = _sizes(rng, (2, 8), (1, 8), (5, 40))
    return _on_paths(sizes, rng.integers(1, 6, len(sizes)))


def _rows(rng: Rng) -> tuple[Matrix, list[Labels]]:
    sizes = _sizes(rng, (4, 8), (2, 8), (12, 40))
    distance, (rack,) = _on_paths(sizes, np.full(len(sizes), rng.integers(1, 4)))
    row = (rack >= rng.integers(2, len(sizes) - 1)).astype(np.int64)
    return distance + _different(row) * _ROW_SWITCH * rng.integers(2, 5), [rack, row]


def _three_levels(rng: Rng) -> tuple[Matrix, list[Labels]]:
    while True:
        racks_of_rows = rng.integers(2, 4, rng.integers(2, 4))
        sizes = 2 * rng.integers(2, 5, int(racks_of_rows.sum()))
        if sizes.sum() <= 48:
            break
    rack = np.repeat(np.arange(len(sizes)), sizes)
    row = np.repeat(np.arange(len(racks_of_rows)), racks_of_rows)[rack]
    machine = np.arange(len(rack)) // 2
    distance = 1.0 + _different(machine) * _ROW_SWITCH * rng.integers(1, 4)
    distance += _different(rack) * (0.2 + _ROW_SWITCH * rng.integers(1, 4))
    return distance + _different(row) * _ROW_SWITCH * rng.integers(2, 5), [machine, rack, row]


def _with_hosts_alone(rng: Rng) -> tuple[Matrix, list[Labels]]:
    sizes = _sizes(rng, (2, 5), (2, 8), (5, 40))
    return _racks(rng, np.concatenate([sizes, np.ones(rng.integers(1, 4), dtype=np.int64)]))


def _with_slow_host(rng: Rng) -> tuple[Matrix, list[Labels]]:
    distance, levels = _racks(rng)
    return distance + _times(_one_of(rng, len(distance), rng.uniform(0.2, 1.0))), levels


def _with_times_of_hosts(rng: Rng) -> tuple[Matrix, list[Labels]]:
    distance, levels = _racks(rng)
    return distance + _times(rng.uniform(0.0, rng.uniform(0.1, 0.4), len(distance))), levels


def _small(rng: Rng) -> tuple[Matrix, list[Labels]]:
    return _racks(rng, _sizes(rng, (2, 4), (2, 4), (6, 10)))


def _large(rng: Rng) -> tuple[Matrix, list[Labels]]:
    return _racks(rng, _sizes(rng, (4, 8), (6, 16), (40, 128)))


def _one_of(rng: Rng, size: int, share: float) -> Matrix:
    found = np.zeros(size)
    found[rng.integers(size)] = share
    return found


def _times(of_hosts: Matrix) -> Matrix:
    found: Matrix = of_hosts[:, None] + of_hosts[None, :]
    return found


# Shapes without groups.


def _equal(rng: Rng) -> Matrix:
    size = int(rng.integers(5, 31))
    return np.ones((size, size))


def _equal_large(rng: Rng) -> Matrix:
    size = int(rng.integers(30, 100))
    return np.ones((size, size))


def _points(dimensions: int) -> Callable[[Rng], Matrix]:
    def shape(rng: Rng) -> Matrix:
        size = (int(rng.integers(5, 31)), dimensions)
        points = rng.random(size) if rng.random() < 0.6 else rng.normal(0.0, 0.4, size)
        apart = np.linalg.norm(points[:, None] - points[None, :], axis=2)
        found: Matrix = 3.0 * apart + rng.choice([0.05, 0.5])
        return found

    return shape


def _times_alone(rng: Rng) -> Matrix:
    size = int(rng.integers(5, 31))
    return _times(0.5 * np.exp(rng.normal(0.0, rng.uniform(0.1, 0.6), size)))


def _slow_host_alone(rng: Rng) -> Matrix:
    equal = _equal(rng)
    return equal + _times(_one_of(rng, len(equal), rng.uniform(0.2, 1.5)))


def _either(*noises: Noise) -> Noise:
    def noise(rng: Rng, distance: Matrix, passes: int) -> Matrix:
        return noises[rng.integers(len(noises))](rng, distance, passes)

    return noise


GROUPED: Mapping[str, tuple[Shape, Noise]] = {
    "quiet": (_racks, _quiet),
    "bimodal": (_racks, _BIMODAL),
    "mostly slow": (_racks, _MOSTLY_SLOW),
    "gamma": (_racks, _gamma),
    "lognormal": (_racks, _lognormal),
    "heavy tail": (_racks, _heavy_tail),
    "coarse clock": (_racks, _coarse_clock),
    "slow spells": (_racks, _spells),
    "asymmetric": (_racks, _asymmetric),
    "one direction": (_racks, _asymmetric),
    "unequal distances of racks": (_unequal, _BIMODAL),
    "rows of racks": (_rows, _BIMODAL),
    "three levels": (_three_levels, _either(_BIMODAL, _quiet)),
    "hosts alone": (_with_hosts_alone, _BIMODAL),
    "one slow host": (_with_slow_host, _BIMODAL),
    "a time of its own for each host": (_with_times_of_hosts, _BIMODAL),
    "6 to 10 hosts": (_small, _BIMODAL),
    "10 to 50 % of the pairs": (_large, _BIMODAL),
    "25 % of the pairs": (_large, _BIMODAL),
    "10 % of the pairs": (_large, _BIMODAL),
}
UNGROUPED: Mapping[str, tuple[Callable[[Rng], Matrix], Noise]] = {
    "all equally far": (_equal, _quiet),
    "all equally far, bimodal": (_equal, _BIMODAL),
    "all equally far, gamma": (_equal, _gamma),
    "all equally far, lognormal": (_equal, _lognormal),
    "all equally far, heavy tail": (_equal, _heavy_tail),
    "all equally far, coarse clock": (_equal, _coarse_clock),
    "all equally far, slow spells": (_equal, _spells),
    "points on a line": (_points(1), _either(_quiet, _lognormal, _BIMODAL)),
    "points in a square": (_points(2), _either(_quiet, _lognormal, _BIMODAL)),
    "points in a cube": (_points(3), _either(_quiet, _lognormal, _BIMODAL)),
    "times of hosts alone": (_times_alone, _either(_quiet, _BIMODAL)),
    "one slow host, no groups": (_slow_host_alone, _either(_quiet, _BIMODAL)),
    "a sample, no groups": (_equal_large, _BIMODAL),
}
