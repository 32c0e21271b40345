"""Runs of local programs that list hosts."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from plink.probes.errors import HostListError, clean
from plink.probes.remote.session import last_line

TIMEOUT_S = 60.0


def output_of(words: Sequence[str], place: str, hint: str) -> bytes:
    """Run a program and return its standard output.

    Args:
        words: the program and its arguments; no shell sees them.
        place: what asked for it, for errors.
        hint: hint of the errors.

    Raises:
        HostListError: there is no such program, it fails, or does not end within `TIMEOUT_S`.
    """
    program = words[0]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except FileNotFoundError:
        raise HostListError(f"{place}: the program {program} is not installed here", hint) from None
    except subprocess.TimeoutExpired:
        message = f"{place}: {program} did not answer within {TIMEOUT_S:g} s"
        raise HostListError(message, hint) from None
    except (OSError, ValueError) as error:
        message = f"{place}: {program} cannot be run ({clean(str(error))})"
        raise HostListError(message, hint) from None
    if done.returncode != 0:
        said = last_line(done.stderr) or f"exit status {done.returncode}"
        raise HostListError(f"{place}: {program} says: {clean(said)}", hint)
    return done.stdout
