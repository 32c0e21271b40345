"""A rank holds still at a point while the hosts are probed again.

It is asked to by a plan (`NewPlan.hold_s`), so that all ranks do at the same point. Until the
daemon releases it, has gone, or the time is up: nobody can keep a rank for longer. Nothing else
depends on it: a rank that goes on earlier waits for the others in its next collective.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from plink.autotune.ranks.messages import NewPlan
from plink.errors import PlinkError

# Connections that have carried nothing for so long are still.
_LOOK_S = 0.05


class Stillness:
    """Of one rank. `keep` is called by who begins collectives, all else by the client's thread.

    Args:
        sent_bytes: over all connections of the rank, ever.
        say: told once the rank is still, and what it sent has arrived.
    """

    def __init__(self, sent_bytes: Callable[[], float], say: Callable[[NewPlan], None]) -> None:
        self._sent_bytes = sent_bytes
        self._say = say
        self._changed = threading.Condition()
        self._asked: int | None = None

    def ask(self, plan: NewPlan) -> None:
        """The newest plan has come, which says whether ranks are to hold still when it starts."""
        with self._changed:
            self._asked = plan.identity.number if plan.hold_s else None
            self._changed.notify_all()

    def release(self) -> None:
        """Go on: the daemon says so, or is gone."""
        with self._changed:
            self._asked = None
            self._changed.notify_all()

    def keep(self, plan: NewPlan) -> None:
        """Hold still if that plan, which has just started, asks for it."""
        until_s = time.monotonic() + plan.hold_s
        sent_bytes: float | None = None
        has_said = False
        while (left_s := until_s - time.monotonic()) > 0.0:
            with self._changed:
                if self._asked != plan.identity.number:
                    break
                self._changed.wait(min(left_s, left_s if has_said else _LOOK_S))
            if not has_said:
                before, sent_bytes = sent_bytes, self._sent()
                if sent_bytes is not None and sent_bytes == before:
                    has_said = True
                    self._say(plan)
        self._done(plan)

    def _done(self, plan: NewPlan) -> None:
        """A plan is held still for once."""
        with self._changed:
            if self._asked == plan.identity.number:
                self._asked = None

    def _sent(self) -> float | None:
        try:
            return self._sent_bytes()
        except PlinkError:  # The engine has failed, which the next collective says.
            return None
