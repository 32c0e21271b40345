"""A stream between two processes of one host: loopback TCP, a Unix socket, shared memory.

One after the other in every repetition, all with buffers of 256 KB, and every byte copied into the
receiver's own memory. It needs g++.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from pathlib import Path

from benchkit.report import Report

EXAMPLE = "--repetitions 3"
QUICK = "--repetitions 2"
ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "plink" / "transport" / "native"
SOURCES = (
    ROOT / "scripts" / "benchkit" / "programs" / "streams.cpp",
    NATIVE / "shared_memory.cpp",
    NATIVE / "socket.cpp",
)
HEADER = ("what", "GB/s, median", "most", "round trip of 4 KB, µs, median", "least")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--repetitions", type=int, default=9, help="of each, in turn")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Build, measure and print the table."""
    with tempfile.TemporaryDirectory(prefix="plink-streams-") as folder:
        program = f"{folder}/streams"
        compiler = ["g++", "-std=c++17", "-O2", "-pthread", f"-I{NATIVE}", "-o", program]
        subprocess.run([*compiler, *map(str, SOURCES)], check=True)
        done = subprocess.run(
            [program, str(arguments.repetitions)], check=True, stdout=subprocess.PIPE, text=True
        )
    rates: dict[str, list[float]] = {}
    trips: dict[str, list[float]] = {}
    for line in done.stdout.splitlines():
        kind, gb_s, trip_us = line.split()
        rates.setdefault(kind, []).append(float(gb_s))
        trips.setdefault(kind, []).append(float(trip_us))
    rows = [
        (
            kind,
            f"{statistics.median(rates[kind]):.2f}",
            f"{max(rates[kind]):.2f}",
            f"{statistics.median(trips[kind]):.1f}",
            f"{min(trips[kind]):.1f}",
        )
        for kind in rates
    ]
    report.table(HEADER, rows)
