"""Benchmark of how well hosts are embedded and grouped.

  affinity   how near hosts of a rack and row are found to be, raw and embedded
  groups     racks and rows found again
  none       groups claimed where there are none
  optimiser  L-BFGS beside Adam, for the embedding
  2lha       what groups are worth in two-level aggregation, predicted
  rings      rings on distances of which some were not measured
  drawn      groups of networks drawn at random, beside a textbook recipe's, and how sure they are
  crossings  how often rings leave a rack, by what stands for a pair's distance
  spells     what it would be worth to recognise spells of slow cores, in recorded labs (NPZ)
  times      how long groups of 40 to 2,048 hosts take to be found
  files      groups found in latency matrices (CSV)

Times are processor seconds; with OMP_NUM_THREADS=1 in the environment they are of one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchkit import drawn_groups, grouping_times, known_groups, ring_crossings, spells
from benchkit.arguments import add_seed_count
from benchkit.datacenters import FAMILIES
from benchkit.embedding_figures import (
    Matrix,
    Table,
    affinity_table,
    generate_centres,
    optimiser_table,
    rings_table,
    sample_distances,
    time_work,
)
from benchkit.grouping_times import distances_of_points
from benchkit.peers import two_level_table
from benchkit.report import Report
from plink.solvers.contention.network import make_network
from plink.solvers.contention.time import TableTimer
from plink.solvers.embedding.embed import embed
from plink.solvers.groups.agreement import adjusted_mutual_information
from plink.solvers.groups.balanced import balanced_linkage, constrained_kmeans
from plink.solvers.groups.grouping import Labels, choose_group_count, separate_alone
from plink.solvers.groups.levels import choose_level, discover

EXAMPLE = "--only 2lha --seeds 1"
QUICK = "--only rings --seeds 1"

_RECORDED = ".npz"
_NO_STRUCTURE_SEEDS = 100
_RANDOM_DRAWS = 50
_HOST_GBIT_S = 10.0
_OVERSUBSCRIPTION = 4.0
_SIZE_BYTES = 100e6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the benchmark's options."""
    parser.add_argument("files", type=Path, nargs="*", help="in which groups are looked for")
    add_seed_count(parser, 3, "generated data centres of each kind")
    parser.add_argument("--first-seed", type=int, help="of drawn networks; drawn if not given")
    parser.add_argument("--networks", type=int, default=20, help="networks drawn of each kind")
    tables = [*_TABLES, "drawn", "crossings", "spells", "times", "files"]
    parser.add_argument("--only", choices=tables, help="one of the tables")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Print the tables asked for."""
    for name, table in _TABLES.items():
        if arguments.only in (None, name):
            heading, rows = table(arguments.seeds)
            report.table(heading, rows, name)
            _set_targets(name, rows, report)
    if arguments.only in (None, "drawn"):
        drawn_groups.report_drawn(arguments.networks, arguments.first_seed, report)
    if arguments.only in (None, "crossings"):
        ring_crossings.report_crossings(arguments.networks, arguments.first_seed, report)
    matrices = [path for path in arguments.files if path.suffix != _RECORDED]
    recorded = [path for path in arguments.files if path.suffix == _RECORDED]
    if arguments.only in (None, "spells"):
        spells.report_spells([*ring_crossings.RECORDED_LABS, *recorded], report)
    if arguments.only in (None, "times"):
        grouping_times.report_times(report)
    if arguments.only in (None, "files"):
        report.table(known_groups.HEADER, known_groups.rows(matrices), "files")


def _set_targets(table: str, rows: Sequence[Sequence[object]], report: Report) -> None:
    """Set the targets from the figures of a table."""
    cells = [[str(cell) for cell in row] for row in rows]
    if table == "none":
        claims = max(_first(cell) for row in cells for cell in row[1:])
        report.at_most("groups claimed of random data, of 100 draws", 0, claims)
    elif table == "affinity":
        for share, least in (("25%", 0.98), ("10%", 0.95)):
            large = [row for row in cells if row[1] == share and row[3] != "too sparse"]
            found = min(_first(row[3]) for row in large if not row[0].endswith(" 64"))
            report.at_least(f"affinity, {share} of the pairs, 256 hosts and more", least, found)
        slowest_s = max(_first(row[6]) for row in cells if row[0].endswith(" 512") and row[6])
        report.at_most("embedding of 512 hosts", 1.5, slowest_s, "s")
    elif table == "groups":
        whole = [row for row in cells if row[1] == "100%"]
        report.at_least("racks found, all pairs, AMI", 1.0, min(_first(row[2]) for row in whole))
        slowest_ms = max(_first(row[6]) for row in whole if row[0].endswith(" 512"))
        report.at_most("grouping of 512 hosts", 100, slowest_ms, "ms")


def _first(cell: str) -> float:
    """The number that a cell begins with."""
    return float(cell.split(maxsplit=1)[0])


def _groups(seeds: int) -> Table:
    rows: list[list[object]] = []
    for title, share, centres in generate_centres(seeds):
        scores: dict[str, list[float]] = {name: [] for name in ("levels", "linkage", "kmeans")}
        rows_found, times = [], []
        for centre in centres:
            measured = sample_distances(centre.distance, share)
            try:
                embedding = embed(measured)
            except ValueError:
                continue
            distance = measured if share == 1.0 else embedding.distance
            distance = np.where(np.eye(len(distance)) > 0, 0.0, distance)
            seen = partial(drawn_groups.discover_groups, measured)
            racks = centre.rack_of.tolist()
            count, elasticity = len(set(racks)), 1.0 if title.startswith("uniform") else 2.0
            passed, discovery = time_work(seen)
            levels = discovery.levels
            times.append(passed)
            best = _labels(choose_level(levels).labels) if levels else [0] * len(racks)
            rows_true = centre.row_of.tolist()
            scores["levels"].append(adjusted_mutual_information(best, racks))
            if len(set(rows_true)) > 1:
                rows_found.append(
                    max(
                        (
                            adjusted_mutual_information(_labels(level.labels), rows_true)
                            for level in levels
                        ),
                        default=0.0,
                    )
                )
            linked = balanced_linkage(distance, count, elasticity=elasticity)
            scores["linkage"].append(adjusted_mutual_information(linked.tolist(), racks))
            means = constrained_kmeans(embedding.points, count, elasticity=elasticity)
            scores["kmeans"].append(adjusted_mutual_information(means.tolist(), racks))
        if times:
            found = [f"{np.mean(values):.3f}" for values in scores.values()]
            rows_text = f"{np.mean(rows_found):.3f}" if rows_found else "-"
            rows.append(
                [title, f"{share:.0%}", *found, rows_text, f"{1e3 * np.median(times):.0f} ms"]
            )
    heading = (
        *("hosts", "pairs", "levels: racks", "linkage at true k", "k-means at true k"),
        *("levels: rows", "time of levels"),
    )
    return heading, rows


def _no_structure() -> Table:
    kinds: dict[str, Callable[[np.random.Generator, int], Matrix]] = {
        "log-normal noise 15 %": lambda rng, n: rng.lognormal(0.0, 0.15, (n, n)),
        "exponential noise": lambda rng, n: rng.exponential(1.0, (n, n)),
        "points on a line": lambda rng, n: distances_of_points(rng, n, 1),
        "points in a square": lambda rng, n: distances_of_points(rng, n, 2),
        "points in a cube": lambda rng, n: distances_of_points(rng, n, 3),
    }
    sizes = (8, 16, 32, 64)
    rows: list[list[object]] = []
    for title, make in kinds.items():
        row: list[object] = [title]
        for size in sizes:
            claims = 0
            for seed in range(_NO_STRUCTURE_SEEDS):
                upper = np.triu(make(np.random.default_rng([seed, size]), size), 1)
                claims += bool(discover(upper + upper.T).levels)
            row.append(f"{claims} of {_NO_STRUCTURE_SEEDS}")
        rows.append(row)
    return ("claimed groups", *(f"{size} hosts" for size in sizes)), rows


def _two_level(seeds: int) -> Table:
    rows: list[list[object]] = []
    for family, make in FAMILIES.items():
        for size in (64, 128):
            ratios: dict[str, list[float]] = {}
            for seed in range(1, seeds + 1):
                centre = make(size, seed)
                rate = _HOST_GBIT_S / 8.0 * 1e9
                counts = np.bincount(centre.rack_of)
                uplink = np.maximum(counts, 1) * rate / _OVERSUBSCRIPTION
                network = make_network(
                    size,
                    latency_s=centre.distance / 2e6,
                    send_bytes_s=rate,
                    receive_bytes_s=rate,
                    group_of=centre.rack_of,
                    uplink_send_bytes_s=uplink,
                    uplink_receive_bytes_s=uplink,
                )

                def took(labels: Labels, network=network, size=size) -> float:  # type: ignore[no-untyped-def]
                    return TableTimer(two_level_table(labels, _SIZE_BYTES), network).time_s(
                        np.arange(size)
                    )

                levels = discover(centre.distance).levels
                count = choose_group_count(size)
                true = took(centre.rack_of)
                random = float(
                    np.mean(
                        [took(_draw_balanced(size, count, draw)) for draw in range(_RANDOM_DRAWS)]
                    )
                )
                points = embed(centre.distance).points
                for name, labels in (
                    ("levels", choose_level(levels).labels if levels else None),
                    ("linkage", balanced_linkage(centre.distance, count, elasticity=2.0)),
                    ("k-means", constrained_kmeans(points, count, elasticity=2.0)),
                ):
                    if labels is not None:
                        mine = took(labels)
                        ratios.setdefault(f"{name} / random", []).append(random / mine)
                        ratios.setdefault(f"{name} / true racks", []).append(true / mine)
            for name, values in ratios.items():
                rows.append([f"{family} {size}", name, f"{np.mean(values):.2f}"])
    return ("data centre", "2LHA on", "times faster"), rows


def _labels(labels: Labels) -> list[int]:
    """A host that is alone is a group of its own."""
    found: list[int] = separate_alone(labels).tolist()
    return found


_TABLES: Mapping[str, Callable[[int], Table]] = {
    "affinity": affinity_table,
    "groups": _groups,
    "none": lambda _: _no_structure(),
    "optimiser": optimiser_table,
    "2lha": _two_level,
    "rings": rings_table,
}


def _draw_balanced(hosts: int, groups: int, seed: int) -> npt.NDArray[np.int64]:
    """Groups of N / k hosts uniformly at random: Balanced Random of Luo 2020, §4.2.1."""
    return np.random.default_rng([seed, 0xBA1A]).permutation(np.arange(hosts) % groups)
