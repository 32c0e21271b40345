"""`scripts/bench`: the table of benchmarks, or one of them."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from benchkit.catalogue import BY_NAME, CATALOGUE, Benchmark
from benchkit.other_work import BUSY, QUIET, other_work
from benchkit.report import Report

PROGRAM = "scripts/bench"
USAGE = f"""usage: {PROGRAM} [--list]
       {PROGRAM} NAME [ARGUMENT...]
       {PROGRAM} NAME --help

example: {PROGRAM} rounds --racks 8 --hosts 8"""
# No target depends on them, or they stand for others.
_INDIFFERENT = ("help", "json", "keep", "only", "quick")
_FAILED, _WRONG_USE, _INTERRUPTED = 1, 2, 130


def main(argv: Sequence[str]) -> int:
    """List the benchmarks, or run one; the exit code."""
    if not argv or argv[0] == "--list":
        print(listing())
        return 0
    name, *rest = argv
    if name in ("-h", "--help"):
        print(f"{USAGE}\n\n{listing()}")
        return 0
    if name not in BY_NAME:
        return _complain(f"no benchmark is called {name}", f"{PROGRAM} --list", _WRONG_USE)
    # What was made is taken down, as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _run(BY_NAME[name], rest)
    except ModuleNotFoundError as error:
        hint = "run it with .venv/bin/python, which scripts/test sets up"
        return _complain(f"{name} needs {error.name}, which is not installed", hint, _FAILED)
    except KeyboardInterrupt:
        return _INTERRUPTED


def listing() -> str:
    """The table: name, what it shows, what it needs, how long it takes."""
    rows = [("benchmark", "shows", "needs", "takes about")]
    rows += [(one.name, one.text, one.needs or "-", one.takes) for one in CATALOGUE]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def parser_of(benchmark: Benchmark, module: ModuleType) -> argparse.ArgumentParser:
    """Its own options, and those of all."""
    command = f"{PROGRAM} {benchmark.name}"
    parser = argparse.ArgumentParser(
        prog=command,
        description=module.__doc__,
        epilog=f"example: {command} {module.EXAMPLE}",
        formatter_class=_Formatter,
    )
    module.add_arguments(parser)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write what was measured, too")
    parser.add_argument("--busy", action="store_true", help="beside a busy loop on every core")
    parser.add_argument("--quick", action="store_true", help=f"as with {module.QUICK}")
    return parser


class _Formatter(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    def _get_help_string(self, action: argparse.Action) -> str | None:
        # Nothing, and "no", need not be said.
        if action.default is None or action.default is False:
            return action.help
        return super()._get_help_string(action)


def _run(benchmark: Benchmark, argv: Sequence[str]) -> int:
    module = importlib.import_module(benchmark.module)
    parser = parser_of(benchmark, module)
    arguments = parser.parse_args(argv)
    if arguments.quick:
        # What is given beside it holds.
        arguments = parser.parse_args([*module.QUICK.split(), *argv])
    report = Report()
    with other_work(BUSY if arguments.busy else QUIET):
        module.run(arguments, report)
    given = vars(arguments)
    report.conclude(
        [
            action.option_strings[-1]
            for action in parser._actions
            if action.option_strings
            and action.dest not in _INDIFFERENT
            and given[action.dest] != action.default
        ]
    )
    if arguments.json is not None:
        report.write(arguments.json, benchmark.name, given)
    return 0


def _complain(message: str, hint: str, code: int) -> int:
    print(f"error: {message}\nhint: {hint}", file=sys.stderr)
    return code
