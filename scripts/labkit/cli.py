"""The command line of `scripts/lab`."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from labkit import commands, rootless
from labkit.arguments import parser
from labkit.errors import EXIT_FAILED, EXIT_INTERRUPTED, LabError


def main() -> int:
    """Run the command line; return the exit code."""
    arguments = parser().parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    outside = os.geteuid() != 0 and arguments.inside is None
    table = rootless.COMMANDS if outside else commands.COMMANDS
    try:
        return table[arguments.command](arguments)
    except LabError as error:
        return _complain(str(error), error.hint, error.exit_code)
    except OSError as error:
        return _complain(str(error), None, EXIT_FAILED)
    except KeyboardInterrupt:
        return _complain("interrupted", None, EXIT_INTERRUPTED)


def _complain(message: str, hint: str | None, exit_code: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
    return exit_code


def _interrupted(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt
