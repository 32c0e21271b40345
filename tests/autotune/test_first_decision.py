"""A tuner decides soon at the defaults, whatever a job reduces in an iteration and however fast."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from autotune.alone import Alone, Listening, Pending
from engine.forests import stars
from plink.autotune.protocol.messages import Report
from plink.autotune.ranks import rank as rank_module
from plink.autotune.ranks.placing import Placing
from plink.autotune.ranks.rank import TunedRank
from plink.autotune.ranks.settings import settings_of
from plink.autotune.tuner.interface import TunerOptions

OPTIMIZER = 1
LONGEST_S = 30.0
MOST_ITERATIONS = 50

# The daemon begins to tune with the first window. A plan that never fitted is found by comparing
# two sets of windows; it takes longer than noticing a sudden change.
LEARNED = 1 + TunerOptions().learning_windows
DECIDED = LEARNED + TunerOptions().learning_windows


class Clock:
    """A clock that a test moves."""

    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


def windows_of(
    clock: Clock, iteration_s: float, buckets: list[int], *, steps: bool
) -> list[tuple[float, int, Report]]:
    """Run a job at the defaults; for each window the seconds, iterations and the report."""
    settings = settings_of({"PLINK_AUTOTUNE": "localhost:1"}, 1800.0)
    assert settings is not None
    rank = TunedRank(
        Alone(ending=1 << 20),
        0,
        stars(2),
        placing=Placing(range(2)),
        settings=settings,
        secret=None,
    )
    rank._client = listening = Listening()
    began_s = clock.now_s
    windows: list[tuple[float, int, Report]] = []
    for iteration in range(1, 20_000):
        # Two thirds of it compute, then the buckets begin in a burst.
        clock.now_s += iteration_s * 2 / 3
        for size_bytes in buckets:
            clock.now_s += 1e-5
            rank.after(size_bytes, Pending(has_ended=True))
        clock.now_s += iteration_s / 3
        if steps:
            rank.step(OPTIMIZER)
        reports = [one for one in listening.heard if isinstance(one, Report)]
        if len(reports) > len(windows):
            windows.append((clock.now_s - began_s, iteration, reports[-1]))
        if len(windows) == DECIDED:
            break
    rank.close()
    return windows


@pytest.mark.parametrize("steps", [True, False])
@pytest.mark.parametrize(
    ("iteration_s", "buckets"),
    [
        (0.002, [1_000_000]),
        (0.02, [3_950_000]),
        (0.18, [500, 2000] * 150),
        (0.83, [1_000_000] * 4),
        (5.0, [102_000_000]),
        (5.0, [1_000_000]),
    ],
)
def test_a_plan_that_never_fitted_is_found_soon(
    monkeypatch: pytest.MonkeyPatch, iteration_s: float, buckets: list[int], steps: bool
) -> None:
    clock = Clock()
    monkeypatch.setattr(rank_module, "time", SimpleNamespace(monotonic=clock.monotonic))
    windows = windows_of(clock, iteration_s, buckets, steps=steps)
    assert len(windows) == DECIDED
    seconds, iterations, _ = windows[-1]
    assert seconds <= LONGEST_S or iterations <= MOST_ITERATIONS
    if steps:
        period_s = iteration_s + 1e-5 * len(buckets)
        for _, _, report in windows:
            assert len(report.iteration_s) >= 3
            assert report.iteration_s == pytest.approx(period_s)


def test_a_vote_has_an_iteration_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points are as far apart as iterations, so that no burst of buckets waits for a vote."""
    clock = Clock()
    monkeypatch.setattr(rank_module, "time", SimpleNamespace(monotonic=clock.monotonic))
    windows = windows_of(clock, 0.83, [1_000_000] * 5, steps=True)
    for _, _, report in windows[1:]:
        # Four iterations, of five collectives each.
        assert report.reduced_bytes == 20_000_000
