"""How long training holds still, as the daemon counts; the ranks are played."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from autotune.test_job import RANKS, begun
from plink.autotune.daemon.job import Job, Outgoing
from plink.autotune.daemon.reprobing import Reprobing
from plink.autotune.ranks.messages import MOST_HOLD_S, Holding, NewPlan, Release
from plink.autotune.reprobing.measuring import Quiet
from plink.autotune.reprobing.prober import Probed
from plink.autotune.reprobing.replanning import Replanned
from plink.files.cluster import Cluster
from plink.files.plan import Plan

SLOW_S = 0.3


class Watch:
    """Looks only for how long training holds still."""

    def __init__(self) -> None:
        self.left_s = -1.0

    def probe(self, plan: Plan, _: object, hosts: Sequence[str], quiet: Quiet) -> Probed:
        with quiet() as left_s:
            self.left_s = left_s()
        return Probed(Replanned(None, "nothing changed"), Cluster([]), "probed", [])


class Ranks:
    """Of a job whose plan is tuned.

    Args:
        answer: what they do when they are to hold still with that plan.
    """

    def __init__(self, answer: Callable[[Job, NewPlan], None]) -> None:
        self.job = begun()
        self.sent: list[object] = []
        self._answer = answer

    def send(self, job: Job, outgoing: Outgoing) -> None:
        for _, message in outgoing:
            self.sent.append(message)
            if isinstance(message, NewPlan) and message.hold_s:
                self._answer(job, message)

    def probed(self, prober: Watch) -> None:
        """Their hosts are probed once."""

        async def probe() -> None:
            reprobing = Reprobing(self.job, self.send, prober)
            reprobing.ask(0.0, ["h0"])
            while reprobing.is_busy:
                await asyncio.sleep(0.01)

        asyncio.run(probe())


def test_the_moment_is_counted_from_the_first_rank_that_holds_still() -> None:
    def answer(job: Job, plan: NewPlan) -> None:
        loop = asyncio.get_running_loop()
        for rank in range(RANKS):
            loop.call_later(SLOW_S * rank, job.holding, rank, Holding(plan.identity))

    watch, ranks = Watch(), Ranks(answer)
    ranks.probed(watch)
    assert 0.0 < watch.left_s < MOST_HOLD_S - (RANKS - 1) * SLOW_S
    assert isinstance(ranks.sent[-1], Release)
