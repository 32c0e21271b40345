"""Orders of rounds and trees, against a plain annealer in C with as much processor time.

plink searches first; each of the plain annealer's runs has an equal part of the processor time that
this took, the search for a bound not counted. DATA has matrices as CSV, of which hosts are drawn at
random; without it, distances are generated alone. It needs a C compiler.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchkit.annealing_cases import Case, cases
from benchkit.arguments import add_seeds, numbers, words
from benchkit.plain_annealing import PlainAnnealer, plain_annealer
from benchkit.report import Report
from plink.solvers.collectives.cost import latency_cost
from plink.solvers.orders.latency_search import search_by_latency

EXAMPLE = "--algorithms tree --ranks 64 --seeds 7"
QUICK = "--algorithms halving-doubling,tree --ranks 64 --seeds 1 --limit 0.2"

HEADER = ("algorithm", "ranks", "distances", "seed", "plink", "plain", "plain over plink")
SUMMARY = ("algorithm", "ranks", "cases", "plink dearer", "least", "median", "most")
_ALGORITHMS = (
    "halving-doubling,bcube,tree,mpich-tree,mpich-tree-knomial,mpich-recursive-doubling,"
    "gloo-halving-doubling,all-to-all"
)
# Costs that differ by less are equal.
_SAME = 1e-9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--data", metavar="DATA", type=Path, help="a folder of measured matrices")
    parser.add_argument("--algorithms", type=words, default=words(_ALGORITHMS), help="names")
    parser.add_argument("--ranks", type=numbers, default=[64, 100, 128], help="numbers of ranks")
    parser.add_argument("--matrices", type=words, help="only distances of these names")
    parser.add_argument("--limit", type=float, default=1.0, help="seconds of a search")
    parser.add_argument("--runs", type=int, default=2, help="of the peer; the best counts")
    add_seeds(parser, "31")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Search and print the tables."""
    ratios: dict[tuple[str, int], list[float]] = {}

    def rows() -> Iterator[tuple[object, ...]]:
        with plain_annealer() as peer:
            for seed in arguments.seeds:
                for case in cases(arguments.algorithms, arguments.ranks, seed, arguments.data):
                    if arguments.matrices and case.matrix not in arguments.matrices:
                        continue
                    found, plain = _costs(case, peer, arguments.limit, arguments.runs)
                    ratios.setdefault((case.algorithm, case.ranks), []).append(plain / found)
                    what = (case.algorithm, case.ranks, case.matrix, seed)
                    yield (*what, f"{found:.4g}", f"{plain:.4g}", f"{plain / found:.3f}")

    report.table(HEADER, rows())
    report.table(
        SUMMARY, [(*what, *_summary(each)) for what, each in ratios.items()], "Plain over plink"
    )
    every = [ratio for each in ratios.values() for ratio in each]
    report.at_most(f"of {len(every)} cases, those in which plink is dearer", 0, _dearer(every))


def _costs(case: Case, peer: PlainAnnealer, limit_s: float, runs: int) -> tuple[float, float]:
    """plink's and the peer's, both by the plain evaluator."""
    begin = time.process_time()
    found = search_by_latency(
        case.form, case.distance, seed=case.seed, time_limit_s=limit_s, proof_limit_s=0.0
    )
    taken_s = time.process_time() - begin
    plain = peer.find(case.form, case.distance, seed=case.seed, runs=runs, seconds=taken_s / runs)
    return (
        latency_cost(case.form, case.distance, found.order),
        latency_cost(case.form, case.distance, plain.order),
    )


def _summary(ratios: Sequence[float]) -> tuple[object, ...]:
    figures = (min(ratios), statistics.median(ratios), max(ratios))
    return (len(ratios), _dearer(ratios), *(f"{figure:.3f}" for figure in figures))


def _dearer(ratios: Sequence[float]) -> int:
    return sum(ratio < 1.0 - _SAME for ratio in ratios)
