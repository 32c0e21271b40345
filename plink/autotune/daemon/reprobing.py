"""Probes a job's hosts again when its tuner asks, and gives the job the plan that follows.

Measuring is done in a thread; the daemon goes on meanwhile, and whatever fails is an event.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from plink.autotune.daemon.job import Job, Outgoing
from plink.autotune.daemon.quiesce import PAUSE_TIMEOUT_S, Quiescer
from plink.autotune.reprobing.backoff import BackOff
from plink.autotune.reprobing.measuring import Quiesce
from plink.autotune.reprobing.prober import Probed
from plink.base.errors import PlinkError
from plink.base.text import format_names
from plink.formats.cluster import Cluster
from plink.formats.plan import Plan
from plink.probes.errors import ProbesError

_T = TypeVar("_T")


class AnyProber(Protocol):
    """The part of `plink.autotune.reprobing.prober.Prober` that is used here."""

    def probe(
        self, plan: Plan, before: Cluster | None, hosts: Sequence[str], quiesce: Quiesce
    ) -> Probed:
        """Measure, and see what that changes; it blocks."""


class Reprobing:
    """Probes one job's hosts again. All of it but measuring is done in the daemon's event loop.

    Args:
        job: whose tuner asks.
        send: given what the job's ranks are to know.
        prober: None where it is not known how hosts are reached.
        tell: told what happens, a sentence each, beside the job.
        back_off: which hosts are left alone.
        pause_timeout_s: for the ranks to pause; then hosts are probed while training runs.
    """

    def __init__(
        self,
        job: Job,
        send: Callable[[Job, Outgoing], None],
        prober: AnyProber | None,
        *,
        tell: Callable[[str], None] = lambda _: None,
        back_off: BackOff | None = None,
        pause_timeout_s: float = PAUSE_TIMEOUT_S,
    ) -> None:
        self._job, self._send, self._prober, self._tell = job, send, prober, tell
        self._back_off = back_off or BackOff()
        self._quiescer = Quiescer(job, send, pause_timeout_s)
        self._wanted: set[str] = set()
        # Those that the tuner has asked for while they were left alone.
        self._later: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        # What was known when the job's plan was made, or last found to be good.
        self._planned_for: Cluster | None = None
        self._task: asyncio.Task[None] | None = None
        self._has_hinted = False
        job.when_asked = self.ask

    def ask(self, now_s: float, hosts: Sequence[str]) -> None:
        """The tuner wants these hosts probed again; those that are left alone, when that ends."""
        if self._prober is None:
            if not self._has_hinted:
                self._has_hinted = True
                self._say("hosts are not probed again: --cluster FILE would say how to reach them")
            return
        due = self._back_off.due(now_s, hosts)
        early = sorted(set(hosts) - set(due))
        if early:
            wait_s = self._back_off.wait_s(now_s, early)
            self._say(f"probed a short while ago: {format_names(early)}; again in {wait_s:.0f} s")
            self._later.update(early)
            self._wait(now_s)
        if due:
            self._begin(due)

    def ask_by_hand(self) -> None:
        """Request that all hosts be probed again."""
        if self._prober is None:
            self.ask(0.0, ())
        else:
            self._begin(self._job.status.hosts)

    @property
    def is_busy(self) -> bool:
        """Whether hosts are being probed."""
        return self._task is not None and not self._task.done()

    def _wait(self, now_s: float) -> None:
        """Wait until the first of the hosts in a pause may be probed."""
        if self._timer is not None:
            self._timer.cancel()
        wait_s = self._back_off.wait_s(now_s, self._later)
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._ask_again)

    def _ask_again(self) -> None:
        self._timer = None
        now_s = time.time()
        due = self._back_off.due(now_s, sorted(self._later))
        if due:
            self._begin(due)
        if self._later:
            self._wait(now_s)

    def _begin(self, hosts: Sequence[str]) -> None:
        self._later.difference_update(hosts)
        self._wanted.update(hosts)
        if not self.is_busy:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while self._wanted:
            hosts = sorted(self._wanted)
            self._wanted.clear()
            await self._probe(hosts)

    async def _probe(self, hosts: Sequence[str]) -> None:
        self._say(f"to be probed again: {format_names(hosts)}")
        prober, loop = self._prober, asyncio.get_running_loop()
        if prober is None:
            return
        try:
            done = await _in_thread(
                lambda: prober.probe(
                    self._job.plan, self._planned_for, hosts, lambda: self._quiescer.pause(loop)
                )
            )
        except (PlinkError, ProbesError) as error:
            self._record_failure(hosts, str(error))
        except Exception as error:
            # Whatever a host said: the daemon goes on.
            self._record_failure(hosts, repr(error))
        else:
            self._take(hosts, done)
        self._job.status.reprobe_hosts = ()

    def _take(self, hosts: Sequence[str], done: Probed) -> None:
        now_s = time.time()
        for warning in done.warnings:
            self._say(warning)
        if done.replanned.is_confirmed:
            self._planned_for = done.cluster
        if done.replanned.plan is None:
            pause_s = self._back_off.record_failure(now_s, hosts)
            self._say(f"{done.how}: {done.replanned.reason}; left alone for {pause_s:.0f} s")
            return
        self._back_off.record_success(now_s, hosts)
        self._say(f"{done.how}: {done.replanned.reason}; the job gets a new plan")
        sent = self._job.replanned(now_s, done.replanned.plan)
        if sent:
            self._planned_for = done.cluster
        self._send(self._job, sent)

    def _record_failure(self, hosts: Sequence[str], reason: str) -> None:
        pause_s = self._back_off.record_failure(time.time(), hosts)
        self._say(f"probing again failed: {reason}; left alone for {pause_s:.0f} s")

    def _say(self, text: str) -> None:
        self._job.say(time.time(), "reprobe", text)
        self._tell(f"{self._job.status.name}: {text}")


async def _in_thread(work: Callable[[], _T]) -> _T:
    """Like `asyncio.to_thread`, but the program may end meanwhile."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[_T] = loop.create_future()

    def settle(value: _T | None, error: Exception | None) -> None:
        if result.done():
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        value: _T | None = None
        failure: Exception | None = None
        try:
            value = work()
        except Exception as error:
            failure = error
        except BaseException as error:
            # As itself it would end the daemon; unsettled, nothing would be probed any more.
            failure = RuntimeError(repr(error))
        with contextlib.suppress(RuntimeError):  # The daemon has ended.
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=run, name="plink-reprobe", daemon=True).start()
    return await result
