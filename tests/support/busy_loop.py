"""Other work on the machine, for the length of a test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

# Ends with its standard input, hence with who started it.
_LOOP = """
import os, sys, threading
os.sched_setaffinity(0, {int(sys.argv[1])})
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
print("busy", flush=True)
while True:
    pass
"""


@contextmanager
def busy_loops(processors: Sequence[int]) -> Iterator[None]:
    """A loop that never rests on each of these processors."""
    with ExitStack() as stack:
        for processor in processors:
            loop = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", _LOOP, str(processor)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            )
            stack.callback(loop.kill)
            assert loop.stdout is not None
            loop.stdout.readline()
        yield
