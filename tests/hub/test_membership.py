"""Whatever happens to workers, every chunk is stepped with the same contributions, once each."""

from __future__ import annotations

from typing import Any

import pytest

from hub.membership_world import World
from plink.hub.membership import actions as to_do
from plink.hub.membership import events as happened
from plink.hub.membership.actions import Action
from plink.hub.membership.machine import Membership
from plink.hub.service import Quotas, ServiceOptions

MOST_TICKS = 60_000
KILLS, JOINS = 400, 200


def options(**more: Any) -> ServiceOptions:
    return ServiceOptions(**{"namespace": "job", "workers": 3, **more})


WAIT: dict[str, Any] = {"on_loss": "wait", "grace_s": 1e5}
CASES: dict[str, dict[str, Any]] = {
    "wait, stream": {**WAIT},
    "wait, step": {**WAIT, "commit": "step"},
    "shrink, step": {"on_loss": "shrink", "commit": "step"},
}


def live(world: World, iterations: int) -> None:
    """Until all chunks have been stepped so often more, while everybody who runs gets on."""
    goal = min(chunk.iteration for chunk in world.chunks) + iterations
    for _ in range(MOST_TICKS):
        world.tick()
        if min(chunk.iteration for chunk in world.chunks) >= goal:
            return
    raise AssertionError("the service stands still")


def trouble(world: World, kinds: str) -> None:
    running = [one for one in world.running() if not one.asks]
    kind = world.dice.choice(kinds)
    if kind == "j" and len(world.membership.workers) < 6:
        world.add()
    elif running:
        process = world.dice.choice(running)
        if kind == "l" and len(running) > 2 and process.is_between:
            world.leave(process)
        elif kind in "ck" and len(running) > 1:
            is_cut = kind == "c" and world.options.on_loss == "wait"
            world.kill(process, is_cut=is_cut)


@pytest.mark.parametrize("case", CASES)
def test_no_contribution_is_lost_or_counted_twice(case: str) -> None:
    # All cases together have some 1,200 kills and 600 joins.
    kills = joins = seed = 0
    while kills < KILLS or joins < JOINS:
        world = World(options(**CASES[case]), seed)
        for _ in range(3):
            world.add()
        # Troubles come together, too: within the same iteration.
        likelihood = 0.01
        for _ in range(3000):
            world.tick()
            if world.dice.random() < likelihood:
                trouble(world, "jcckkl")
                likelihood = 0.1
            else:
                likelihood = max(0.005, likelihood * 0.9)
        live(world, 6)
        world.check()
        assert not world.failed
        kills += world.kills
        joins += world.joins
        seed += 1


def gathered(service: ServiceOptions, **more: Any) -> tuple[Membership, list[Action]]:
    """A service whose workers are all there, and what followed from the last of them."""
    membership = Membership(service, **more)
    actions: list[Action] = []
    for token in range(service.workers):
        membership.handle(happened.Request(token))
    for worker in range(service.workers):
        actions = membership.handle(happened.Initialised(worker))
    return membership, actions


def test_iterations_begin_when_all_are_there_and_are_told_ahead() -> None:
    membership = Membership(options(workers=2))
    assert membership.handle(happened.Request(7)) == [to_do.Seat(7, 0, 0, is_source=True)]
    assert membership.handle(happened.Request(8)) == [to_do.Seat(8, 1, 0)]
    assert membership.handle(happened.Request(9)) == [
        to_do.Refuse(9, "all 2 places for workers are taken")
    ]
    assert membership.handle(happened.Initialised(0)) == []
    assert membership.handle(happened.Initialised(1)) == [
        to_do.Admit(0, 0),
        to_do.Admit(1, 0),
        to_do.Begin(0, 1, (0, 1)),
        to_do.Begin(1, 2, (0, 1)),
    ]
    assert membership.handle(happened.Pushed(0, 0, 1)) == []
    assert membership.handle(happened.Pushed(1, 0, 1)) == [to_do.Begin(2, 3, (0, 1))]
    # Who joins does so at the first iteration that nobody has been told of.
    membership.handle(happened.Request(10))
    assert membership.handle(happened.Initialised(2)) == [to_do.Admit(2, 3)]
    membership.handle(happened.Pushed(0, 1, 2))
    assert membership.handle(happened.Pushed(1, 1, 2)) == [to_do.Begin(3, 4, (0, 1, 2))]


def test_the_source_of_values_is_replaced_while_there_are_none() -> None:
    membership = Membership(options(workers=2))
    membership.handle(happened.Request(0))
    membership.handle(happened.Request(1))
    membership.handle(happened.Initialised(1))
    assert membership.handle(happened.Lost(0, 0, 1.0, "it was killed")) == [
        to_do.Drop(0, 0, "worker 0 is lost: it was killed"),
        to_do.Source(1),
    ]
    assert membership.handle(happened.Request(2)) == [to_do.Seat(2, 0, 1)]
    assert membership.handle(happened.Initialised(0)) == []
    assert to_do.Begin(0, 1, (0, 1)) in membership.handle(happened.Initialised(1))


def test_a_restored_service_needs_no_source_and_begins_where_it_was() -> None:
    membership = Membership(options(workers=1), 12, has_values=True)
    assert membership.handle(happened.Request(0)) == [to_do.Seat(0, 0, 0)]
    assert membership.handle(happened.Initialised(0)) == [
        to_do.Admit(0, 12),
        to_do.Begin(12, 1, (0,)),
        to_do.Begin(13, 2, (0,)),
    ]


def test_fail_names_the_worker_and_the_iteration() -> None:
    membership, _ = gathered(options(workers=2))
    sentence = "worker 1 is lost in iteration 0: its connection has ended"
    assert membership.handle(happened.Lost(1, 0, 5.0)) == [
        to_do.Fail(sentence),
        to_do.Drop(0, 0, sentence),
        to_do.Drop(1, 0, sentence),
    ]
    assert membership.is_over
    assert membership.handle(happened.Pushed(0, 0, 1)) == []
    assert membership.handle(happened.Request(9)) == [to_do.Refuse(9, sentence)]


def test_a_connection_of_an_earlier_incarnation_is_nobodys() -> None:
    membership, _ = gathered(options(workers=2, on_loss="wait", grace_s=3.0))
    membership.handle(happened.Lost(1, 0, 5.0))
    membership.handle(happened.Request(9, 1, 0, 0))
    assert membership.handle(happened.Lost(1, 0, 5.5)) == []


def test_wait_gives_grace_from_the_loss_on_and_then_fails() -> None:
    membership, _ = gathered(options(workers=2, on_loss="wait", grace_s=3.0))
    assert membership.handle(happened.Lost(1, 0, 5.0)) == [to_do.WaitUntil(1, 8.0)]
    assert membership.handle(happened.Tick(7.9)) == []
    # Who comes back and is lost again before it is ready has no more time than before.
    assert membership.handle(happened.Request(9, 1, 0, 0)) == [to_do.Seat(9, 1, 1)]
    assert membership.handle(happened.Lost(1, 1, 7.95)) == [to_do.WaitUntil(1, 8.0)]
    failed = membership.handle(happened.Tick(8.0))
    assert failed[0] == to_do.Fail("worker 1 is lost in iteration 0 and did not come back in 3 s")


def test_who_is_back_pushes_again_what_was_not_complete() -> None:
    membership, _ = gathered(options(workers=2, on_loss="wait", grace_s=3.0))
    membership.handle(happened.Lost(1, 0, 5.0))
    membership.handle(happened.Request(9, 1, 0, iteration=0))
    back = membership.handle(happened.Initialised(1))
    assert back == [to_do.Admit(1, 1), to_do.PushAgain(1, 0)]
    assert membership.handle(happened.Tick(100.0)) == []
    membership.handle(happened.Pushed(1, 0, 1))
    membership.handle(happened.Lost(1, 1, 105.0))
    membership.handle(happened.Request(10, 1, 1, iteration=0))
    assert membership.handle(happened.Initialised(1)) == [to_do.Admit(1, 1)]


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (happened.Request(9, 0, 0, 0), "worker 0 is not waited for"),
        (happened.Request(9, 5, 0, 0), "worker 5 is not waited for"),
        (happened.Request(9, 1, 3, 0), "worker 1 is not waited for"),
        (happened.Request(9, 1, 0, 8), "worker 1 is in iteration 8 and the service in 0"),
    ],
)
def test_who_was_not_lost_cannot_come_back(request_: happened.Request, sentence: str) -> None:
    membership, _ = gathered(options(workers=2, on_loss="wait", grace_s=3.0))
    membership.handle(happened.Lost(1, 0, 5.0))
    (refused,) = membership.handle(request_)
    assert isinstance(refused, to_do.Refuse)
    assert refused.sentence == sentence


def test_shrink_discards_what_is_not_whole_and_counts_what_is() -> None:
    service = options(workers=3, on_loss="shrink", commit="step")
    membership, _ = gathered(service)
    lost = membership.handle(happened.Lost(2, 0, 5.0))
    assert lost[1:] == [
        to_do.Begin(0, 3, (0, 1), discard=(2,)),
        to_do.Begin(1, 4, (0, 1)),
    ]
    # What was reported of the earlier set is void.
    assert membership.handle(happened.Pushed(0, 0, 1)) == []
    assert membership.handle(happened.Pushed(1, 0, 3)) == []
    lost = membership.handle(happened.Lost(1, 0, 6.0))
    assert lost[1:] == [to_do.Begin(1, 5, (0,))]
    assert membership.handle(happened.Pushed(0, 0, 3)) == [
        to_do.Commit(0, 3),
        to_do.Begin(2, 6, (0,)),
    ]


def test_shrink_to_nobody_gathers_again() -> None:
    service = options(workers=1, on_loss="shrink", commit="step")
    membership, _ = gathered(service)
    membership.handle(happened.Lost(0, 0, 5.0))
    assert membership.handle(happened.Request(4)) == [to_do.Seat(4, 0, 1)]
    assert membership.handle(happened.Initialised(0)) == [
        to_do.Admit(0, 0),
        to_do.Begin(0, 3, (0,)),
        to_do.Begin(1, 4, (0,)),
    ]


def test_all_leave_and_the_next_begin_where_they_were() -> None:
    membership, _ = gathered(options(workers=2))
    membership.handle(happened.Pushed(0, 0, 1))
    membership.handle(happened.Pushed(1, 0, 1))
    membership.handle(happened.Left(0, 1))
    assert membership.handle(happened.Left(1, 1)) == [to_do.Drop(1, 0, "worker 1 has left")]
    assert membership.workers == ()
    membership.handle(happened.Request(5))
    membership.handle(happened.Request(6))
    assert membership.handle(happened.Initialised(0)) == []
    began = membership.handle(happened.Initialised(1))
    assert began[:3] == [to_do.Admit(0, 1), to_do.Admit(1, 1), to_do.Begin(1, 6, (0, 1))]


def test_a_process_that_goes_on_for_another_may_not_leave_in_the_middle() -> None:
    membership, _ = gathered(options(workers=2, on_loss="wait", grace_s=3.0))
    membership.handle(happened.Lost(1, 0, 5.0))
    membership.handle(happened.Request(9, 1, 0))
    assert membership.handle(happened.Initialised(1)) == [to_do.Admit(1, 0)]
    left = membership.handle(happened.Left(1, 0))
    assert to_do.Fail("worker 1 has left in the middle of iteration 0") in left


def test_delete_drops_everybody() -> None:
    membership, _ = gathered(options(workers=2))
    sentence = "the service is deleted"
    assert membership.handle(happened.Delete()) == [
        to_do.Drop(0, 0, sentence),
        to_do.Drop(1, 0, sentence),
        to_do.End(sentence),
    ]
    assert membership.handle(happened.Delete()) == []


def test_a_service_takes_no_more_workers_than_its_quota() -> None:
    membership, _ = gathered(options(workers=2, quotas=Quotas(workers=3)))
    assert membership.handle(happened.Request(5)) == [to_do.Seat(5, 2, 0)]
    assert membership.handle(happened.Request(6)) == [
        to_do.Refuse(6, "all 3 places for workers are taken")
    ]
