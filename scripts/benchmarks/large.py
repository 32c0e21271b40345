"""Processor time and memory of every verb that reads a large cluster, as hosts grow.

Every row is one `plink` in a process of its own, with its peak of resident memory, which is told in
copies, too: how many times a matrix of N x N numbers of 8 bytes goes into what it takes beyond the
same command with 16 hosts. Pages of a mapped file that were looked at count. Beside the binary form
stands JSON, for import and a ring, up to --most-in-json hosts. A command that is not done after
--limit seconds is ended, and its row says so. Plans are made of up to --most-planned hosts, of the
groups that were found before. The matrix is a random data centre of racks of 16 in pods
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

EXAMPLE = "--hosts 1024,2048 --verbs import,order --seed 3"
QUICK = "--hosts 128 --most-in-json 128 --verbs import,order"

_HEADER = ("hosts", "form", "verb", "processor, s", "peak, MiB", "copies", "file, MB")
_RACK = 16
_US = (20.0, 60.0, 110.0)
_MOST_COPIES = 4.0
_FEW = 16
# Of fewer hosts a matrix is less than what a process takes at one time or another.
_LEAST_JUDGED = 1024
# Seconds of processor for an import.
_ASKED_S = {2048: 2.0, 4096: 8.0}
# What `timeout` ends with where it ended something.
_TIMED_OUT = 124
_VERBS = ("import", "export", "order", "show", "predict", "report", "group", "plan")
# Of orders.
_SEARCH_S = "5"
# Not in JSON, which takes the same but for reading it.
_IN_JSON = ("import", "order ring")


@dataclass(frozen=True)
class _Cost:
    cpu_s: float
    peak_mib: float
    ended: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--hosts", default="1024,2048,4096,8192", help="numbers of hosts")
    parser.add_argument("--most-in-json", type=int, default=2048, help="hosts of the JSON form")
    parser.add_argument("--most-grouped", type=int, default=4096, help="hosts of plink group")
    parser.add_argument("--most-planned", type=int, default=2048, help="hosts of plink plan")
    parser.add_argument("--verbs", default=",".join(_VERBS), help="what to measure, import first")
    parser.add_argument("--limit", type=int, default=300, help="seconds of a command")
    parser.add_argument("--seed", type=int, default=1, help="of the matrix")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        _write_matrix(Path(folder) / "matrix.csv", _FEW, arguments.seed)
        idle = {
            name: _cost(command, Path(folder), arguments.limit).peak_mib
            for name, command in _commands("cluster.npz", words(arguments.verbs))
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
    most = {"group": arguments.most_grouped, "plan": arguments.most_planned}
    forms = ["npz", *(["json"] if hosts <= arguments.most_in_json else [])]
    for form in forms:
        file = f"cluster.{form}"
        for name, command in _commands(file, words(arguments.verbs)):
            is_left_out = form == "json" and name not in _IN_JSON
            if is_left_out or hosts > most.get(name, hosts):
                continue
            cost = _cost(command, folder, arguments.limit)
            copies = (cost.peak_mib - idle[name]) / (hosts * hosts * 8 / 2**20)
            done = cost.ended or f"{cost.cpu_s:.1f}"
            size = f"{(folder / file).stat().st_size / 1e6:.0f}"
            yield hosts, form, name, done, f"{cost.peak_mib:.0f}", f"{copies:.1f}", size


def _commands(file: str, verbs: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the command of everything that is measured."""
    grouped = f"grouped-{file}"
    order = ["order", file, "-o", "order.json", "--seed", "1", "--time-limit", _SEARCH_S]
    commands = {
        "import": ["import", "matrix.csv", "-o", file],
        "export": ["export", file, "-o", "again.csv"],
        **{
            f"order {algorithm}": [*order, "--algo", algorithm]
            for algorithm in ("ring", "tree", "halving-doubling")
        },
        "order of two slots": [*order, "--slots", "2"],
        "show": ["show", file],
        "predict": ["predict", file, "--size", "20MB", "--algo", "halving-doubling"],
        "report": ["report", file, "-o", "report.html"],
        "group": ["group", file, "-o", grouped],
        "plan": ["plan", grouped, "-o", "plan.json"],
    }
    for name, command in commands.items():
        if command[0] in verbs:
            yield name, command


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


def _cost(command: Sequence[str], folder: Path, limit_s: int) -> _Cost:
    process = subprocess.Popen(
        ["timeout", str(limit_s), sys.executable, "-m", "plink", *command],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    # 3: done, with something to be said of it.
    ended = "" if code in (0, 3) else f"over {limit_s} s" if code == _TIMED_OUT else "failed"
    return _Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, ended)


def _judge(row: tuple[object, ...], report: Report) -> None:
    hosts, form, verb, cpu_s, _, copies, _ = row
    if form != "npz" or not isinstance(hosts, int) or hosts < _LEAST_JUDGED:
        return
    name = f"{verb} of {hosts:,} hosts"
    if verb == "import" and hosts in _ASKED_S:
        seconds = float(str(cpu_s)) if str(cpu_s)[0].isdigit() else float("nan")
        report.at_most(f"{name}, processor", _ASKED_S[hosts], seconds, "s")
    if verb == "import" or str(verb).startswith("order"):
        report.at_most(f"{name}, peak", _MOST_COPIES, float(str(copies)), "copies")
