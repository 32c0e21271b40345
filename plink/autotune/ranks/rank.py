"""One rank's part: it counts collectives, agrees on plans, measures windows.

`after` is called by whoever begins the collectives, one after the other; plans come in from the
client's thread.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from plink.autotune.protocol.identity import Identity, identity
from plink.autotune.protocol.messages import Ask, Join, NewPlan, Paused, Report
from plink.autotune.ranks.agreement import (
    Points,
    Stride,
    Vote,
    outcome,
    propose_stride,
    vote_of,
)
from plink.autotune.ranks.client import Client
from plink.autotune.ranks.figures import Snapshot, between, snapshot_of
from plink.autotune.ranks.pause import Pause
from plink.autotune.ranks.placing import Placing
from plink.autotune.ranks.settings import Settings
from plink.autotune.ranks.window import MOST_COLLECTIVES, Window
from plink.base.errors import PlinkError
from plink.engine import Forest, Prepared, Statistics, Work
from plink.plans.names import ALL_REDUCE
from plink.training.iterations import (
    IterationSource,
    Markers,
    iteration_seconds,
    period_of,
)
from plink.transport.tls import Tls

# For a vote to end before the engine is closed.
_SETTLE_S = 10.0
# Figures that are read later than this, plus this share of the window, do not count for it.
_LATE_S = 0.1
_LATE_SHARE = 0.1
# Points in a window at least, so that it is hardly longer than asked.
_POINTS_IN_WINDOW = 4
# In which the daemon usually judges a plan, and one more until its answer is here.
JUDGED_WINDOWS = 4


class _Begun(Protocol):
    """The part of a collective's work that is used here."""

    def done(self) -> bool: ...


class _Engine(Protocol):
    """The part of `plink.engine.Engine` that is used here."""

    @property
    def next_collective(self) -> int: ...

    def allreduce(self, array: Vote, op: str = "sum", dtype: str | None = None) -> Work: ...

    def prepare(self, forest: Forest) -> Prepared: ...

    def install(self, forest: Prepared, at_collective: int) -> None: ...

    def statistics(self) -> Statistics: ...


class TunedRank:
    """A rank whose plan may change.

    Args:
        engine: of the rank.
        rank: in the job.
        forest: with which the engine began, over the job's ranks.
        placing: between the job's ranks and the plan's.
        settings: the same on all ranks.
        secret: of the job; None where this rank lacks it, so that it reports nothing, and no rank
            takes a plan.
        tls: this rank's certificate; None to talk to the daemon in the clear.
    """

    def __init__(
        self,
        engine: _Engine,
        rank: int,
        forest: Forest,
        *,
        placing: Placing,
        settings: Settings,
        secret: bytes | None,
        tls: Tls | None = None,
    ) -> None:
        self._engine = engine
        self._rank, self._placing, self._settings = rank, placing, settings
        # The first votes tell how far it is from point to point.
        self._points = Points(Stride(collectives=1))
        self._point_s: float | None = None
        self._iteration: int | None = None
        planned = placing.to_plan(forest)
        first = NewPlan(identity(0, planned), planned)
        self._lock = threading.Lock()
        self._in_force = self._held = first
        # What was held when the vote under way began; each as the engine takes it, too.
        self._proposed = first
        self._held_ready = self._proposed_ready = engine.prepare(forest)
        self._own_vote: Vote | None = None
        self._voting: Work | None = None
        self._window: Window | None = None
        self._to_be_judged = 0
        self._source = IterationSource()
        self._snapshot: Snapshot | None = None
        # Works of the user's that may not have ended yet.
        self._begun: deque[_Begun] = deque()
        self._pause = Pause(self._has_ended, self._say_holding)
        self._client: Client | None = None
        if secret is not None:
            self._client = Client(
                settings,
                secret,
                placing.ranks,
                join=self._join,
                held=self._take,
                find=self._find,
                released=self._pause.release,
                tls=tls,
            )
            self._client.start()

    def would_wait(self, size_bytes: int) -> bool:
        """Return whether `after` a collective of that size would have to wait for other ranks."""
        return (
            self._voting is not None
            and self._points.is_next(size_bytes)
            and not self._voting.done()
        )

    def after(self, size_bytes: int, work: _Begun, collective: str = ALL_REDUCE) -> None:
        """A collective of the user's has begun.

        Args:
            size_bytes: of the whole buffer, the same on every rank; 0 where ranks differ.
            work: that may still be under way.
            collective: of `plink.plans.names.COLLECTIVES`.

        Raises:
            EngineError: the engine has failed.
        """
        now_s = time.monotonic()
        self._begun.append(work)
        self._forget_ended()
        if self._window is not None and len(self._window.sizes) <= MOST_COLLECTIVES:
            self._window.times_s.append(now_s)
            self._window.add(size_bytes, collective)
        if self._points.count(size_bytes):
            self._pass_point(now_s)

    @property
    def plan_number(self) -> int:
        """The number of the plan in force."""
        return self._in_force.identity.number

    @property
    def is_judging(self) -> bool:
        """Whether the plan in force is a new one, of which too few windows are known to judge it.

        The daemon judges; it has not to be asked if it goes by the windows that it usually does.
        """
        return self._to_be_judged > 0

    def void_window(self) -> None:
        """Discard the current window, which would span two schedules.

        All ranks call it between the same two of their collectives, none of which is under way.
        """
        self._window = None

    def mark(self) -> None:
        """An iteration of the program's ends here."""
        window = self._window
        if window is not None:
            window.markers.mark(time.monotonic(), len(window.sizes))

    def step(self, optimizer: int) -> None:
        """An optimizer of the program's has stepped."""
        window = self._window
        if window is not None:
            # The collective with which the window began belongs to the iteration of its first step.
            window.markers.step(optimizer, time.monotonic(), 1 + len(window.sizes))

    def go_on(self) -> None:
        """End the pause, if there is one."""
        self._pause.release()

    def settle(self) -> None:
        """Await the vote under way, before the engine is closed.

        All ranks begin it with the same collective of the user's, so that it is not long; and not
        at all where the engine has failed. A rank that is lost meanwhile ends it, too.
        """
        self.go_on()
        voting = self._voting
        if voting is not None:
            with contextlib.suppress(PlinkError, TimeoutError):
                voting.wait(_SETTLE_S)

    def close(self) -> None:
        """End the thread. The engine goes on, on its last plan."""
        self._pause.release()
        if self._client is not None:
            self._client.close()
        self._begun.clear()

    def _pass_point(self, now_s: float) -> None:
        at = self._engine.next_collective
        window = self._window
        proposal = self._propose(now_s)
        if self._voting is None or self._own_vote is None:
            window = self._begin(at, now_s)
        else:
            self._voting.wait()
            result = outcome(self._own_vote)
            self._points.stride = Stride(collectives=result.collectives)
            with self._lock:
                is_new = (
                    result.plan_id
                    == self._proposed.identity.encoded
                    != self._in_force.identity.encoded
                )
                if is_new:
                    self._in_force = self._proposed
            if is_new:
                self._engine.install(self._proposed_ready, at)
                window = None
                self._to_be_judged = JUDGED_WINDOWS
            elif window is None:
                window = self._begin(at, now_s)
            elif result.is_window_over:
                self._end(window, at, now_s)
                window = self._begin(at, now_s)
                self._to_be_judged = max(0, self._to_be_judged - 1)
        self._window = window
        with self._lock:
            self._proposed, self._proposed_ready = self._held, self._held_ready
        stride = self._points.stride.collectives
        is_long = window is not None and window.is_long_enough(
            now_s, self._settings.window_s, stride
        )
        self._own_vote = vote_of(self._proposed.identity.encoded, is_long, proposal)
        self._voting = self._engine.allreduce(self._own_vote, "min")
        self._pause.at_point(self._in_force)

    def _propose(self, now_s: float) -> int:
        """Return how many collectives this rank proposes from point to point."""
        if self._window is not None:
            self._iteration = self._window.iteration_collectives or self._iteration
        seconds = 0.0 if self._point_s is None else now_s - self._point_s
        self._point_s = now_s
        point_s = self._settings.window_s / _POINTS_IN_WINDOW
        return propose_stride(self._points.stride.collectives, seconds, point_s, self._iteration)

    def _begin(self, at: int, now_s: float) -> Window:
        if self._client is not None:
            self._client.submit(lambda: self._open(at, now_s))
        return Window(at, now_s, markers=Markers(self._source))

    def _end(self, window: Window, at: int, now_s: float) -> None:
        self._source = window.markers.source
        if self._client is not None:
            plan = self._in_force.identity
            self._client.submit(lambda: self._measure(plan, window, at, now_s))

    def _open(self, at: int, now_s: float) -> None:
        # A window that ended there has left its figures.
        is_known = self._snapshot is not None and self._snapshot.at == at
        if not is_known and time.monotonic() - now_s < _LATE_S:
            self._snapshot = snapshot_of(at, self._engine.statistics(), self._placing)

    def _measure(self, plan: Identity, window: Window, at: int, now_s: float) -> Report | None:
        before = self._snapshot
        after = snapshot_of(at, self._engine.statistics(), self._placing)
        seconds = now_s - window.began_s
        is_late = time.monotonic() - now_s > _LATE_S + _LATE_SHARE * seconds
        self._snapshot = None if is_late else after
        if is_late or before is None or before.at != window.begin:
            return None
        period = None if window.markers.replace_periods else period_of(window.sizes)
        return Report(
            plan,
            window.begin,
            at,
            seconds,
            iteration_seconds(window.times_s, window.markers.times_s, period),
            sum(window.bytes_of.values()),
            between(before, after),
            {name: moved for name, moved in window.bytes_of.items() if moved},
        )

    def _join(self) -> Join:
        with self._lock:
            return Join(
                self._placing.planned_rank[self._rank],
                self._placing.ranks,
                socket.gethostname(),
                self._in_force.identity,
                self._held.identity,
            )

    def _take(self, plan: NewPlan) -> None:
        # What cannot be prepared is not held, so that no rank changes to it.
        ready = self._engine.prepare(self._placing.to_job(plan.forest))
        if self._settings.may_pause:
            self._pause.ask(plan)
        with self._lock:
            self._held, self._held_ready = plan, ready

    def _say_holding(self, plan: NewPlan) -> None:
        if self._client is not None:
            self._client.submit(lambda: Paused(plan.identity))

    def _has_ended(self) -> bool:
        self._forget_ended()
        if self._begun or self._voting is None or not self._voting.done():
            return False
        # Well or not, which this tells.
        self._voting.wait()
        return True

    def _forget_ended(self) -> None:
        while self._begun and self._begun[0].done():
            self._begun.popleft()

    def _find(self, asked: Ask) -> NewPlan | None:
        with self._lock:
            known: Sequence[NewPlan] = (self._in_force, self._held)
        return next((plan for plan in known if plan.identity == asked.plan), None)
