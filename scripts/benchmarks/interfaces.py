"""An all-reduce over several interfaces of unequal rates: turn by turn, and balanced.

Hosts whose interfaces are each in a network of their own, limited by `tc`. The limit is what an
all-reduce takes if every network carries what its slowest interface lets through.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchkit.arguments import words
from benchkit.interfaces import address, hosts_with_interfaces
from benchkit.plans import TCP_SHARE, as_json
from benchkit.processes import outputs, program, start_processes, tell
from benchkit.report import Report
from plink.solvers.forests.kinds import flat, ring

EXAMPLE = "--shapes 400+100,ring --repetitions 5"
QUICK = "--shapes 400+100 --repetitions 2 --settling 4"
HEADER = (
    "hosts, interfaces in Mbit/s",
    "plan",
    "MB",
    "limit",
    "turn by turn",
    "of the limit",
    "balanced (least)",
    "of the limit",
    "shares",
)
_LEAST_PERCENT = 90


@dataclass(frozen=True)
class Shape:
    """Hosts, their interfaces, and what is reduced over them.

    Args:
        rates_mbit_s: by host, of each interface.
        size_mb: of the buffer.
        plan: flat or ring.
    """

    rates_mbit_s: Sequence[tuple[int, ...]]
    size_mb: int
    plan: str = "flat"

    @property
    def text(self) -> str:
        """Format the result as text for people."""
        hosts = ["+".join(map(str, rates)) for rates in self.rates_mbit_s]
        return ", ".join(f"{hosts.count(one)} of {one}" for one in dict.fromkeys(hosts))

    @property
    def limit_s(self) -> float:
        """Return the least time: a host's bytes over the rate of all its networks together."""
        ranks = len(self.rates_mbit_s)
        carried_mbit_s = sum(min(rates) for rates in zip(*self.rates_mbit_s, strict=True))
        sent_mbit = 2 * (ranks - 1) / ranks * 8 * self.size_mb
        return float(sent_mbit / carried_mbit_s / TCP_SHARE)


SHAPES = {
    "400+400": Shape([(400, 400)] * 2, 20),
    "400+100": Shape([(400, 100)] * 2, 20),
    "300+170": Shape([(300, 170)] * 2, 10),
    "300+30": Shape([(300, 30)] * 2, 10),
    "200+90+40": Shape([(200, 90, 40)] * 2, 10),
    "200+40": Shape([(200, 40)] * 4, 10),
    "ring": Shape([(200, 40)] * 4, 10, "ring"),
    "one-slow": Shape([(200, 50), *[(200, 200)] * 3], 10),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--shapes", type=words, default=list(SHAPES), help=f"of {','.join(SHAPES)}")
    parser.add_argument("--repetitions", type=int, default=7, help="turn by turn, then balanced")
    parser.add_argument("--settling", type=int, default=24, help="all-reduces between the two")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    unknown = set(arguments.shapes) - SHAPES.keys()
    if unknown:
        raise SystemExit(f"error: no shape is called {', '.join(unknown)}: see --help")
    reached: dict[str, float] = {}
    report.table(HEADER, _rows(arguments, reached))
    report.measured = reached
    for name, percent in reached.items():
        report.at_least(f"{name}: balanced, of the limit", _LEAST_PERCENT, percent, "%")


def _rows(arguments: argparse.Namespace, reached: dict[str, float]) -> Iterator[tuple[str, ...]]:
    for name in arguments.shapes:
        shape = SHAPES[name]
        answers = _measure_shape(shape, arguments)
        turn_by_turn_s = _together([answer["turn by turn"] for answer in answers])
        balanced_s = _together([answer["balanced"] for answer in answers])
        reached[name] = 100 * shape.limit_s / statistics.median(balanced_s)
        yield (
            shape.text,
            shape.plan,
            str(shape.size_mb),
            f"{shape.limit_s:.3f} s",
            f"{statistics.median(turn_by_turn_s):.3f} s",
            f"{100 * shape.limit_s / statistics.median(turn_by_turn_s):.0f} %",
            f"{statistics.median(balanced_s):.3f} s ({min(balanced_s):.3f})",
            f"{reached[name]:.0f} %",
            " / ".join(f"{share:.2f}" for share in answers[0]["shares"]),
        )


def _measure_shape(shape: Shape, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the measurements of every rank, one on each host."""
    ranks = len(shape.rates_mbit_s)
    forest = ring(range(ranks)) if shape.plan == "ring" else flat(np.ones(ranks))
    with (
        hosts_with_interfaces(shape.rates_mbit_s) as hosts,
        tempfile.TemporaryDirectory(prefix="plink-bench-") as folder,
        start_processes([host.command(program("interfaces_rank")) for host in hosts]) as processes,
    ):
        for rank, process in enumerate(processes):
            task = {
                "rank": rank,
                "ranks": ranks,
                "store": f"{folder}/store",
                "addresses": [address(each, rank) for each in range(len(shape.rates_mbit_s[rank]))],
                "plan": as_json(forest),
                "size_bytes": shape.size_mb * 1_000_000,
                "repetitions": arguments.repetitions,
                "settling": arguments.settling,
            }
            tell(process, task)
        return [json.loads(said) for said in outputs(processes)]


def _together(of_ranks: Sequence[Sequence[float]]) -> list[float]:
    """Seconds of the slowest rank by repetition."""
    return [max(one) for one in zip(*of_ranks, strict=True)]
