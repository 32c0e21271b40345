"""A rank pauses at a point while the hosts are probed again.

A plan asks for it (`NewPlan.pause_s`), so that all ranks pause at the same point: until the daemon
releases them, is gone, or the time is up. Nobody can keep a rank for longer. Nothing else depends
on it: a rank that goes on earlier waits for the others in its next collective.

A rank is paused once all collectives that it has begun have ended on it, the vote of the point
included. The engine ends a collective on a rank when it has received all that it is to receive
there, and has handed all that it is to send, what it passes on for others included, to the kernel.
So a rank that is paused sends nothing more until it begins another collective. What it handed to
the kernel may be on its way yet; but the ranks that it goes to are paused only once they have it.
So when *all* ranks are paused, nothing of the engine's collectives is on its way, save the kernels'
acknowledgements. Other traffic goes on: of other groups, of Gloo, of the program itself.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from plink.autotune.protocol.messages import NewPlan
from plink.base.errors import PlinkError

# How often to look whether collectives have ended.
_LOOK_S = 0.01


class Pause:
    """The pauses of one rank. The thread that begins collectives calls `at_point`, the client's
    thread all else.

    Args:
        has_ended: whether all collectives that this rank has begun have ended on it; it may raise
            PlinkError where the engine has failed.
        say: told once the rank is paused.
    """

    def __init__(self, has_ended: Callable[[], bool], say: Callable[[NewPlan], None]) -> None:
        self._has_ended = has_ended
        self._say = say
        self._changed = threading.Condition()
        self._asked: int | None = None

    def ask(self, plan: NewPlan) -> None:
        """The newest plan has come, which says whether ranks are to pause when it starts."""
        with self._changed:
            self._asked = plan.identity.number if plan.pause_s else None
            self._changed.notify_all()

    def release(self) -> None:
        """Go on: the daemon says so, or is gone."""
        with self._changed:
            self._asked = None
            self._changed.notify_all()

    def at_point(self, plan: NewPlan) -> None:
        """Pause if that plan, which has just started, asks for it.

        The rank has up to `pause_s` for its collectives to end, and is then paused for up to
        `pause_s`, which is what the daemon counts on.
        """
        # Where the engine has failed the next collective says so.
        with contextlib.suppress(PlinkError):
            if self._drains(plan):
                self._say(plan)
                self._wait(plan, plan.pause_s)
        self._finish_pause(plan)

    def _drains(self, plan: NewPlan) -> bool:
        until_s = time.monotonic() + plan.pause_s
        while self._is_asked(plan):
            if self._has_ended():
                return True
            left_s = until_s - time.monotonic()
            if left_s <= 0.0:
                break
            self._wait(plan, min(left_s, _LOOK_S))
        return False

    def _is_asked(self, plan: NewPlan) -> bool:
        with self._changed:
            return self._asked == plan.identity.number

    def _wait(self, plan: NewPlan, seconds: float) -> None:
        """Wait, or return as soon as the rank is to go on."""
        with self._changed:
            self._changed.wait_for(lambda: self._asked != plan.identity.number, seconds)

    def _finish_pause(self, plan: NewPlan) -> None:
        """Ranks pause once for a plan."""
        with self._changed:
            if self._asked == plan.identity.number:
                self._asked = None
