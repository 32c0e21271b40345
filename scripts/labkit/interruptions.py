"""Ctrl-C and its relatives: raised as KeyboardInterrupt, and held back where they would do harm."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import NoReturn

INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def raise_interruptions() -> None:
    """Let them raise KeyboardInterrupt from now on, also where our starter held them back."""
    for number in INTERRUPTIONS:
        signal.signal(number, _raise_interrupt)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTIONS)


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Interruptions wait until the end of the block; programs started in it inherit that."""
    signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTIONS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTIONS)


def _raise_interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt
