"""A lab that lives as long as the program that needs it, however that program ends."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

# This very Python, and not what the first line of the script would find.
PROGRAM = (sys.executable, str(Path(__file__).resolve().parents[1] / "lab"))
DOWN_TIMEOUT_S = 60


@contextlib.contextmanager
def hold_lab(options: Sequence[str]) -> Iterator[None]:
    """A `lab up --hold` with these options: it takes the lab down when its input, our pipe, ends.

    Raises:
        RuntimeError: the lab did not go up; the message has the reason.
    """
    holder = subprocess.Popen(
        [*PROGRAM, "up", "--hold", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What is sent to our whole process group, such as Ctrl-C, must not reach it.
        start_new_session=True,
    )
    try:
        if holder.stdout is None or not holder.stdout.readline():
            _, reason = holder.communicate()
            raise RuntimeError(f"lab up failed: {reason.strip()}")
        yield
    finally:
        holder.communicate(timeout=DOWN_TIMEOUT_S)
