"""Run a daemon's coroutine until it ends, or an interrupt (SIGINT, SIGTERM, SIGHUP) cancels it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from types import FrameType
from typing import Any

from plink.base.interrupts import replace_handlers, restore_handlers


def run_until_interrupted(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine as `asyncio.run` does; an interrupt cancels it and raises KeyboardInterrupt.

    Raises:
        KeyboardInterrupt: an interrupt came, and the coroutine has been cancelled.
    """
    came: list[int] = []

    async def run() -> None:
        task = asyncio.current_task()
        loop = asyncio.get_running_loop()

        def cancel(number: int) -> None:
            is_first = not came
            came.append(number)
            if is_first and task is not None:
                task.cancel()

        for number in handlers:
            loop.add_signal_handler(number, cancel, number)
        if came:
            return
        try:
            await main
        finally:
            for number in handlers:
                loop.remove_signal_handler(number)
                # Not the default action, which would end the process while the loop is closed.
                signal.signal(number, keep)

    def keep(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    handlers = replace_handlers(keep)
    try:
        asyncio.run(run())
    except asyncio.CancelledError:
        if not came:
            raise
    finally:
        main.close()
        restore_handlers(handlers)
    if came:
        raise KeyboardInterrupt
