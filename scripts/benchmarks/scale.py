"""Time and memory of `plink probe` as hosts grow: real ones in the lab, more of them simulated.

A simulated row is one `plink probe` in a process of its own with the agents in it too (in place of
SSH), and the reading of the file that it wrote.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchkit.arguments import words
from benchkit.labs import bench_lab
from benchkit.processes import program
from benchkit.programs.simulated_probe import facts
from benchkit.report import Report
from labkit.bound import BOUND

EXAMPLE = "--real '' --simulated 1000:32"
QUICK = "--real 4 --simulated 50:8"

HEADER = (
    "hosts",
    "rounds",
    "directed pairs",
    "connecting and writing, s",
    "probing, s",
    "in all, s",
    "processor, s",
    "reading the file, s",
    "file, MB",
    "memory, MB",
)
_RACK = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--real", default="16,32,64", help="hosts of the lab")
    cases = "100:32,300:32,1000:32,2000:32,300:all"
    parser.add_argument("--simulated", default=cases, help="hosts:rounds")
    parser.add_argument("--granted", action="store_true", help="simulated hosts share a machine")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the tables."""
    if arguments.real:
        rows = (_row(_real(int(hosts))) for hosts in words(arguments.real))
        report.table(HEADER, rows, "Hosts of the lab")
    if arguments.simulated:
        found = [_simulate_probe(case, arguments.granted) for case in words(arguments.simulated)]
        report.table(HEADER, map(_row, found), "Simulated hosts")
        for one in found:
            if (one["hosts"], one["rounds"]) == (1000, 32):
                report.at_most("1,000 simulated hosts, 32 rounds", 60, one["seconds"], "s")
                report.at_most("the same, memory", 500, one["memory_kb"] / 1024, "MB")


def _real(hosts: int) -> dict[str, Any]:
    with bench_lab("--racks", max(1, hosts // _RACK), "--hosts", min(hosts, _RACK)) as lab:
        out = lab.dir / "cluster.json"
        where = [str(lab.dir / "hosts.txt"), "-F", str(lab.dir / "ssh_config"), "-o", str(out)]
        argv = [*BOUND, sys.executable, "-m", "plink", "probe", *where]
        began = time.monotonic()
        process = subprocess.Popen(argv, cwd="/")
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        if status:
            raise SystemExit(f"error: plink probe failed with {hosts} hosts")
        return facts(out, seconds, used)


def _simulate_probe(case: str, is_granted: bool) -> dict[str, Any]:
    argv = [*BOUND, *program("simulated_probe"), case, *(["granted"] if is_granted else [])]
    done = subprocess.run(argv, stdout=subprocess.PIPE, check=True, cwd="/")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _row(found: dict[str, Any]) -> Sequence[object]:
    other_s = found["seconds"] - found["probing_s"]
    return (
        found["hosts"],
        found["rounds"],
        f"{found['pairs']:,}",
        f"{other_s:.1f}, {100 * other_s / found['seconds']:.0f} %",
        f"{found['probing_s']:.1f}",
        f"{found['seconds']:.1f}",
        f"{found['processor_s']:.1f}",
        f"{found['reading_s']:.2f}",
        f"{found['file_bytes'] / 1e6:.1f}",
        f"{found['memory_kb'] / 1024:.0f}",
    )
