"""What one rank that sleeps too long does to the others (Pumma et al., sections III-D and IV)."""

from __future__ import annotations

import statistics

from control.programs import flat
from plink.simulate.control.clocked import Clocked
from plink.simulate.control.costs import Often, Oversleep
from plink.training.control.bitvector import BitVector
from plink.training.control.settings import Settings
from plink.training.control.shape import places

CYCLE_S = 0.005
LOCAL = Settings(cycle_s=CYCLE_S)
GLOBAL = Settings(cycle_s=CYCLE_S, common_sleep_every=1)
NONBLOCKING = Settings(cycle_s=CYCLE_S, is_blocking=False)


def running(settings: Settings, ranks: int, oversleep: Oversleep, until_s: float) -> Clocked:
    machines = [BitVector(place, settings) for place in places(flat(ranks))]
    clocked = Clocked(machines, oversleep=oversleep)
    clocked.run(until_s)
    return clocked


def once(rank: int, sleep: int) -> float:
    """Rank 1, after its tenth cycle."""
    return 0.02 if (rank, sleep) == (1, 10) else 0.0


def test_one_oversleep_delays_all_cycles_that_follow() -> None:
    spreads_s = running(LOCAL, 2, once, 0.5).spreads_s()
    assert max(spreads_s[:10]) < 0.001
    assert 0.019 < spreads_s[10] < 0.021
    # The punctual rank has waited and does not sleep; the late one has not, and sleeps again.
    assert len(spreads_s) > 60
    assert min(spreads_s[11:]) > 0.9 * CYCLE_S


def test_ranks_that_sleep_alike_are_together_again_at_once() -> None:
    spreads_s = running(GLOBAL, 2, once, 0.5).spreads_s()
    assert 0.019 < spreads_s[10] < 0.021
    assert max(spreads_s[11:]) < 0.001


def test_a_common_sleep_every_few_cycles_ends_it_after_as_many() -> None:
    every_four = Settings(cycle_s=CYCLE_S, common_sleep_every=4)
    spreads_s = running(every_four, 2, once, 0.5).spreads_s()
    assert spreads_s[11] > 0.9 * CYCLE_S
    assert max(spreads_s[13:]) < 0.001


def test_sleeping_alike_halves_the_spread_of_arrivals() -> None:
    for ranks, seed in ((2, 1), (8, 2)):
        local, alike = (
            running(settings, ranks, Often(0.05, 0.02, seed), 5.0).spreads_s()
            for settings in (LOCAL, GLOBAL)
        )
        assert statistics.median(local) > 0.9 * CYCLE_S
        assert statistics.median(alike) < 0.5 * statistics.median(local)
        # Who oversleeps is late for one cycle either way: with more ranks, of which all sleep now,
        # there is one in most cycles.
        if ranks == 2:
            assert statistics.mean(alike) < 0.5 * statistics.mean(local)


def test_ranks_that_do_not_block_wait_for_nobody() -> None:
    blocking, sleeping = (
        running(settings, 4, Often(0.05, 0.02, 3), 5.0) for settings in (LOCAL, NONBLOCKING)
    )
    waited_s = [sum(map(clocked.waited_s, range(4))) for clocked in (blocking, sleeping)]
    assert waited_s[0] > 1.0
    assert waited_s[1] < 0.01 * waited_s[0]
    # At the price of cycles that end only when every rank has woken once more.
    assert len(sleeping.spreads_s()) < len(blocking.spreads_s())
