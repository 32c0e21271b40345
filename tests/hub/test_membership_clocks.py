"""Workers that do not wait for each other: nobody is further ahead than ssp allows."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from plink.hub.membership import actions as to_do
from plink.hub.membership import events as happened
from plink.hub.membership.actions import Action
from plink.hub.membership.machine import Membership
from plink.hub.service import ServiceOptions

WORKERS = 3


class Run:
    """Workers that push whenever they may, with a membership that hears of it at once."""

    def __init__(self, **more: Any) -> None:
        self.options = ServiceOptions(**{"namespace": "job", "workers": WORKERS, **more})
        self.membership = Membership(self.options)
        self.completed: dict[int, int] = {}
        self.allowed: dict[int, int] = {}
        self.incarnations: dict[int, int] = {}
        self.away: set[int] = set()
        self.failed = False
        for _ in range(WORKERS):
            self.join()

    def handle(self, event: happened.Event) -> list[Action]:
        actions = self.membership.handle(event)
        for action in actions:
            if isinstance(action, to_do.Admit):
                if action.worker in self.completed:
                    assert self.completed[action.worker] == action.iteration
                self.completed[action.worker] = action.iteration
                self.away.discard(action.worker)
            elif isinstance(action, to_do.Allow):
                self.allowed[action.worker] = action.iteration
            elif isinstance(action, to_do.Drop):
                self.completed.pop(action.worker, None)
                self.allowed.pop(action.worker, None)
            elif isinstance(action, to_do.Fail):
                self.failed = True
        return actions

    def join(self) -> None:
        for action in self.handle(happened.Request(0)):
            if isinstance(action, to_do.Seat):
                self.incarnations[action.worker] = action.incarnation
                self.handle(happened.Initialised(action.worker))

    def may(self, worker: int) -> bool:
        is_here = worker in self.completed and worker not in self.away
        is_bound = self.options.mode == "ssp"
        return is_here and (not is_bound or self.completed[worker] < self.allowed[worker])

    def push(self, worker: int) -> None:
        if self.may(worker):
            iteration = self.completed[worker]
            if self.options.mode == "ssp":
                assert iteration - min(self.completed.values()) <= self.options.staleness
            self.completed[worker] += 1
            self.handle(happened.Pushed(worker, iteration))

    def lose(self, worker: int) -> None:
        if worker in self.completed and worker not in self.away:
            self.away.add(worker)
            self.handle(happened.Lost(worker, self.incarnations[worker], 0.0))

    def come_back(self, worker: int, *, is_fresh: bool) -> None:
        if worker in self.away and worker in self.completed:
            began = None if is_fresh else self.completed[worker]
            incarnation = self.incarnations[worker]
            for action in self.handle(happened.Request(1, worker, incarnation, began)):
                assert isinstance(action, to_do.Seat)
                self.incarnations[worker] = action.incarnation
                after = self.handle(happened.Initialised(worker))
                again = [one for one in after if isinstance(one, to_do.PushAgain)]
                assert again == ([] if is_fresh else [to_do.PushAgain(worker, began or 0)])

    def leave(self, worker: int) -> None:
        if worker in self.completed and worker not in self.away and len(self.completed) > 1:
            self.handle(happened.Left(worker, self.completed[worker]))


STEPS = st.lists(st.tuples(st.sampled_from("ppppppppljbfx"), st.integers(0, WORKERS)), max_size=120)


@given(
    STEPS,
    st.sampled_from(["ssp", "async"]),
    st.integers(0, 3),
    st.sampled_from(["wait", "shrink"]),
)
def test_staleness_is_never_above_its_bound(
    steps: list[tuple[str, int]], mode: str, staleness: int, on_loss: str
) -> None:
    more: dict[str, Any] = {"mode": mode, "on_loss": on_loss}
    more |= {"grace_s": 9.0} if on_loss == "wait" else {}
    more |= {"staleness": staleness} if mode == "ssp" else {}
    run = Run(**more)
    for what, worker in steps:
        if what == "p":
            run.push(worker)
        elif what == "l":
            run.lose(worker)
        elif what == "j":
            run.join()
        elif what == "x":
            run.leave(worker)
        else:
            run.come_back(worker, is_fresh=what == "f")
    assert not run.failed
    # Whoever is slowest may always go on, if it is there.
    if run.completed:
        slowest = min(run.completed, key=lambda worker: run.completed[worker])
        assert run.may(slowest) or slowest in run.away


def test_the_fast_wait_for_the_slow_and_no_longer() -> None:
    run = Run(mode="ssp", staleness=2)
    for _ in range(10):
        run.push(0)
        run.push(1)
    assert run.completed == {0: 3, 1: 3, 2: 0}
    run.push(2)
    assert run.allowed == {0: 4, 1: 4, 2: 4}
    run.push(0)
    run.push(0)
    assert run.completed[0] == 4


def test_who_joins_begins_where_the_slowest_is() -> None:
    run = Run(mode="ssp", staleness=2)
    for worker in (0, 1, 2, 0, 1, 0):
        run.push(worker)
    run.join()
    assert run.completed == {0: 3, 1: 2, 2: 1, 3: 1}
    assert run.allowed[3] == 4


def test_who_is_gone_for_good_holds_nobody_back() -> None:
    run = Run(mode="ssp", staleness=1, on_loss="shrink")
    for worker in (0, 1, 0, 1):
        run.push(worker)
    assert not run.may(0)
    run.lose(2)
    assert run.may(0)


def test_async_holds_nobody_back() -> None:
    run = Run(mode="async")
    for _ in range(100):
        run.push(0)
    assert run.completed[0] == 100
    assert run.allowed == {}


def test_fail_is_the_default() -> None:
    run = Run(mode="async")
    run.lose(1)
    assert run.failed


def test_a_push_that_is_told_twice_counts_once() -> None:
    run = Run(mode="async")
    run.push(0)
    assert run.membership.handle(happened.Pushed(0, 0)) == []
    run.push(0)
    assert run.membership.iteration == 0
    for worker in (1, 2):
        run.push(worker)
    assert run.membership.iteration == 1
