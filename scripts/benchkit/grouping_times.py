"""Processor time of finding groups of 40 to 2,048 hosts, in networks with groups and without."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from benchkit.drawn_networks import Matrix
from benchkit.embedding_figures import time_work
from benchkit.report import Report
from plink.solvers.groups.levels import discover

# Hosts of a network, the seconds that were to be enough, and how often it is grouped.
_SIZES = ((40, 0.1, 7), (512, 0.5, 5), (2048, 5.0, 3))
_RACK, _ROW = 16, 8
_WITH_GROUPS = "racks and rows"


def report_times(report: Report) -> None:
    """Print median processor seconds; with OMP_NUM_THREADS=1 they are of one thread."""
    rows = []
    for hosts, most_s, times in _SIZES:
        took_s = {}
        for name, make in _NETWORKS.items():
            work = partial(discover, make(np.random.default_rng(hosts), hosts))
            runs = [time_work(work) for _ in range(times)]
            took_s[name] = statistics.median(spent_s for spent_s, _ in runs)
            if name == _WITH_GROUPS:
                report.at_most(f"{hosts} hosts in {name}", most_s, took_s[name], "s")
                found = [level.groups for level in runs[0][1].levels]
                report.at_least(f"{hosts} hosts: their racks found", 1, -(-hosts // _RACK) in found)
        rows.append([f"{hosts:,}", *(f"{spent_s:.2f}" for spent_s in took_s.values())])
    report.table(("processor seconds, hosts", *_NETWORKS), rows, "times")


def _racks_and_rows(rng: np.random.Generator, hosts: int) -> Matrix:
    rack = np.arange(hosts) // _RACK
    row = rack // _ROW
    is_near = (rack[:, None] == rack, row[:, None] == row)
    return _with_noise(rng, np.select(is_near, (20.0, 30.0), 40.0), 0.03)


def distances_of_points(rng: np.random.Generator, hosts: int, dimensions: int) -> Matrix:
    """Return distances, (N, N), of points at random in a cube of side 1, of so many dimensions."""
    points = rng.random((hosts, dimensions))
    distance: Matrix = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    return distance


def _points(rng: np.random.Generator, hosts: int) -> Matrix:
    return _with_noise(rng, 5.0 + 20.0 * distances_of_points(rng, hosts, 3), 0.15)


def _equally_far(rng: np.random.Generator, hosts: int) -> Matrix:
    return _with_noise(rng, np.full((hosts, hosts), 20.0), 0.03)


def _with_noise(rng: np.random.Generator, rtt_us: Matrix, noise: float) -> Matrix:
    """Return readings, which are never less than the truth."""
    above = np.triu(rtt_us * np.exp(np.abs(rng.normal(0.0, noise, rtt_us.shape))), 1)
    readings_us: Matrix = above + above.T
    return readings_us


_NETWORKS: Mapping[str, Callable[[np.random.Generator, int], Matrix]] = {
    _WITH_GROUPS: _racks_and_rows,
    "points": _points,
    "all equally far": _equally_far,
}
