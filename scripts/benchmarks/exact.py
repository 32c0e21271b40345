"""Proofs of the exact engines and their time, and the gap of the bounds.

It needs plink's extra `exact`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from benchkit.arguments import add_seed_count
from benchkit.datacenters import FAMILIES
from benchkit.report import Report
from plink.solvers.bounds.lower_bound import lower_bound
from plink.solvers.collectives.registry import find
from plink.solvers.exact.prove import Engine, ProofResult, prove
from plink.solvers.limits import Deadline
from plink.solvers.orders.latency_search import search_by_latency

EXAMPLE = "--only proofs --engine cp-sat --seeds 1"
QUICK = "--only proofs --engine cp-sat --seeds 1 --seconds 2"
Matrix = npt.NDArray[np.float64]

_PROOFS: Sequence[tuple[str, int, Engine]] = (
    ("ring", 8, "z3"),
    ("ring", 8, "cp-sat"),
    ("ring", 16, "cp-sat"),
    ("halving-doubling", 8, "z3"),
    ("halving-doubling", 8, "cp-sat"),
    ("halving-doubling", 16, "cp-sat"),
    ("bcube:4", 16, "cp-sat"),
    ("tree", 8, "z3"),
    ("tree", 8, "cp-sat"),
    ("tree", 12, "cp-sat"),
    ("tree", 16, "cp-sat"),
    ("tree", 12, "z3"),
    ("halving-doubling", 16, "z3"),
    ("bcube:4", 16, "z3"),
)

_GAPS = (
    ("ring", (64, 256, 512)),
    ("halving-doubling", (16, 64, 256, 512)),
    ("bcube:4", (16, 64, 256)),
    ("tree", (16, 64, 256)),
)

# For the order that a proof starts from, and for that which a bound is compared with.
_SEARCH_S = 0.5
_KNOWN_S = 10.0
_BOUND_LIMITS_S = (1.0, 10.0)

# What was to be proven in all data centres.
_ASKED = {("ring", 16), ("bcube:4", 16), ("tree", 12)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_seed_count(parser, 5, "generated data centres of each size")
    parser.add_argument("--seconds", type=float, default=300.0, help="time limit of a proof")
    parser.add_argument("--only", choices=["proofs", "gaps"], help="one of the tables")
    parser.add_argument("--engine", choices=["cp-sat", "z3"], help="of the proofs (default: both)")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Print the tables asked for."""
    seeds = range(1, arguments.seeds + 1)
    if arguments.only in (None, "proofs"):
        report.table(_PROOF_HEADING, _proofs(arguments, seeds, report))
    if arguments.only in (None, "gaps"):
        rows = (_gap(name, hosts, seeds) for name, sizes in _GAPS for hosts in sizes)
        report.table(_GAP_HEADING, rows)


def _proofs(
    arguments: argparse.Namespace, seeds: Sequence[int], report: Report
) -> Iterator[Sequence[str]]:
    for name, hosts, engine in _PROOFS:
        if arguments.engine in (None, engine):
            row = _proof(name, hosts, engine, seeds, arguments.seconds)
            yield row
            if (name, hosts) in _ASKED and engine == "cp-sat":
                report.at_least(
                    f"{name}, {hosts} hosts: proven", len(seeds), int(row[3].split()[0])
                )


_PROOF_HEADING = ("algorithm", "hosts", "engine", "proven", "improved", "CPU seconds", "gap if not")


def _proof(
    name: str, hosts: int, engine: Engine, seeds: Sequence[int], limit_s: float
) -> Sequence[str]:
    form = find(name).form(hosts)
    verdicts: list[ProofResult] = []
    seconds: list[float] = []
    better = 0
    for seed in seeds:
        distance = _some_hosts(hosts, seed)
        start = search_by_latency(form, distance, seed=seed, time_limit_s=_SEARCH_S)
        before_s = time.process_time()
        verdicts.append(prove(form, distance, start.order, limit_s, engine))
        seconds.append(time.process_time() - before_s)
        better += verdicts[-1].cost < start.cost * (1.0 - 1e-9)
    proven = [one for one in verdicts if one.outcome == "optimal"]
    gaps = [1.0 - one.lower_bound / one.cost for one in verdicts if one.outcome != "optimal"]
    return (
        name,
        str(hosts),
        engine,
        f"{len(proven)} of {len(verdicts)}",
        str(better),
        f"{statistics.median(seconds):.1f} ({min(seconds):.1f} to {max(seconds):.1f})",
        f"{statistics.median(gaps):.0%}" if gaps else "",
    )


def _some_hosts(hosts: int, seed: int) -> Matrix:
    """The first hosts of a data centre of 64 in racks of 16, whose labels are drawn."""
    return np.ascontiguousarray(FAMILIES["uniform"](64, seed).distance[:hosts, :hosts])


_GAP_HEADING = (
    "algorithm", "hosts", "best found", *(f"gap, {limit_s:g} s" for limit_s in _BOUND_LIMITS_S),
)  # fmt: skip


def _gap(name: str, hosts: int, seeds: Sequence[int]) -> Sequence[str]:
    form = find(name).form(hosts)
    costs: list[float] = []
    gaps: list[list[float]] = [[] for _ in _BOUND_LIMITS_S]
    for family in FAMILIES.values():
        for seed in seeds:
            distance = family(hosts, seed).distance
            cost = search_by_latency(form, distance, seed=seed, time_limit_s=_KNOWN_S).cost
            costs.append(cost)
            for limit_s, found in zip(_BOUND_LIMITS_S, gaps, strict=True):
                bound = lower_bound(form, distance, Deadline(limit_s))
                if bound > cost * (1.0 + 1e-9):
                    raise SystemExit(f"{name} {hosts}: an order costs {cost}, the bound is {bound}")
                found.append(1.0 - bound / cost)
    return (
        name,
        str(hosts),
        f"{statistics.mean(costs):.0f} µs",
        *(f"{statistics.mean(found):.1%}" for found in gaps),
    )
