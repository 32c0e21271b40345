"""Interrupts, while something must not be cut short. Outside the main thread nothing changes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from plink.base.lifetime import INTERRUPTS


@contextmanager
def held_back_interrupts() -> Iterator[None]:
    """Let the block end before Ctrl-C, SIGTERM or SIGHUP have their effect.

    Raises:
        KeyboardInterrupt: after the block, if one came meanwhile.
    """
    with ignored_interrupts() as came:
        yield
    if came:
        raise KeyboardInterrupt


@contextmanager
def ignored_interrupts() -> Iterator[list[int]]:
    """Ignore Ctrl-C, SIGTERM and SIGHUP, for work of seconds that ends a command.

    Signals whose handler is not Python's keep it. Yields the numbers of those that came.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    # A handler of our own, and not SIG_IGN, which programs started meanwhile would inherit.
    before = {
        number: signal.signal(number, lambda number, _frame: came.append(number))
        for number in INTERRUPTS
        if callable(signal.getsignal(number))
    }
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
