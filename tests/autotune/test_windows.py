"""A rank's windows count the same iterations, however many optimizers there are."""

from __future__ import annotations

from autotune.alone import Alone, Listening, Pending
from engine.forests import stars
from plink.autotune.protocol.messages import Report
from plink.autotune.ranks.agreement import Stride
from plink.autotune.ranks.placing import Placing
from plink.autotune.ranks.rank import TunedRank
from plink.autotune.ranks.settings import Settings
from plink.training.iterations import LEAST_PERIODS

TIMES = LEAST_PERIODS + 1

CRITIC, GENERATOR, AVERAGE = 1, 2, 3
SIZE_BYTES = 8


def test_all_windows_of_a_rank_report_the_same_iterations() -> None:
    # However short, so that a window would be over before the generator has stepped.
    settings = Settings("", 0, stride=Stride(1 << 40, 1), window_s=1e-9)
    rank = TunedRank(
        Alone(ending=1 << 20),
        0,
        stars(2),
        placing=Placing(range(2)),
        settings=settings,
        secret=None,
    )
    rank._client = listening = Listening()

    def step(optimizer: int) -> None:
        rank.after(SIZE_BYTES, Pending(has_ended=True))  # type: ignore[arg-type]
        rank.step(optimizer)

    for iteration in range(20 * TIMES):
        for _ in range(5):
            step(CRITIC)
        step(GENERATOR)
        if iteration % 7 == 0:
            step(AVERAGE)
    reports = [one for one in listening.heard if isinstance(one, Report)]
    assert len(reports) > 10
    for report in reports[1:]:
        assert len(report.iteration_s) == LEAST_PERIODS
        assert report.reduced_bytes >= LEAST_PERIODS * 6 * SIZE_BYTES
    rank.close()
