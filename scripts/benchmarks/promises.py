"""Promises of the order searches, checked at every size, in one run.

The tables are those of the benchmarks `limits`, `large`, `ring`, `annealers` and `trees`: time
limits, time and memory of large clusters, rings beside fast-tsp, rounds and trees beside a plain
annealer, and how near bounds are. DATA has latency/ (measured matrices as CSV); without it, what
needs them is left out.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator
from pathlib import Path

from benchkit.annealing_cases import is_whole
from benchkit.arguments import numbers
from benchkit.catalogue import BY_NAME
from benchkit.entry import parser_of
from benchkit.report import Report

EXAMPLE = "--hosts 64,1024 --data DATA"
QUICK = "--hosts 64"

# Below this, no file is so large that reading it takes time.
_LARGE = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--data", metavar="DATA", type=Path, help="a folder with latency/")
    sizes = [64, 256, 1024, 2048, 4096, 8192]
    parser.add_argument("--hosts", type=numbers, default=sizes, help="sizes, for limits and large")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Print all tables."""
    for name, argv in parts(arguments.hosts, arguments.data):
        module = importlib.import_module(BY_NAME[name].module)
        report.say(f"`scripts/bench {' '.join([name, *argv])}`: {BY_NAME[name].text}")
        module.run(parser_of(BY_NAME[name], module).parse_args(argv), report)


def parts(hosts: list[int], data: Path | None) -> Iterator[tuple[str, list[str]]]:
    """The benchmarks that are run, with their arguments."""
    yield "limits", ["--hosts", ",".join(map(str, hosts))]
    if large := [each for each in hosts if each >= _LARGE]:
        yield "large", ["--hosts", ",".join(map(str, large))]
    if data is not None:
        yield "ring", [str(data), "--only", "plane"]
        matrices = data / "latency"
        yield "annealers", ["--data", str(matrices)]
        whole = [path for path in sorted(matrices.glob("*.csv")) if is_whole(path)]
        yield "trees", ["--matrices", *map(str, whole)]
    else:
        yield "annealers", []
        yield "trees", []
