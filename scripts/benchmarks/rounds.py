"""Value of an order when only some rounds of the tournament were probed, on known racks.

Times are generated: 7 µs within a rack and 13 across, as in the lab, and noise that only adds.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np

from benchkit.arguments import numbers, words
from benchkit.readings import cluster_of, edges_leaving
from benchkit.report import Report
from plink.measure.probing.passes import choose_sample, list_rounds
from plink.model.distance import distances
from plink.probes.rounds import count_rounds
from plink.solvers.ring.ring_search import search_ring

EXAMPLE = "--racks 8 --hosts 8"
QUICK = "--racks 4 --hosts 4 --rounds 8,all"

HEADER = ("hosts", "rounds", "pairs measured", "ring edges that leave a rack", "random", "least")
_SEEDS = (1, 2, 3)
_IN_RACK_US, _ACROSS_US, _NOISE = 7.0, 13.0, 0.04


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--racks", type=numbers, default=[8, 20], help="of each network")
    parser.add_argument("--hosts", type=numbers, default=[8, 16], help="in each rack")
    rounds = "8,16,32,64,128,all"
    parser.add_argument("--rounds", type=words, default=words(rounds), help="that are probed")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    rows = []
    for racks, hosts in zip(arguments.racks, arguments.hosts, strict=True):
        in_all = count_rounds(racks * hosts)
        for rounds in arguments.rounds:
            if rounds == "all":
                rows.append(_row(racks, hosts, in_all))
            elif int(rounds) < in_all:
                rows.append(_row(racks, hosts, int(rounds)))
    report.table(HEADER, rows)


def _row(racks: int, hosts: int, rounds: int) -> tuple[object, ...]:
    found = [_leaving(racks, hosts, rounds, seed) for seed in _SEEDS]
    share, ours, random = (statistics.median(values) for values in zip(*found, strict=True))
    return (racks * hosts, rounds, f"{100 * share:.0f} %", ours, f"{random:.0f}", racks)


def _leaving(racks: int, hosts: int, rounds: int, seed: int) -> tuple[float, int, float]:
    """Share of the pairs that was measured, and the ring's edges that leave a rack."""
    rng = np.random.default_rng(seed)
    rack = rng.permutation(np.repeat(np.arange(racks), hosts))
    size = len(rack)
    names = [f"n{i}" for i in range(size)]
    truth = np.where(rack[:, None] == rack[None, :], _IN_RACK_US, _ACROSS_US)
    readings = np.full((size, size), np.nan)
    for pairs in list_rounds(names, names, choose_sample(size, rounds, seed)):
        for a, b in pairs:
            readings[a, b], readings[b, a] = truth[a, b] * np.exp(np.abs(rng.normal(0, _NOISE, 2)))
    read = int((~np.isnan(readings)).sum())
    cluster = cluster_of(readings)
    order = np.array(search_ring(distances(cluster).matrix_us, seed=seed, time_limit_s=2.0).order)
    any_order = [rng.permutation(size) for _ in range(20)]
    random = statistics.mean(edges_leaving(rack[other]) for other in any_order)
    return read / (size * (size - 1)), edges_leaving(rack[order]), random
