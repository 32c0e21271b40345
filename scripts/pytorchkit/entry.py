"""`scripts/pytorch-tests`: which tests to run, and what they came to."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytorchkit.differences import BY_NAME
from pytorchkit.outcomes import Outcome, counts, failed_alone, unexpected_outcomes

PROGRAM = "scripts/pytorch-tests"
_FAILED, _WRONG_USE, _INTERRUPTED = 1, 2, 130
_SAID_EVERY = 20


def main(argv: Sequence[str]) -> int:
    """Run them; 0 if plink differs from Gloo only where it is known to."""
    arguments = parser().parse_args(argv)
    prepare(arguments.timeout_s)
    try:
        suite: Any = importlib.import_module("pytorchkit.suite")
        tests = suite.names(arguments.tests)
    except ModuleNotFoundError as error:
        hint = "run it with .venv/bin/python, which scripts/test sets up"
        return _complain(
            f"PyTorch's tests need {error.name}, which is not installed", hint, _FAILED
        )
    except KeyError as error:
        return _complain(f"PyTorch has no test {error}", f"{PROGRAM} runs all", _WRONG_USE)
    found: list[Outcome] = []
    try:
        for one in suite.outcomes(tests, arguments.backends, arguments.ranks):
            found.append(one)
            if len(found) % _SAID_EVERY == 0:
                done = f"{one.ranks} ranks, {one.test} on {one.backend}: {one.came_to}"
                print(f"{len(found)} run, the last with {done}", file=sys.stderr)
    except KeyboardInterrupt:
        return _INTERRUPTED
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(one) for one in found], indent=1))
    return _tell(found)


def prepare(timeout_s: float) -> None:
    """Set what the tests and the ranks read when they start."""
    os.environ.update(
        BACKEND="gloo",
        WORLD_SIZE="2",
        MASTER_ADDR="127.0.0.1",
        DISTRIBUTED_TESTS_DEFAULT_TIMEOUT=f"{timeout_s:.0f}",
        OMP_NUM_THREADS="1",
        PLINK_SOCKET_IFNAME="lo",
        GLOO_SOCKET_IFNAME="lo",
        PYTORCH_PRINT_REPRO_ON_FAILURE="0",
    )


def parser() -> argparse.ArgumentParser:
    """Of the command line."""
    made = argparse.ArgumentParser(
        prog=PROGRAM,
        description=f"{__doc__}\n\nPyTorch's wheel contains the tests (DistributedTest). Those that"
        " need GPUs, NCCL or MPI skip themselves.",
        epilog=f"example: {PROGRAM} --ranks 3 test_all_reduce_sum test_ddp_zero_output_features",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    made.add_argument("tests", nargs="*", metavar="TEST", help="all, if none is named")
    made.add_argument("--ranks", type=_numbers, default="2,3,4", help="processes a group")
    made.add_argument("--backends", type=_backends, default="plink,gloo", help="of the groups")
    made.add_argument("--timeout-s", type=float, default=60.0, help="of a single test")
    made.add_argument("--json", metavar="FILE", type=Path, help="write what each came to, too")
    return made


def _tell(found: Sequence[Outcome]) -> int:
    rows = counts(found)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    for one in failed_alone(found):
        if one.test in BY_NAME:
            print(f"\n{one.test}, {one.ranks} ranks: {BY_NAME[one.test]}")
    strange = unexpected_outcomes(found)
    for one, what in strange:
        print(f"\n{one.test}, {one.ranks} ranks: {what}\n{one.reason}".rstrip())
    return _FAILED if strange else 0


def _numbers(text: str) -> list[int]:
    numbers = [int(part) for part in text.split(",")]
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError("a group has one rank or more")
    return numbers


def _backends(text: str) -> list[str]:
    backends = text.split(",")
    if not set(backends) <= {"plink", "gloo"}:
        raise argparse.ArgumentTypeError("expected plink, gloo or both")
    return backends


def _complain(message: str, hint: str, code: int) -> int:
    print(f"error: {message}\nhint: {hint}", file=sys.stderr)
    return code
