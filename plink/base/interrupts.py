"""Handling of SIGINT, SIGTERM and SIGHUP for the whole run of a command.

Until a verb's function is called, nothing has to be kept, and an interrupt ends the process. From
then on an interrupt becomes a `KeyboardInterrupt` in plink's own code or in one of the waits of
`_WAITS`. Where it arrives in the code of somebody else (an import, NumPy, a finaliser), it is kept
until that code returns to plink. Once the result is printed, an interrupt ends the process with
the code that it would have ended with. Signals that are ignored, as `nohup` has it, stay ignored.

Entry points install these handlers (`plink.__main__`); programs that import plink keep their own.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from contextlib import contextmanager

from plink.base.errors import EXIT_INTERRUPTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from sys import UnraisableHookArgs
    from types import FrameType
    from typing import Any

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Functions of the standard library that wait, and can be left by an exception.
_WAITS = {
    "concurrent.futures._base": {"as_completed", "result", "result_iterator", "exception", "wait"},
    "concurrent.futures.thread": {"shutdown"},
    "multiprocessing.connection": {"wait"},
    "queue": {"get", "put"},
    "selectors": {"select"},
    "socket": {"accept", "create_connection", "getaddrinfo", "readinto"},
    "ssl": {"read", "recv", "recv_into", "do_handshake"},
    "subprocess": {"_communicate", "_try_wait", "_wait", "communicate", "wait"},
    "threading": {"_wait_for_tstate_lock", "join", "wait", "wait_for"},
}
# Modules through which an exception from plink's code may pass.
_PASSED_THROUGH = {"__main__", "_thread", "contextlib", "functools", *_WAITS}
# The functions that call a verb, the second one with the context; what is outside of them belongs
# to no verb.
_VERB_CALLERS = {("click.core", "invoke"), ("click.decorators", "new_func")}
# Functions that an exception would leave half done (clean-up, also that of context managers made
# from generators), or in which Python would drop it.
_UNINTERRUPTED = {"__del__", "__exit__", "__aexit__"}
# Seconds between two looks whether a kept interrupt can be raised.
_LOOK_AGAIN_S = 0.01
# Seconds between a signal and the times at which the main thread is woken.
_WAKE_AFTER_S = (0.01, 0.1, 0.5)
# Seconds after which a second interrupt ends a process that has not come to its first one.
_PATIENCE_S = 2.0


class _Pending:
    """Interrupt that waits until plink's own code runs, so that no library is cut short.

    Args:
        since_s: time at which it arrived; None where none waits.
        is_look: the next signal is sent by this process, to look again.
        is_traced: lines of plink's frames are traced, to raise it at the next one.
    """

    since_s: float | None = None
    is_look = False
    is_traced = False


def end_when_interrupted() -> None:
    """Make interrupts end the process at once, while there is no result to keep."""
    for number in INTERRUPTS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, _say_and_end)


def raise_when_interrupted() -> None:
    """Make interrupts raise `KeyboardInterrupt` instead of ending the process.

    In a program that uses plink's commands without `end_when_interrupted` nothing changes.
    """
    numbers = [number for number in INTERRUPTS if signal.getsignal(number) is _say_and_end]
    for number in numbers:
        signal.signal(number, _raise_or_keep)
    if numbers:
        sys.unraisablehook = interrupt_again
        _end_waits_that_missed_a_signal()


def end_with(exit_code: int) -> None:
    """Make an interrupt end the process with the exit code that it is about to exit with."""
    _forget_pending()
    for number in INTERRUPTS:
        if callable(signal.getsignal(number)):
            signal.signal(number, lambda _number, _frame: os._exit(exit_code))


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Defer SIGINT, SIGTERM and SIGHUP until the block has ended.

    Raises:
        KeyboardInterrupt: after the block, if one came meanwhile.
    """
    with ignore_interrupts() as came:
        yield
    if came:
        _forget_pending()
        raise KeyboardInterrupt


@contextmanager
def ignore_interrupts() -> Iterator[list[int]]:
    """Ignore SIGINT, SIGTERM and SIGHUP in the block; yield a list of those that came meanwhile.

    Signals whose handler is not Python's keep it, as do all of them in other threads than the main
    one. For a command's last seconds of work.
    """
    came: list[int] = []
    if not _is_main_thread():
        yield came
        return
    # A handler of our own, and not SIG_IGN, which programs started meanwhile would inherit.
    handlers = replace_handlers(lambda number, _frame: came.append(number))
    try:
        yield came
    finally:
        restore_handlers(handlers)


@contextmanager
def limit_interrupts_to_waits() -> Iterator[Callable[[], int]]:
    """Let interrupts do nothing in the block but end the yielded function, which waits for one.

    So none cuts the start of a daemon short. The function waits for the first interrupt, even one
    that came before, and returns its number.
    """
    if not _is_main_thread():
        raise RuntimeError("interrupts can be waited for in the main thread only")
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def wait() -> int:
        while (number := os.read(reader, 1)[0]) not in INTERRUPTS:
            pass
        return number

    # Written by the system's handler: Python's own would not run while the reader waits. It is
    # there before and after handlers that do nothing, lest an interrupt between is lost.
    former = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    handlers = replace_handlers(lambda _number, _frame: None)
    try:
        yield wait
    finally:
        restore_handlers(handlers)
        signal.set_wakeup_fd(former)
        os.close(reader)
        os.close(writer)


def _end_waits_that_missed_a_signal() -> None:
    """Start a thread that wakes the main thread after each interrupt, so that none is missed.

    A signal that arrives just before a thread begins to wait, or in another thread, does not end
    the main thread's wait, and Python calls its handler only after the wait.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    main_thread = _thread.get_ident()
    signal.signal(signal.SIGURG, lambda _number, _frame: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def wake() -> None:
        while True:
            numbers = os.read(reader, 64)
            if any(number in INTERRUPTS for number in numbers):
                for delay_s in _WAKE_AFTER_S:
                    time.sleep(delay_s)
                    signal.pthread_kill(main_thread, signal.SIGURG)

    _thread.start_new_thread(wake, ())


def interrupt_again(unraisable: UnraisableHookArgs) -> None:
    """Resend an interrupt that arrived in a finaliser, where Python drops exceptions."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        # From another thread, or it would come while this hook is still at work.
        _thread.start_new_thread(os.kill, (os.getpid(), signal.SIGINT))
    else:
        sys.__unraisablehook__(unraisable)


def _is_main_thread() -> bool:
    # It is not imported here, which would slow the first moments; without it there is one thread.
    threading = sys.modules.get("threading")
    return threading is None or threading.current_thread() is threading.main_thread()


def replace_handlers(
    handler: Callable[[int, FrameType | None], object],
) -> dict[signal.Signals, Any]:
    """Replace the handlers of interrupts that Python code set; return the previous ones."""
    return {
        number: signal.signal(number, handler)
        for number in INTERRUPTS
        if callable(signal.getsignal(number))
    }


def restore_handlers(handlers: dict[signal.Signals, Any]) -> None:
    """Install handlers that `replace_handlers` returned."""
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _say_and_end(_number: int, _frame: FrameType | None) -> None:
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(EXIT_INTERRUPTED)


def _raise_or_keep(number: int, frame: FrameType | None) -> None:
    """Raise `KeyboardInterrupt` if only plink's code is running; else keep it for later."""
    is_look, _Pending.is_look = _Pending.is_look, False
    if is_look and _Pending.since_s is None:
        return
    frames = _frames_of_verb(frame)
    if _can_be_left(frames):
        _forget_pending()
        raise KeyboardInterrupt
    if _Pending.since_s is not None:
        if not is_look and time.monotonic() - _Pending.since_s > _PATIENCE_S:
            _say_and_end(number, frame)
        return
    _Pending.since_s = time.monotonic()
    _thread.start_new_thread(_look_again, (_thread.get_ident(), number))
    _raise_at_next_line(frames)


def _look_again(main_thread: int, number: int) -> None:
    """Resend a kept interrupt to the main thread every few milliseconds until it is raised.

    A signal, because it also ends a wait of the system, after which the handler is called.
    """
    while True:
        time.sleep(_LOOK_AGAIN_S)
        if _Pending.since_s is None:
            return
        _Pending.is_look = True
        signal.pthread_kill(main_thread, number)


def _frames_of_verb(frame: FrameType | None) -> list[FrameType]:
    """Return the stack frames from the innermost one out to the call of the running command."""
    frames = []
    while frame is not None and (_module(frame), frame.f_code.co_name) not in _VERB_CALLERS:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _can_be_left(frames: list[FrameType]) -> bool:
    """Return whether an exception from the innermost frame passes through plink's code only."""
    if not frames:
        return False
    module, name = _module(frames[0]), frames[0].f_code.co_name
    is_point = _is_plinks(module) or module == "__main__" or name in _WAITS.get(module, ())
    return is_point and all(_can_pass(frame) for frame in frames)


def _can_pass(frame: FrameType) -> bool:
    module, name = _module(frame), frame.f_code.co_name
    if _is_plinks(module) or module == "contextlib":
        return name not in _UNINTERRUPTED
    return module in _PASSED_THROUGH and name != "__del__"


def _is_plinks(module: str) -> bool:
    return module == "plink" or module.startswith("plink.")


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _raise_at_next_line(frames: list[FrameType]) -> None:
    """Trace the frames, to raise a kept interrupt at the next line of plink's own code."""
    if sys.gettrace() is not None:
        return  # a debugger's, or of what counts lines: the look every few milliseconds is enough

    def at_line(frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line" and _can_be_left(_frames_of_verb(frame)):
            is_pending = _Pending.since_s is not None
            _forget_pending()
            if is_pending:
                raise KeyboardInterrupt
        return at_line

    for frame in frames:
        if _is_plinks(_module(frame)):
            frame.f_trace = at_line
    _Pending.is_traced = True
    sys.settrace(lambda _frame, _event, _argument: None)


def _forget_pending() -> None:
    _Pending.since_s = None
    if _Pending.is_traced:
        _Pending.is_traced = False
        sys.settrace(None)
