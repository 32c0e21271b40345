"""Processor time and memory of cluster files, orders and groups as hosts grow.

Every row is one `plink` in a process of its own, with its peak of resident memory, which is told in
copies, too: how many times a matrix of N x N numbers of 8 bytes goes into what it takes beyond the
same command with 16 hosts. Pages of a mapped file that were looked at count. Beside the binary form
stands JSON, up to --most-in-json hosts. The matrix is a random data centre of racks of 16 in pods
of 16, with both directions measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchkit.arguments import words
from benchkit.report import Report

EXAMPLE = "--hosts 1024,2048 --seed 3"
QUICK = "--hosts 128 --most-in-json 128"

_HEADER = ("hosts", "form", "verb", "processor, s", "peak, MiB", "copies", "file, MB")
_RACK = 16
_US = (20.0, 60.0, 110.0)
_MOST_COPIES = 4.0
_FEW = 16
# Of fewer hosts a matrix is less than what a process takes at one time or another.
_LEAST_JUDGED = 1024
# Seconds of processor for an import.
_ASKED_S = {2048: 2.0, 4096: 8.0}
_LIMIT_S = 1800


@dataclass(frozen=True)
class _Cost:
    cpu_s: float
    peak_mib: float
    is_done: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.add_argument("--hosts", default="1024,2048,4096,8192", help="numbers of hosts")
    parser.add_argument("--most-in-json", type=int, default=2048, help="hosts of the JSON form")
    parser.add_argument("--most-grouped", type=int, default=1024, help="hosts of plink group")
    parser.add_argument("--seed", type=int, default=1, help="of the matrix")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        _write_matrix(Path(folder) / "matrix.csv", _FEW, arguments.seed)
        idle = {
            verb: _cost(command, Path(folder)).peak_mib
            for verb, command in _commands("cluster.npz").items()
        }
        rows: list[tuple[object, ...]] = []
        for hosts in map(int, words(arguments.hosts)):
            for row in _rows(hosts, arguments, Path(folder), idle):
                rows.append(row)
                _judge(row, report)
        report.table(_HEADER, rows, "Large clusters")


def _rows(
    hosts: int, arguments: argparse.Namespace, folder: Path, idle: Mapping[str, float]
) -> Iterator[tuple[object, ...]]:
    matrix = folder / "matrix.csv"
    _write_matrix(matrix, hosts, arguments.seed)
    forms = ["npz", *(["json"] if hosts <= arguments.most_in_json else [])]
    for form in forms:
        file = f"cluster.{form}"
        for verb, command in _commands(file).items():
            if verb == "group" and hosts > arguments.most_grouped:
                continue
            cost = _cost(command, folder)
            copies = (cost.peak_mib - idle[verb]) / (hosts * hosts * 8 / 2**20)
            done = f"{cost.cpu_s:.1f}" if cost.is_done else "failed"
            size = f"{(folder / file).stat().st_size / 1e6:.0f}"
            yield hosts, form, verb, done, f"{cost.peak_mib:.0f}", f"{copies:.1f}", size


def _commands(file: str) -> dict[str, list[str]]:
    """What is measured, by name."""
    return {
        "import": ["import", "matrix.csv", "-o", file],
        "export": ["export", file, "-o", "again.csv"],
        "order": ["order", file, "-o", "order.json", "--seed", "1"],
        "group": ["group", file, "-o", f"grouped-{file}"],
    }


def _write_matrix(path: Path, hosts: int, seed: int) -> None:
    rng = np.random.default_rng([seed, hosts])
    rack = rng.permutation(np.arange(hosts) // _RACK)
    names = [f"h{host:05d}" for host in range(hosts)]
    with path.open("w", encoding="ascii") as stream:
        stream.write(",".join(["us", *names]) + "\n")
        for host, name in enumerate(names):
            near, nearer, far = rack == rack[host], rack // _RACK == rack[host] // _RACK, _US[2]
            row = np.where(near, _US[0], np.where(nearer, _US[1], far)) * rng.lognormal(
                0.0, 0.05, hosts
            )
            row[host] = 0.0
            stream.write(",".join([name, *map("%.4f".__mod__, row.tolist())]) + "\n")


def _cost(command: Sequence[str], folder: Path) -> _Cost:
    process = subprocess.Popen(
        ["timeout", str(_LIMIT_S), sys.executable, "-m", "plink", *command],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    # 3: done, with something to be said of it.
    return _Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, code in (0, 3))


def _judge(row: tuple[object, ...], report: Report) -> None:
    hosts, form, verb, cpu_s, _, copies, _ = row
    if form != "npz" or not isinstance(hosts, int) or hosts < _LEAST_JUDGED:
        return
    name = f"{verb} of {hosts:,} hosts"
    if verb == "import" and hosts in _ASKED_S:
        seconds = float(str(cpu_s)) if cpu_s != "failed" else float("nan")
        report.at_most(f"{name}, processor", _ASKED_S[hosts], seconds, "s")
    if verb in ("import", "order"):
        report.at_most(f"{name}, peak", _MOST_COPIES, float(str(copies)), "copies")
