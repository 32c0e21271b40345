"""Run many command lines in one process, each with a standard error of its own.

The arguments: how standard error is (`usual`, `full`, `closed` or `gone`, a pipe that nobody
reads), a JSON list of command lines, in which OUT stands for that word, and the file that gets a
JSON list of the exit codes.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from plink.cli import main


def take_error_stream(kind: str) -> None:
    """Make descriptor 2, and Python's standard error, be of this kind."""
    if kind == "closed":
        os.close(2)
        sys.stderr = None  # type: ignore[assignment]
        return
    if kind == "full":
        descriptor = os.open("/dev/full", os.O_WRONLY)
    elif kind == "gone":
        reading, descriptor = os.pipe()
        os.close(reading)
    else:
        descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    # As Python opens it.
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115


def exit_code(arguments: list[str]) -> object:
    """What plink exits with."""
    try:
        main(arguments)
    except SystemExit as error:
        return error.code
    except BaseException as error:
        return repr(error)
    return None


def run_all(kind: str, lines: list[list[str]]) -> list[object]:
    """The exit codes."""
    codes = []
    for line in lines:
        take_error_stream(kind)
        codes.append(exit_code([word.replace("OUT", kind) for word in line]))
    return codes


if __name__ == "__main__":
    kind, lines = sys.argv[1], json.loads(sys.argv[2])
    Path(sys.argv[3]).write_text(json.dumps(run_all(kind, lines)))
