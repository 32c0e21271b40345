"""Time limits of orders kept or missed: every algorithm and objective, few hosts to thousands.

Reading a cluster file is not counted; see what that takes with `plink show`. Where other work has
the processors, the clock on the wall says little, and what an order takes of them counts.
"""

from __future__ import annotations

import argparse

from benchkit import limited_orders
from benchkit.arguments import numbers, words
from benchkit.limited_orders import OBJECTIVES, Case, Outcome, allowed_s, cluster_of
from benchkit.report import Report

EXAMPLE = "--hosts 64,1024 --algorithms ring,tree --limit 2"
QUICK = "--hosts 64 --algorithms ring,tree --objectives latency --limit 0.2"

HEADER = ("algorithm", "objective", "hosts", "slots", "wall, s", "cpu, s", "random", "gap", "kept")
_LATE = "no"
_ALGORITHMS = "ring,tree,halving-doubling,all-to-all,openmpi-linear,mpich-tree-knomial"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--hosts", type=numbers, default=[64, 256, 1024, 2048, 4096], help="sizes")
    parser.add_argument("--slots", type=numbers, default=[1], help="of every host")
    parser.add_argument("--algorithms", type=words, default=words(_ALGORITHMS), help="names")
    parser.add_argument("--objectives", type=words, default=list(OBJECTIVES), help="names")
    parser.add_argument("--limit", type=float, default=2.0, help="seconds")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    rows = []
    for hosts in arguments.hosts:
        cluster_of(hosts)
        for slots in arguments.slots:
            for algorithm in arguments.algorithms:
                for objective in arguments.objectives:
                    case = Case(algorithm, objective, hosts, slots)
                    rows.append(
                        _row(case, limited_orders.run(case, arguments.limit), arguments.limit)
                    )
    report.table(HEADER, rows)
    late = sum(row[-1] == _LATE for row in rows)
    report.at_most(f"of {len(rows)} orders, those that ended late", 0, late)


def _row(case: Case, found: Outcome, limit_s: float) -> tuple[object, ...]:
    what = (case.algorithm, case.objective, case.hosts, case.slots)
    took = (f"{found.wall_s:.2f}", f"{found.cpu_s:.2f}")
    if found.order is None:
        return (*what, *took, "refused", "-", _format_verdict(found, limit_s))
    gap = f"{100 * found.order.gap:.1f} %" if found.order.cost.lower_bound_us else "no bound"
    return (*what, *took, found.order.random_orders, gap, _format_verdict(found, limit_s))


def _format_verdict(found: Outcome, limit_s: float) -> str:
    """Return whether the limit was kept, by wall-clock time or else by processor time."""
    if found.wall_s <= allowed_s(limit_s):
        return "yes"
    return "by cpu" if found.cpu_s <= allowed_s(limit_s) else _LATE
