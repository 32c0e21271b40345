"""Ctrl-C held back while something must not be cut short."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_back_interrupts() -> Iterator[None]:
    """Let the block end first. To be used in the main thread.

    Raises:
        KeyboardInterrupt: after the block, if one came meanwhile.
    """
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
