"""Quiescing a job: training is paused while a thread measures.

Measuring is done in that thread, all else in the daemon's event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Iterator

from plink.autotune.daemon.job import Job, Outgoing
from plink.autotune.protocol.messages import MOST_PAUSE_S
from plink.autotune.reprobing.measuring import SecondsLeft

# Until all ranks have paused: some iterations, for each may be long.
PAUSE_TIMEOUT_S = 30.0
# The pause ends here that much earlier: what a rank says takes a while to come, and to be read.
_LATE_S = 0.5


class Quiescer:
    """Pauses one job's training, one time after another.

    Args:
        job: whose ranks are to pause.
        send: given what they are to know.
        timeout_s: for all of them to pause.
    """

    def __init__(self, job: Job, send: Callable[[Job, Outgoing], None], timeout_s: float) -> None:
        self._job, self._send, self._timeout_s = job, send, timeout_s
        # When the pause ends, by the monotonic clock; 0 without one. The measuring thread reads it.
        self._until_s = 0.0

    @contextlib.contextmanager
    def pause(self, loop: asyncio.AbstractEventLoop) -> Iterator[SecondsLeft]:
        """Entered by the thread that measures; gives how many seconds of the pause are left."""
        asyncio.run_coroutine_threadsafe(self._begin(), loop).result()
        try:
            yield lambda: max(0.0, self._until_s - time.monotonic())
        finally:
            with contextlib.suppress(RuntimeError):  # The daemon has ended.
                loop.call_soon_threadsafe(self._end)

    async def _begin(self) -> None:
        """Ask for the pause. Each rank pauses for its time, so that the first one goes on first."""
        barrier, is_settled = self._job.barrier, asyncio.Event()
        first_s = math.inf

        def look() -> None:
            nonlocal first_s
            first_s = min(first_s, time.monotonic())
            if not barrier.is_active:
                self._end()
                is_settled.set()
            elif barrier.is_complete:
                self._until_s = first_s + MOST_PAUSE_S - _LATE_S
                is_settled.set()

        asked = self._job.pause()
        if not asked:
            return
        barrier.when_changed = look
        self._send(self._job, asked)
        try:
            await asyncio.wait_for(is_settled.wait(), self._timeout_s)
        except asyncio.TimeoutError:
            self._end()

    def _end(self) -> None:
        self._until_s = 0.0
        self._send(self._job, self._job.release())
