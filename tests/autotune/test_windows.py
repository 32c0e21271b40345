"""A rank's windows count the same iterations, however many optimizers there are."""

from __future__ import annotations

import pytest

from autotune.alone import Alone, Listening, Pending
from engine.forests import stars
from plink.autotune.daemon.windows import reduced_bytes, window_of
from plink.autotune.protocol.messages import Report, from_json, to_json
from plink.autotune.ranks.placing import Placing
from plink.autotune.ranks.rank import JUDGED_WINDOWS, TunedRank
from plink.autotune.ranks.settings import Settings
from plink.autotune.tuner.interface import TunerOptions
from plink.training.iterations import LEAST_PERIODS

TIMES = LEAST_PERIODS + 1

CRITIC, GENERATOR, AVERAGE = 1, 2, 3
SIZE_BYTES = 8


def alone() -> TunedRank:
    # However short, so that a window would be over before the slowest optimizer has stepped.
    settings = Settings("", 0, window_s=1e-9)
    return TunedRank(
        Alone(ending=1 << 20),
        0,
        stars(2),
        placing=Placing(range(2)),
        settings=settings,
        secret=None,
    )


def test_a_sharded_job_is_reported_by_its_collectives() -> None:
    rank = alone()
    rank._client = listening = Listening()
    for _ in range(10 * TIMES):
        for name, size_bytes in (("all-gather", 8), ("all-gather", 8), ("reduce-scatter", 24)):
            rank.after(size_bytes, Pending(has_ended=True), name)
        # Sizes that ranks do not share count for nothing, but the call does.
        rank.after(0, Pending(has_ended=True), "all-to-all")
        rank.step(GENERATOR)
    reports = [one for one in listening.heard if isinstance(one, Report)]
    assert reports
    for report in reports[1:]:
        assert set(report.bytes_of) == {"all-gather", "reduce-scatter"}
        assert sum(report.bytes_of.values()) == report.reduced_bytes
        assert len(report.iteration_s) == LEAST_PERIODS
    window = window_of([reports[-1], reports[-1]], [0, 1], 0)
    in_an_iteration = sum(window.bytes_of.values())
    assert in_an_iteration == pytest.approx(reduced_bytes([reports[-1]]))
    assert from_json(to_json(reports[-1]), 2).bytes_of == reports[-1].bytes_of
    rank.close()


def test_a_void_window_is_not_reported() -> None:
    rank = alone()
    rank._client = listening = Listening()
    for iteration in range(10 * TIMES):
        rank.after(SIZE_BYTES, Pending(has_ended=True))  # type: ignore[arg-type]
        rank.step(CRITIC)
        if iteration % 3 == 0:
            # Sooner than a window has its iterations.
            rank.void_window()
    assert not [one for one in listening.heard if isinstance(one, Report)]
    assert not rank.is_judging
    rank.close()


def test_a_plan_is_judged_for_as_long_as_the_daemon_takes() -> None:
    assert TunerOptions().trial_windows + 1 == JUDGED_WINDOWS


def test_all_windows_of_a_rank_report_the_same_iterations() -> None:
    rank = alone()
    rank._client = listening = Listening()

    def step(optimizer: int) -> None:
        rank.after(SIZE_BYTES, Pending(has_ended=True))  # type: ignore[arg-type]
        rank.step(optimizer)

    for iteration in range(30 * TIMES):
        for _ in range(5):
            step(CRITIC)
        step(GENERATOR)
        if iteration % 7 == 0:
            step(AVERAGE)
    reports = [one for one in listening.heard if isinstance(one, Report)]
    assert len(reports) > 10
    for report in reports[1:]:
        iterations = len(report.iteration_s)
        assert iterations >= LEAST_PERIODS
        # Six collectives each, the average's, and what began before the first and after the last.
        assert report.reduced_bytes >= iterations * 6 * SIZE_BYTES
        assert report.reduced_bytes <= (iterations + 2) * 7 * SIZE_BYTES
    rank.close()
