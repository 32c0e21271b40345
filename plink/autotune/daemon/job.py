"""One job: its tuner, and what its ranks hold. It knows no sockets and no clock.

Each method returns what is to be sent: pairs of a rank, or None for all, and a message.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from plink.autotune.daemon.barrier import PauseBarrier
from plink.autotune.daemon.windows import (
    ReportAssembler,
    iteration_seconds,
    reduced_bytes,
    show,
    window_of,
)
from plink.autotune.log.replay import ResumeState
from plink.autotune.protocol.identity import LARGEST_NUMBER, Identity, identity
from plink.autotune.protocol.messages import (
    MOST_PAUSE_S,
    Ask,
    Join,
    Message,
    NewPlan,
    Paused,
    Release,
    Report,
)
from plink.autotune.protocol.status import Event, JobStatus
from plink.autotune.tuner.interface import Action, Decision, Window
from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.base.text import format_count
from plink.formats.plan import Plan
from plink.plans.forest import Forest

Outgoing = list[tuple[int | None, Message]]

# Plans that are remembered, so that they need not be asked for.
_MOST_KNOWN = 16


class Decider(Protocol):
    """The part of `plink.autotune.tuner.tuner.Tuner` that is used here."""

    plan: int

    def decide(self, now_s: float, window: Window) -> Decision:
        """Return the decision after another window."""


MakeDecider = Callable[[Plan], Decider]
"""For a job that runs on that plan, with buffers of its size. ValueError: it cannot be tuned."""


class Journal(Protocol):
    """Records what happens."""

    def begun(self, plan: Plan, decider: Decider) -> None:
        """Tuning of that plan begins, or begins anew."""

    def resumed(self, state: ResumeState) -> None:
        """Tuning goes on where a log ended."""

    def decided(self, now_s: float, window: Window, decision: Decision) -> None:
        """Record a decision, after every window."""


@dataclass(frozen=True)
class _Tuned:
    """A plan that a decider knows."""

    decider: Decider
    current: Identity


class Job:
    """A job, by the plan file.

    Args:
        name: of the job.
        plan: where its ranks run, and what they begin with.
        make_decider: for what the job turns out to run on.
        journal: None for none.
        resume: where an earlier daemon's log ends; None to begin anew.

    `tell` is told what the user should know at once.
    """

    def __init__(
        self,
        name: str,
        plan: Plan,
        make_decider: MakeDecider,
        journal: Journal | None = None,
        resume: ResumeState | None = None,
    ) -> None:
        self.plan = plan
        self.ranks = len(plan.ranks)
        hosts = list(dict.fromkeys(rank.host for rank in plan.ranks))
        self.status = JobStatus(
            name, hosts, self.ranks, decisions={action.value: 0 for action in Action}
        )
        self._host_of = plan.host_by_rank
        self._make_decider = make_decider
        self._journal = journal
        self._resume_state = resume
        self._assembler = ReportAssembler(self.ranks)
        self._tuned: _Tuned | None = None
        self._issued: NewPlan | None = None
        self._known: dict[Identity, Forest] = {}
        self._remember(NewPlan(identity(0, plan.forest), plan.forest))
        self._largest = 0
        self._there: set[int] = set()
        self.barrier = PauseBarrier(self.ranks)
        self._is_log_stuck = False
        self.tell: Callable[[str], None] = lambda _text: None
        self.when_asked: Callable[[float, Sequence[str]], None] = lambda _now_s, _hosts: None

    def joined(self, now_s: float, join: Join) -> Outgoing:
        """A rank is there; it gets the newest plan if it lacks it."""
        self.barrier.rank_left()  # One that calls again has been gone.
        self._there.add(join.rank)
        self.status.ranks_there = len(self._there)
        self._assembler.forget()
        self._largest = max(self._largest, join.in_force.number, join.held.number)
        if len(self._there) == self.ranks:
            self.say(now_s, "joined", f"all {self.ranks} ranks are there")
        if self._issued is not None and join.held != self._issued.identity:
            return [(join.rank, self._issued)]
        return []

    def left(self, now_s: float, rank: int) -> None:
        """A rank is gone. Training may go on without us, or be over."""
        if len(self._there) == self.ranks:
            self.say(now_s, "left", f"rank {rank} on {self.plan.ranks[rank].host} is gone")
        self._there.discard(rank)
        self.status.ranks_there = len(self._there)
        self._assembler.forget()
        self.barrier.rank_left()

    def told(self, now_s: float, plan: NewPlan) -> Outgoing:
        """A rank has sent the plan that it was asked for."""
        self._remember(plan)
        self.say(now_s, "plan", f"plan {plan.identity.number} was got back from the ranks")
        return []

    def say(self, now_s: float, what: str, text: str) -> None:
        """Record an event to be shown."""
        self.status.latest.append(Event(now_s, what, text))

    def pause(self) -> Outgoing:
        """Ask the ranks to pause; `barrier` tells which ones have.

        Returns:
            nothing where they cannot: a rank is missing, or nothing is tuned yet.
        """
        if self._tuned is None or len(self._there) < self.ranks:
            return []
        # The newest plan once more, under a new number, which all ranks reach at one point.
        sent = self._issue(self._known[self._tuned.current], pause_s=MOST_PAUSE_S)
        if sent and self._issued is not None:
            self._tuned = replace(self._tuned, current=self._issued.identity)
            self.barrier.begin(self._issued.identity)
        return sent

    def paused(self, rank: int, message: Paused) -> None:
        """A rank has paused."""
        self.barrier.paused(rank, message.plan)

    def release(self) -> Outgoing:
        """Let the ranks go on."""
        self.barrier.end()
        if self._issued is None or not self._issued.pause_s:
            return []
        self._issued = replace(self._issued, pause_s=0.0)
        return [(None, Release(self._issued.identity))]

    def replanned(self, now_s: float, plan: Plan) -> Outgoing:
        """The network is another one: begin anew with this plan, for the same ranks."""
        size_bytes = round(self.status.reduced_bytes) or plan.size_bytes
        begun = replace(plan, size_bytes=size_bytes)
        try:
            decider = self._make_decider(begun)
        except ValueError as error:
            self.say(now_s, "plan", f"the new plan cannot be tuned: {error}")
            return []
        self.plan = begun
        sent = self._issue(begun.forest)
        if self._issued is not None:
            self._tuned = _Tuned(decider, self._issued.identity)
            self._write(now_s, lambda journal: journal.begun(begun, decider))
        return sent

    def reported(self, now_s: float, rank: int, report: Report) -> Outgoing:
        """A rank has measured."""
        self._largest = max(self._largest, report.plan.number)
        reports = self._assembler.add(rank, report)
        self.status.windows_incomplete = self._assembler.incomplete
        if reports is None:
            return []
        self.status.windows += 1
        self.status.plan_in_force = report.plan.number
        if not len(iteration_seconds(reports)):
            if not self.status.windows_unread:
                text = "no iterations can be told from the collectives: mark them"
                self.say(now_s, "unread", f"{text} with plink.torch.iteration()")
            self.status.windows_unread += 1
            return []
        if self._tuned is None or report.plan not in self._known:
            return self._adopt(now_s, rank, report.plan, reduced_bytes(reports))
        window = window_of(reports, self._host_of, self._tuned.decider.plan)
        show(self.status, window, reports, self._host_of)
        if report.plan != self._tuned.current:
            # It is on its way, and starts when all ranks have it.
            return []
        window_s = max(one.seconds for one in reports)
        return self._decide(now_s, self._tuned.decider, window, window_s)

    def _adopt(self, now_s: float, rank: int, plan: Identity, size_bytes: float) -> Outgoing:
        """Begin to tune what the job turns out to run on, or go on where a log ended."""
        why_not = ""
        if self._resume_state is not None:
            reason = self._resume_state.why_not(now_s, plan, size_bytes)
            if reason is None:
                return self._resume(now_s, self._resume_state, plan)
            why_not = f", with nothing learned yet: {reason}"
        if plan not in self._known:
            return [(rank, Ask(plan))]
        begun = replace(self.plan, forest=self._known[plan], size_bytes=max(1, round(size_bytes)))
        try:
            decider = self._make_decider(begun)
        except ValueError as error:
            self.say(now_s, "plan", f"plan {plan.number} cannot be tuned: {error}")
            return self._issue(self.plan.forest)
        self._resume_state = None
        self._tuned = _Tuned(decider, plan)
        self.status.plan = plan.number
        text = f"plan {plan.number} is in force, and tuned from now on{why_not}"
        self.say(now_s, "begun", text)
        self.status.progress = "learning begins with the next window"
        self._write(now_s, lambda journal: journal.begun(begun, decider))
        return []

    def _resume(self, now_s: float, state: ResumeState, plan: Identity) -> Outgoing:
        """Go on where a log ended, with a plan in force that it has."""
        self._resume_state = None
        self.plan = state.plan
        self._tuned = _Tuned(state.tuner, plan)
        self.status.plan = plan.number
        running = state.running(plan)
        is_newest = running is state.forest
        if running is not None:
            self._remember(NewPlan(plan, running))
        text = (
            f"plan {plan.number} is in force, and tuned on after the log's {state.windows} windows"
        )
        lost = "" if is_newest else "; the newest plan is handed out again"
        self.say(now_s, "resumed", f"{text}{lost}")
        self._write(now_s, lambda journal: journal.resumed(state))
        if is_newest:
            return []
        sent = self._issue(state.forest)
        if self._issued is not None:
            self._tuned = _Tuned(state.tuner, self._issued.identity)
        return sent

    def _decide(self, now_s: float, decider: Decider, window: Window, window_s: float) -> Outgoing:
        decision = decider.decide(now_s, window)
        self.status.progress = decision.reason
        if decision.windows_left:
            left_s = math.ceil(decision.windows_left * window_s)
            self.status.progress += f", about {left_s} s left"
        self.status.decisions[decision.action.value] += 1
        self._write(now_s, lambda journal: journal.decided(now_s, window, decision), windows=1)
        if decision.action is Action.REPROBE:
            self.status.reprobe_hosts = [self.status.hosts[host] for host in decision.hosts]
        if decision.action is not Action.WAIT:
            self.say(now_s, decision.action.value, decision.reason)
        sent = [] if decision.forest is None else self._issue(decision.forest)
        if sent and self._issued is not None:
            self._tuned = _Tuned(decider, self._issued.identity)
        if decision.hosts:
            self.when_asked(now_s, [self.status.hosts[host] for host in decision.hosts])
        return sent

    def _issue(self, forest: Forest, pause_s: float = 0.0) -> Outgoing:
        if self._largest >= LARGEST_NUMBER:
            return []
        self._largest += 1
        plan = NewPlan(identity(self._largest, forest), forest, pause_s)
        self._issued = plan
        self._remember(plan)
        self.status.plan = plan.identity.number
        return [(None, plan)]

    def _write(self, now_s: float, write: Callable[[Journal], None], windows: int = 0) -> None:
        """Record; where that is not possible, say so once, and when it is possible again."""
        if self._journal is None:
            return
        try:
            write(self._journal)
        except PlinkError as error:
            self.status.windows_unlogged += windows
            if not self._is_log_stuck:
                self._tell_of_log(now_s, f"nothing is logged until that is possible again: {error}")
            self._is_log_stuck = True
        else:
            if self._is_log_stuck:
                lacked = format_count(self.status.windows_unlogged, "window")
                self._tell_of_log(now_s, f"logged again; {lacked} could not be, so far")
            self._is_log_stuck = False

    def _tell_of_log(self, now_s: float, text: str) -> None:
        self.say(now_s, "log", text)
        self.tell(f"job {self.status.name}: {text}")

    def _remember(self, plan: NewPlan) -> None:
        self._known[plan.identity] = plan.forest
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
