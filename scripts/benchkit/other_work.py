"""Other work on a machine's processors, for the length of a measurement."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

# Each ends with its standard input, hence with who started it.
_UNTIL_INPUT_ENDS = """
import os, sys, threading
os.sched_setaffinity(0, {int(sys.argv[1])})
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
print("busy", flush=True)
"""
BUSY = "a busy loop on every core"
_LOOPS = {
    BUSY: "while True: pass",
    # What an MPI rank does that waits, where it shares its core.
    "a yielding loop on every core": "while True: os.sched_yield()",
    "a loop that copies memory on every core": (
        "block = bytes(1 << 26)\nwhile True: bytearray(block)"
    ),
}
QUIET = "nothing"
KINDS = (QUIET, *_LOOPS)


@contextmanager
def other_work(kind: str, processors: Sequence[int] | None = None) -> Iterator[None]:
    """One of `KINDS` on each of these processors, by default on all that this process may use."""
    if processors is None:
        processors = sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:
        for processor in processors if kind != QUIET else ():
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
