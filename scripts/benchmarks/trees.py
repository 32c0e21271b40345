"""Gap of the bounds of trees.

Rows are measured machines, from files, and generated data centres.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchkit.arguments import add_seed, numbers
from benchkit.datacenters import FAMILIES
from benchkit.report import Report
from plink.measure.importing.source import import_content
from plink.measure.requests import ImportRequest
from plink.model.distance import distances
from plink.solvers.bounds.lower_bound import lower_bound
from plink.solvers.collectives.form import TreesForm
from plink.solvers.collectives.papers import double_tree
from plink.solvers.limits import Deadline
from plink.solvers.orders.latency_search import search_by_latency

EXAMPLE = "--matrices regions.csv --seconds 2"
QUICK = "--generated 16 --seconds 0.2"
Matrix = npt.NDArray[np.float64]

# The greatest gap that was asked for on measured machines.
_ASKED = 0.4

# Of a matrix with at most this many hosts, all are ordered, else as many as asked for.
_WHOLE = 99


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument(
        "--matrices", nargs="*", default=[], type=Path, help="CSV files of measured machines"
    )
    parser.add_argument(
        "--hosts", default=[64, 128, 256], type=numbers, help="drawn from larger ones"
    )
    parser.add_argument(
        "--generated", default=[48, 100, 200], type=numbers, help="hosts of generated data centres"
    )
    parser.add_argument("--seconds", type=float, default=4.0, help="time limit of a bound")
    add_seed(parser)


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Print the table."""
    report.table(_HEADING, _rows(arguments, report))


_HEADING = ("trees on", "hosts", "best found", "gap", "CPU seconds")


def _rows(arguments: argparse.Namespace, report: Report) -> Iterator[Sequence[str]]:
    for path in arguments.matrices:
        for distance in _draw_matrices(path, arguments.hosts, arguments.seed):
            row, gap = _row(path.stem, distance, arguments.seconds, arguments.seed)
            report.at_most(f"{path.stem}, {len(distance)} hosts: gap", _ASKED, gap)
            yield row
    for name, family in FAMILIES.items():
        for hosts in arguments.generated:
            distance = family(hosts, arguments.seed).distance
            yield _row(f"generated, {name}", distance, arguments.seconds, arguments.seed)[0]


def _draw_matrices(path: Path, sizes: Sequence[int], seed: int) -> Iterator[Matrix]:
    """All pairs that were not measured are 0 in it, as in every bound."""
    cluster = import_content(path.read_bytes(), str(path), ImportRequest(percentile=50.0))
    found = distances(cluster)
    whole = found.matrix_us if found.limits is None else found.limits.lowest_us
    hosts = len(whole)
    for size in [hosts] if hosts <= _WHOLE else sorted({min(size, hosts) for size in sizes}):
        drawn = np.sort(np.random.default_rng(seed).permutation(hosts)[:size])
        yield np.ascontiguousarray(whole[np.ix_(drawn, drawn)])


def _row(name: str, distance: Matrix, limit_s: float, seed: int) -> tuple[Sequence[str], float]:
    hosts = len(distance)
    form = TreesForm(hosts, double_tree(hosts))
    cost = search_by_latency(
        form, distance, seed=seed, time_limit_s=limit_s, proof_limit_s=0.0
    ).cost
    begin_s = time.process_time()
    bound = lower_bound(form, distance, Deadline(limit_s))
    cpu_s = time.process_time() - begin_s
    if bound > cost * (1.0 + 1e-9):
        raise SystemExit(f"{name} {hosts}: an order costs {cost}, the bound is {bound}")
    gap = 1.0 - bound / cost
    return (name, str(hosts), f"{cost:.4g} µs", f"{gap:.0%}", f"{cpu_s:.1f}"), gap
