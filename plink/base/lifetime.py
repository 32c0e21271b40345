"""What Ctrl-C, SIGTERM and SIGHUP do, from a command's first moment to its last.

A command has three parts. Until its module is imported there is nothing to keep, and an interrupt
ends the process. While it runs, an interrupt is a `KeyboardInterrupt`, so that results so far are
kept and hosts are left as they were. Once its result is out, an interrupt ends the process as it
would have ended. Signals that are ignored, as `nohup` has it, stay ignored.

This is imported first of all, and imports next to nothing itself.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys

from plink.base.errors import EXIT_INTERRUPTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_when_interrupted() -> None:
    """Let an interrupt end the process, for as long as there is nothing to keep."""
    for number in INTERRUPTS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, _say_and_end)


def raise_when_interrupted() -> None:
    """Let an interrupt raise `KeyboardInterrupt` from now on, where it would end the process.

    In a program that uses plink's commands without `end_when_interrupted` nothing changes.
    """
    for number in INTERRUPTS:
        if signal.getsignal(number) is _say_and_end:
            sys.unraisablehook = interrupt_again
            signal.signal(number, signal.default_int_handler)


def end_with(exit_code: int) -> None:
    """Let an interrupt end the process with this code, which it is about to end with."""
    for number in INTERRUPTS:
        if callable(signal.getsignal(number)):
            signal.signal(number, lambda _number, _frame: os._exit(exit_code))


def _say_and_end(_number: int, _frame: FrameType | None) -> None:
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(EXIT_INTERRUPTED)


def interrupt_again(unraisable: UnraisableHookArgs) -> None:
    """Deliver anew an interrupt that came in a finaliser, where Python would drop it."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        # From another thread, or it would come while this hook is still at work.
        _thread.start_new_thread(os.kill, (os.getpid(), signal.SIGINT))
    else:
        sys.__unraisablehook__(unraisable)
