"""Holding interrupts back while children are ended, so that a second Ctrl-C does not lose them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C, SIGTERM and SIGHUP inside, for work that takes seconds and ends a bench.

    Signals whose handler is not Python's keep it. Outside the main thread, where no signal
    interrupts anything, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A handler that does nothing, and not SIG_IGN, which programs started meanwhile would inherit.
    before = {
        number: signal.signal(number, lambda _number, _frame: None)
        for number in _INTERRUPTS
        if callable(signal.getsignal(number))
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
