"""Quiet moments of a job: training holds still while somebody measures.

Whoever measures does so in a thread; all else is done in the daemon's event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Iterator

from plink.autotune.daemon.job import Job, Outgoing
from plink.autotune.protocol.messages import MOST_HOLD_S
from plink.autotune.reprobing.measuring import Left

# Until all ranks hold still: some iterations, for each may be long.
STILL_TIMEOUT_S = 30.0
# So much earlier the moment is over here: what a rank says takes a while to come, and to be read.
_LATE_S = 0.5


class QuietMoments:
    """Of one job, one after the other.

    Args:
        job: whose ranks are to hold still.
        send: given what they are to know.
        timeout_s: for all of them to hold still.
    """

    def __init__(self, job: Job, send: Callable[[Job, Outgoing], None], timeout_s: float) -> None:
        self._job, self._send, self._timeout_s = job, send, timeout_s
        # When it ends, by the monotonic clock; 0 where there is none. The measuring thread reads.
        self._until_s = 0.0

    @contextlib.contextmanager
    def moment(self, loop: asyncio.AbstractEventLoop) -> Iterator[Left]:
        """Of the thread that measures: training holds still meanwhile, as long as it says."""
        asyncio.run_coroutine_threadsafe(self._begin(), loop).result()
        try:
            yield lambda: max(0.0, self._until_s - time.monotonic())
        finally:
            with contextlib.suppress(RuntimeError):  # The daemon has ended.
                loop.call_soon_threadsafe(self._end)

    async def _begin(self) -> None:
        """Ask for it. Each rank holds still for its time, and the first one ends first."""
        hold, is_settled = self._job.still, asyncio.Event()
        first_s = math.inf

        def look() -> None:
            nonlocal first_s
            first_s = min(first_s, time.monotonic())
            if not hold.is_wanted:
                self._end()
                is_settled.set()
            elif hold.is_whole:
                self._until_s = first_s + MOST_HOLD_S - _LATE_S
                is_settled.set()

        asked = self._job.hold()
        if not asked:
            return
        hold.when_changed = look
        self._send(self._job, asked)
        try:
            await asyncio.wait_for(is_settled.wait(), self._timeout_s)
        except asyncio.TimeoutError:
            self._end()

    def _end(self) -> None:
        self._until_s = 0.0
        self._send(self._job, self._job.release())
