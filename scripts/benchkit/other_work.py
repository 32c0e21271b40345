"""Other work on every processor of the machine, for the length of a measurement."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

# Each ends with its standard input, hence with who started it.
_UNTIL_INPUT_ENDS = """
import os, sys, threading
os.sched_setaffinity(0, {int(sys.argv[1])})
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
print("busy", flush=True)
"""
_LOOPS = {
    "a busy loop on every core": "while True: pass",
    # What an MPI rank does that waits, where it shares its core.
    "a yielding loop on every core": "while True: os.sched_yield()",
    "a loop that copies memory on every core": (
        "block = bytes(1 << 26)\nwhile True: bytearray(block)"
    ),
}
QUIET = "nothing"
KINDS = (QUIET, *_LOOPS)


@contextmanager
def other_work(kind: str) -> Iterator[None]:
    """One of `KINDS`, on every processor that this process may use."""
    with ExitStack() as stack:
        for processor in sorted(os.sched_getaffinity(0)) if kind != QUIET else ():
            program = _UNTIL_INPUT_ENDS + _LOOPS[kind]
            loop = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", program, str(processor)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            )
            stack.callback(loop.kill)
            # It says when it has begun.
            next(iter(loop.stdout or ()), None)
        yield
