"""A rank says that it is paused once nothing of its collectives is left to do, and goes on."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pytest

from autotune.alone import Alone, Listening, Pending
from engine.forests import stars
from plink.autotune.protocol.identity import Identity, identity
from plink.autotune.protocol.messages import NewPlan, Paused
from plink.autotune.ranks.pause import Pause
from plink.autotune.ranks.placing import Placing
from plink.autotune.ranks.rank import TunedRank
from plink.autotune.ranks.settings import Settings
from plink.base.replacing import replace
from plink.engine import EngineError
from support.running import wait_for

RANKS = 2
SIZE_BYTES = 8
LONG_S = 10.0


def plan_of(number: int, pause_s: float) -> NewPlan:
    return NewPlan(Identity(number, 0), stars(RANKS), pause_s)


def test_a_rank_pauses_for_its_time_and_once() -> None:
    said: list[NewPlan] = []
    pause = Pause(lambda: True, said.append)
    plan = plan_of(3, 0.2)
    pause.at_point(plan)
    assert said == []
    pause.ask(plan)
    began_s = time.monotonic()
    pause.at_point(plan)
    assert time.monotonic() - began_s >= plan.pause_s
    pause.at_point(plan)
    assert said == [plan]
    # A newer plan is there already, or the daemon has gone.
    pause.ask(plan)
    pause.ask(plan_of(4, 0.0))
    pause.at_point(plan)
    pause.ask(plan)
    pause.release()
    pause.at_point(plan)
    assert said == [plan]


def test_the_time_counts_from_when_a_rank_is_paused() -> None:
    said_s: list[float] = []
    looks = itertools.count()
    pause = Pause(lambda: next(looks) >= 5, lambda _: said_s.append(time.monotonic()))
    # Long beside what five looks take on a busy machine.
    plan = plan_of(3, 3.0)
    pause.ask(plan)
    pause.at_point(plan)
    assert time.monotonic() - said_s[0] >= plan.pause_s


def test_a_rank_whose_collectives_do_not_end_goes_on_and_says_nothing() -> None:
    said: list[NewPlan] = []
    pause = Pause(lambda: False, said.append)
    pause.ask(plan_of(3, 0.1))
    pause.at_point(plan_of(3, 0.1))
    assert said == []


def test_a_rank_whose_engine_has_failed_goes_on_at_once() -> None:
    said: list[NewPlan] = []

    def fail() -> bool:
        raise EngineError("rank 1 is lost", 1)

    pause = Pause(fail, said.append)
    pause.ask(plan_of(3, 1e6))
    pause.at_point(plan_of(3, 1e6))
    assert said == []


def at_the_point(engine: Alone, *, may_pause: bool) -> tuple[TunedRank, Listening]:
    """A rank whose next collective is followed by the point where it is to pause."""
    forest = stars(RANKS)
    settings = Settings("", 0, may_pause=may_pause)
    rank = TunedRank(
        engine, 0, forest, placing=Placing(range(RANKS)), settings=settings, secret=None
    )
    listening = Listening()
    rank._client = listening
    other = replace(forest, weights=np.arange(1.0, 1.0 + len(forest.weights)))
    rank._take(NewPlan(identity(1, other), other, LONG_S))
    rank.after(SIZE_BYTES, Pending(has_ended=True))  # type: ignore[arg-type]
    listening.heard.clear()
    return rank, listening


@pytest.mark.parametrize("is_vote_first", [True, False])
def test_a_rank_is_paused_once_its_collectives_and_the_vote_have_ended(is_vote_first: bool) -> None:
    engine = Alone(ending=1)
    rank, listening = at_the_point(engine, may_pause=True)
    work = Pending()
    thread = threading.Thread(target=rank.after, args=(SIZE_BYTES, work))
    thread.start()
    try:
        wait_for(lambda: len(engine.votes) == 2)
        first, last = (engine.votes[1], work) if is_vote_first else (work, engine.votes[1])
        # It waits for a child, say, and sends nothing meanwhile.
        work.await_looks()
        first.has_ended = True
        last.await_looks()
        assert listening.heard == []
        last.has_ended = True
        wait_for(lambda: listening.heard != [])
        assert [type(one) for one in listening.heard] == [Paused]
        assert thread.is_alive()
    finally:
        rank.close()
        thread.join()


def test_ranks_of_a_group_that_soon_gives_up_do_not_pause() -> None:
    rank, listening = at_the_point(Alone(ending=1), may_pause=False)
    # It would never come back.
    rank.after(SIZE_BYTES, Pending())  # type: ignore[arg-type]
    assert rank.plan_number == 1
    assert listening.heard == []


@pytest.mark.parametrize("may_pause", [True, False])
def test_ranks_take_the_settings_of_rank_0(may_pause: bool) -> None:
    settings = Settings("h", 1, may_pause=may_pause)
    assert Settings.from_json(settings.to_json()) == settings
