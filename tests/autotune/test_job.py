"""A job without sockets: windows are gathered, plans issued, and unknown ones asked for."""

from __future__ import annotations

import numpy as np
import pytest

from autotune.deciding import Switching
from autotune.reporting import first, join, report
from autotune.serving import plan_of
from plink.autotune.daemon.job import Job, Outgoing
from plink.autotune.daemon.windows import window_of
from plink.autotune.log.replay import ResumeState
from plink.autotune.protocol.identity import Identity, identity
from plink.autotune.protocol.messages import (
    MOST_PAUSE_S,
    PEER_FIGURES,
    Ask,
    NewPlan,
    Paused,
    Release,
)
from plink.autotune.protocol.status import from_json, to_json
from plink.autotune.tuner.interface import Decision, Window
from plink.autotune.tuner.tuner import Tuner
from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.formats.plan import Plan

RANKS = 3


def begun(plan: Plan | None = None) -> Job:
    """A job whose ranks are there, and whose first plan is tuned."""
    job = Job("job", plan or plan_of(RANKS), Switching)
    for rank in range(RANKS):
        assert job.joined(0.0, join(rank, first(job.plan.forest), RANKS)) == []
    assert all_report(job, first(job.plan.forest)) == []
    return job


def all_report(job: Job, plan: Identity, begin: int = 0) -> Outgoing:
    sent: Outgoing = []
    for rank in range(RANKS):
        assert sent == []
        sent = job.reported(0.0, rank, report(rank, plan, RANKS, begin))
    return sent


def issued(sent: Outgoing) -> NewPlan:
    [(rank, message)] = sent
    assert rank is None
    assert isinstance(message, NewPlan)
    return message


def test_a_window_is_what_all_ranks_report_of_it() -> None:
    job = begun()
    plan = issued(all_report(job, first(job.plan.forest), 10)).identity
    assert plan.number == 1
    # The last window was of the plan before: it tells nothing of this one.
    assert all_report(job, first(job.plan.forest), 20) == []
    assert issued(all_report(job, plan, 30)).identity.number == 2
    assert job.status.windows == 4


def test_progress_says_how_long_learning_takes() -> None:
    def make(plan: Plan) -> Tuner:
        return Tuner(plan.forest, range(RANKS), [0] * RANKS, plan.size_bytes)

    job = Job("job", plan_of(RANKS, hosts=True), make)
    assert "waiting" in job.status.progress
    plan = first(job.plan.forest)
    for rank in range(RANKS):
        job.joined(0.0, join(rank, plan, RANKS))
    busy_s = {name: np.ones(RANKS) for name in PEER_FIGURES}
    for window in range(4):
        for rank in range(RANKS):
            told = report(rank, plan, RANKS, 10 * window, seconds=9.7, peers=busy_s)
            job.reported(10.0 * window, rank, told)
    # The first window says what there is to tune.
    assert job.status.progress == "learning 3 of 5, about 20 s left"
    assert from_json(to_json(job.status)).progress == job.status.progress


def test_flows_of_hosts_are_those_of_their_ranks() -> None:
    reports = [report(rank, Identity(0, 0), RANKS) for rank in range(RANKS)]
    window = window_of(reports, [0, 0, 1], 7)
    assert window.plan == 7
    # Of two iterations: 2 and 102 bytes from the two ranks of host 0, 200 and 201 from host 1.
    assert np.array_equal(window.sent_bytes, [[0, 52.0], [200.5, 0]])


def test_a_rank_that_comes_later_gets_the_newest_plan_if_it_lacks_it() -> None:
    job = begun()
    plan = issued(all_report(job, first(job.plan.forest), 10))
    old = first(job.plan.forest)
    job.left(0.0, 1)
    assert job.joined(0.0, join(1, old, RANKS)) == [(1, plan)]
    assert job.joined(0.0, join(1, old, RANKS, held=plan.identity)) == []


def test_a_new_daemon_asks_for_the_plan_in_force_and_numbers_on() -> None:
    job = Job("job", plan_of(RANKS), Switching)
    old = job.plan.forest
    other = replace(old, weights=np.array([3.0, 1.0, 2.0]))
    plan = NewPlan(identity(41, other), other)
    for rank in range(RANKS):
        assert job.joined(0.0, join(rank, plan.identity, RANKS)) == []
    assert all_report(job, plan.identity) == [(RANKS - 1, Ask(plan.identity))]
    assert job.told(0.0, plan) == []
    assert all_report(job, plan.identity, 10) == []
    assert issued(all_report(job, plan.identity, 20)).identity.number == 42


def test_a_plan_that_cannot_be_tuned_is_replaced_by_the_first() -> None:
    def refuse(plan: Plan) -> Switching:
        if plan.forest.weights[0] == 3.0:
            raise ValueError("no masters")
        return Switching(plan)

    job = Job("job", plan_of(RANKS), refuse)
    other = replace(job.plan.forest, weights=np.array([3.0, 1.0, 2.0]))
    plan = NewPlan(identity(5, other), other)
    job.told(0.0, plan)
    sent = issued(all_report(job, plan.identity))
    assert sent.identity == identity(6, job.plan.forest)
    assert all_report(job, sent.identity, 10) == []
    assert issued(all_report(job, sent.identity, 20)).identity.number == 7


def test_windows_without_iterations_are_counted_and_tell_nothing() -> None:
    job = begun()
    old = first(job.plan.forest)
    for rank in range(RANKS):
        assert job.reported(0.0, rank, report(rank, old, RANKS, 9, iteration_s=np.empty(0))) == []
    assert job.status.windows_unread == 1
    assert "plink.torch.iteration()" in job.status.latest[-1].text


def test_windows_that_lack_a_rank_are_given_up() -> None:
    job = begun()
    for begin in range(100, 400, 10):
        job.reported(0.0, 0, report(0, first(job.plan.forest), RANKS, begin))
    assert job.status.windows_incomplete > 20


class FullFor:
    """A journal on a disk that is full for some windows."""

    def __init__(self, windows: int) -> None:
        self.windows = windows

    def begun(self, plan: Plan, decider: object) -> None:
        pass

    def resumed(self, kept: ResumeState) -> None:
        pass

    def decided(self, now_s: float, window: Window, decision: Decision) -> None:
        self.windows -= 1
        if self.windows >= 0:
            raise PlinkError("no space left")


def test_a_log_that_cannot_be_written_is_told_of_and_tried_again() -> None:
    job = Job("job", plan_of(RANKS), Switching, FullFor(1))
    told: list[str] = []
    job.tell = told.append
    old = first(job.plan.forest)
    all_report(job, old)
    plan = issued(all_report(job, old, 10))
    assert plan.identity.number == 1
    assert told == ["job job: nothing is logged until that is possible again: no space left"]
    assert job.status.windows_unlogged == 1
    all_report(job, plan.identity, 20)
    assert told[1:] == ["job job: logged again; 1 window could not be, so far"]
    assert job.status.windows_unlogged == 1
    assert any("no space left" in event.text for event in job.status.latest)


@pytest.mark.parametrize("digest", [0, 1])
def test_plans_of_one_number_are_told_apart(digest: int) -> None:
    assert Identity(1, digest).encoded != Identity(1, digest + 1).encoded
    assert Identity(1, digest).encoded < Identity(2, 0).encoded < 1 << 63


def test_ranks_are_asked_to_pause_once_and_only_if_all_are_there() -> None:
    job = begun()
    still: list[bool] = []
    job.barrier.when_changed = lambda: still.append(job.barrier.is_complete)
    plan = issued(job.pause())
    assert plan.pause_s == MOST_PAUSE_S
    assert plan.identity == identity(1, job.plan.forest)
    for rank in range(RANKS):
        assert still == [False] * rank
        # One that says so of another plan does not count.
        job.paused(rank, Paused(Identity(7, 0)))
        job.paused(rank, Paused(plan.identity))
    assert still == [False, False, True]
    assert job.release() == [(None, Release(plan.identity))]
    assert job.release() == []
    # A rank that comes later is not to pause any more.
    job.left(0.0, 1)
    assert job.pause() == []
    [(_, late)] = job.joined(0.0, join(1, first(job.plan.forest), RANKS))
    assert late == NewPlan(plan.identity, plan.forest)
    # The plan is tuned on as what it is.
    assert issued(all_report(job, plan.identity, 30)).identity.number == 2


def test_a_job_begins_anew_with_a_plan_for_another_network() -> None:
    job = begun()
    weights = np.array([3.0, 1.0, 2.0])
    plan = replace(job.plan, kind="new", forest=replace(job.plan.forest, weights=weights))
    sent = issued(job.replanned(0.0, plan))
    assert sent == NewPlan(identity(1, plan.forest), plan.forest)
    assert job.plan.kind == "new"
    # What is still said of the plan before does not count.
    assert all_report(job, first(plan_of(RANKS).forest), 10) == []
    assert issued(all_report(job, sent.identity, 20)).identity.number == 2
