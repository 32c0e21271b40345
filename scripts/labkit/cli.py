"""The command line of `scripts/lab`."""

from __future__ import annotations

import os
import sys

from labkit import commands, rootless
from labkit.arguments import parser
from labkit.errors import EXIT_FAILED, EXIT_INTERRUPTED, LabError
from labkit.interruptions import raise_interruptions


def main() -> int:
    """Run the command line; return the exit code."""
    arguments = parser().parse_args()
    outside = os.geteuid() != 0 and arguments.inside is None
    table = rootless.COMMANDS if outside else commands.COMMANDS
    try:
        raise_interruptions()
        return table[arguments.command](arguments)
    except LabError as error:
        return _print_error(str(error), error.hint, error.exit_code)
    except BrokenPipeError:
        # The reader of the output has left; a second write at shutdown would raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except OSError as error:
        return _print_error(str(error), None, EXIT_FAILED)
    except KeyboardInterrupt:
        return _print_error("interrupted", None, EXIT_INTERRUPTED)


def _print_error(message: str, hint: str | None, exit_code: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
    return exit_code
