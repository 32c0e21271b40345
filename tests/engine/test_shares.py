"""What shares follow from what workers cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from plink.engine import ConnectionStatistics, Statistics, WorkerStatistics
from plink.engine.shares import Shares, costs
from support.seeds import with_seeds

# Windows that count.
SETTLED = 3


def interfaces(
    rates: Sequence[float], noise: float = 0.0, seed: int = 0
) -> Callable[..., list[float]]:
    """Costs of workers that have an interface each."""
    rng = np.random.default_rng(seed)
    return lambda _: [(1.0 + noise * rng.normal()) / rate for rate in rates]


def windows(shares: Shares, cost: Callable[[Sequence[float]], list[float]], count: int) -> int:
    """How often they changed."""
    return sum(shares.follow(cost(shares.weights)) for _ in range(count))


@with_seeds(5, 200)
def test_random_interfaces_are_used_to_the_full(seed: int) -> None:
    rates = np.random.default_rng(seed).uniform(50.0, 1000.0, size=2 + seed % 3)
    shares = Shares(len(rates))
    # Three windows in a row have to agree; of 6,000 seeds one has no such three among ten.
    windows(shares, interfaces(rates, noise=0.02, seed=seed), 30)
    slowest_s = max(weight / rate for weight, rate in zip(shares.weights, rates, strict=True))
    assert 1.0 / slowest_s > 0.9 * rates.sum()
    assert sum(shares.weights) == pytest.approx(1.0)


@with_seeds(5, 200)
def test_equal_interfaces_stay_turn_by_turn(seed: int) -> None:
    shares = Shares(2)
    # Of 3,000 seeds two have three windows in a row whose noise looks like a gain.
    assert windows(shares, interfaces([100.0, 100.0], noise=0.05, seed=seed), 200) <= 2
    assert min(shares.weights) > 0.4


@with_seeds(3, 100)
def test_unequal_interfaces_do_not_swing(seed: int) -> None:
    shares = Shares(2)
    cost = interfaces([400.0, 100.0], noise=0.03, seed=seed)
    assert windows(shares, cost, SETTLED) == 1
    assert windows(shares, cost, 200) <= 4
    assert shares.weights[0] == pytest.approx(0.8, abs=0.03)


def test_one_odd_window_changes_nothing() -> None:
    shares = Shares(2)
    even, odd = interfaces([1.0, 1.0]), interfaces([1.0, 0.1])
    for _ in range(5):
        assert windows(shares, even, 3) + windows(shares, odd, 1) == 0


def test_a_change_is_followed_both_ways() -> None:
    shares = Shares(2)
    windows(shares, interfaces([100.0, 100.0]), 5)
    assert windows(shares, interfaces([100.0, 10.0]), 2 * SETTLED) == 2
    assert shares.weights[0] == pytest.approx(10 / 11)
    assert windows(shares, interfaces([100.0, 100.0]), 5 * SETTLED) <= 5
    assert shares.are_equal


def test_what_is_let_through_in_bursts_makes_nothing_swing() -> None:
    """Half of what the slow interface should carry costs it no time."""

    def cost(weights: Sequence[float]) -> list[float]:
        rates, burst = (400.0, 100.0), 0.1
        return [
            max(0.01, weight - burst) / rate / weight
            for weight, rate in zip(weights, rates, strict=True)
        ]

    shares = Shares(2)
    assert windows(shares, cost, 100) <= 4
    slow = shares.weights[1]
    assert (slow - 0.1) / 100.0 == pytest.approx((0.9 - slow) / 400.0, rel=0.2)


def test_a_very_slow_interface_is_still_measured() -> None:
    shares = Shares(2)
    windows(shares, interfaces([1.0, 1e-6]), 2 * SETTLED)
    assert min(shares.weights) == pytest.approx(1 / 64, rel=0.02)


def test_a_rank_with_one_interface_does_not_hold_up_those_with_two() -> None:
    """Both of its workers share it; while both send, each has half of it."""

    def cost(weights: Sequence[float]) -> list[float]:
        few, much = sorted(weights)
        busy_s = {few: 2.0 * few, much: 1.0}
        if few == much:
            busy_s = {few: 1.0}
        one = [busy_s[weight] / weight / 400.0 for weight in weights]
        two = [1.0 / 400.0, 1.0 / 100.0]
        return [max(pair) for pair in zip(one, two, strict=True)]

    shares = Shares(2)
    windows(shares, cost, 30)
    # At a quarter the slow interface of the other takes as long as the single one.
    assert shares.weights[1] == pytest.approx(0.25, abs=0.03)


def test_what_nobody_knows_changes_nothing() -> None:
    shares = Shares(2)
    assert windows(shares, lambda _: [0.1, 0.0], 10) == 0


def statistics(
    busy_us: Sequence[int], limited_us: int, own_us: int, mb: Sequence[int]
) -> Statistics:
    """Two peers by two workers; the first peer's connections are less busy."""
    connections = [
        ConnectionStatistics(
            peer, worker, False, 0, 0, 0, 0, 0, 0, 0, 0, busy // (3 - peer), limited_us, 0
        )
        for worker, busy in enumerate(busy_us)
        for peer in (1, 2)
    ]
    workers = [WorkerStatistics(own_us, size * 1_000_000, 0.5) for size in mb]
    return Statistics(0, [], connections, workers)


def test_costs_are_seconds_for_the_whole() -> None:
    before = statistics([0, 0], 0, 0, [0, 0])
    found = costs(before, statistics([200_000, 900_000], 100_000, 1_000_000, [30, 10]), 2)
    assert found == pytest.approx([0.1 / 0.75, 0.8 / 0.25])
    # Small buffers keep connections busy, not what counts of a worker.
    found = costs(before, statistics([200_000, 900_000], 0, 300_000, [30, 10]), 2)
    assert found == pytest.approx([0.2 / 0.75, 0.3 / 0.25])
    assert not costs(before, statistics([20_000, 20_000], 0, 20_000, [1, 1]), 2).any()
    assert costs(before, statistics([200_000, 0], 0, 200_000, [30, 0]), 2) == pytest.approx(
        [0.2, 0.0]
    )
