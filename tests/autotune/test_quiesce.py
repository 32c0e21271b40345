"""How long training is paused, as the daemon counts; the ranks are played."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from autotune.reporting import join
from autotune.serving import TIMEOUT_S
from autotune.test_job import RANKS, begun
from plink.autotune.daemon.job import Job, Outgoing
from plink.autotune.daemon.reprobing import Reprobing
from plink.autotune.protocol.messages import MOST_PAUSE_S, NewPlan, Paused, Release
from plink.autotune.reprobing.measuring import Quiesce
from plink.autotune.reprobing.prober import Probed
from plink.autotune.reprobing.replanning import Replanned
from plink.formats.cluster import Cluster
from plink.formats.plan import Plan
from support.running import wait_for

SLOW_S = 0.3


class Watch:
    """Looks only for how long training is paused.

    Args:
        meanwhile: is done in the measuring thread, and then looked once more.
    """

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self._meanwhile = meanwhile
        self.left_s = self.later_s = -1.0

    def probe(self, plan: Plan, _: object, hosts: Sequence[str], quiesce: Quiesce) -> Probed:
        with quiesce() as left_s:
            self.left_s = left_s()
            self._meanwhile()
            self.later_s = left_s()
        return Probed(Replanned(None, "nothing changed"), Cluster([]), "probed", [])


class Ranks:
    """The ranks of a tuned job.

    Args:
        answer: their reaction to a plan that tells them to pause.
    """

    def __init__(self, answer: Callable[[Job, NewPlan], None]) -> None:
        self.job = begun()
        self.sent: list[object] = []
        self._answer = answer

    def send(self, job: Job, outgoing: Outgoing) -> None:
        for _, message in outgoing:
            self.sent.append(message)
            if isinstance(message, NewPlan) and message.pause_s:
                self._answer(job, message)

    def probed(self, prober: Watch) -> None:
        """Their hosts are probed once."""

        async def probe() -> None:
            reprobing = Reprobing(self.job, self.send, prober, pause_timeout_s=1e6)
            reprobing.ask(0.0, ["h0"])
            while reprobing.is_busy:
                await asyncio.sleep(0.01)

        asyncio.run(asyncio.wait_for(probe(), TIMEOUT_S))


def test_the_pause_is_counted_from_the_first_rank_that_paused() -> None:
    def answer(job: Job, plan: NewPlan) -> None:
        loop = asyncio.get_running_loop()
        for rank in range(RANKS):
            loop.call_later(SLOW_S * rank, job.paused, rank, Paused(plan.identity))

    watch, ranks = Watch(), Ranks(answer)
    ranks.probed(watch)
    assert 0.0 < watch.left_s < MOST_PAUSE_S - (RANKS - 1) * SLOW_S
    assert isinstance(ranks.sent[-1], Release)


@pytest.mark.parametrize("is_back", [False, True])
def test_nobody_waits_for_a_rank_that_has_gone(is_back: bool) -> None:
    def answer(job: Job, plan: NewPlan) -> None:
        job.paused(0, Paused(plan.identity))
        loop = asyncio.get_running_loop()
        if is_back:
            loop.call_soon(job.joined, 0.0, join(1, plan.identity, RANKS))
        else:
            loop.call_soon(job.left, 0.0, 1)

    watch, ranks = Watch(), Ranks(answer)
    ranks.probed(watch)
    assert watch.left_s == 0.0
    assert isinstance(ranks.sent[1], Release)
    assert not ranks.job.barrier.is_active


def test_the_others_go_on_when_a_rank_leaves_while_hosts_are_probed() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    def answer(job: Job, plan: NewPlan) -> None:
        loops.append(asyncio.get_running_loop())
        for rank in range(RANKS):
            job.paused(rank, Paused(plan.identity))

    def leave() -> None:
        loops[0].call_soon_threadsafe(ranks.job.left, 0.0, 1)
        wait_for(lambda: len(ranks.sent) > 1, limit_s=TIMEOUT_S)

    watch, ranks = Watch(leave), Ranks(answer)
    ranks.probed(watch)
    assert watch.left_s > 0.0
    assert watch.later_s == 0.0
    assert [type(message) for message in ranks.sent] == [NewPlan, Release]
