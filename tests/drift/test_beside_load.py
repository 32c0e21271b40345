"""Checks of files that were measured beside load: a host that got slower is seen, and no other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from drift.networks import as_matrix, named, racks_of, truth_us
from plink.formats.matrices import Matrix
from plink.formats.measurements import Halves, RttMeasurement
from plink.measure.drift.judge import DriftJudgement, Pair, build_baseline, measure_and_judge
from plink.measure.probing.tools import CHECK_PARTNERS, CHECK_PASSES
from plink.solvers.shrinkage import estimate_distances, lowest_readings

SEEDS = range(8)
SLOW_CORE = 1.4
# How often a pair meets while a core is slow, which both directions mostly show.
SHARES = [0.35, 0.6]


def beside_load(truth: Matrix, rng: np.random.Generator, passes: int, share: float) -> list[Matrix]:
    found = []
    for _ in range(passes):
        meets = np.triu(rng.random(truth.shape) < share, 1)
        is_slow = (meets | meets.T) & (rng.random(truth.shape) < 0.7)
        factor = np.where(is_slow, SLOW_CORE * np.exp(rng.normal(0.0, 0.03, truth.shape)), 1.0)
        readings = truth * factor * np.exp(np.abs(rng.normal(0.0, 0.03, truth.shape)))
        np.fill_diagonal(readings, np.nan)
        found.append(readings)
    return found


def read(truth: Matrix, rng: np.random.Generator, share: float) -> RttMeasurement:
    odd, even, third = beside_load(truth, rng, 3, share)
    odd = np.fmin(odd, third)
    counts = np.isfinite(odd).astype(np.int64)
    return RttMeasurement(
        tool="echo",
        rtt_us={10.0: np.fmin(odd, even), 50.0: 1.1 * np.fmin(odd, even)},
        reading=10.0,
        samples=counts,
        losses=0 * counts,
        passes=3 * counts,
        halves_us=Halves(odd, even),
    )


def check_beside_load(
    racks: int, hosts: int, share: float, seed: int, factor: float
) -> tuple[int, DriftJudgement]:
    """Check a file against the same network with one host slower by a factor."""
    rng = np.random.default_rng(seed)
    rack = racks_of(racks, hosts)
    before = truth_us(rack)
    file = read(before, rng, share)
    estimate = estimate_distances(*lowest_readings(list(file.halves_us)), [rack])
    host, now = int(rng.integers(len(rack))), before.copy()
    now[host] *= factor
    now[:, host] *= factor

    def measure(pairs: Sequence[Pair]) -> Matrix:
        readings = np.fmin.reduce(beside_load(now, rng, CHECK_PASSES, share))
        return np.where(as_matrix(pairs, len(now)), readings, np.nan)

    comparable = np.isfinite(file.readings_us)
    found = measure_and_judge(
        build_baseline(file, estimate), comparable, measure, partners=CHECK_PARTNERS, seed=seed
    )
    assert found is not None
    return host, found


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("racks", "hosts"), [(4, 4), (6, 3), (2, 3)])
def test_a_host_that_became_slower_by_two_fifths_is_seen(racks, hosts, share):
    seen = 0
    for seed in SEEDS:
        host, found = check_beside_load(racks, hosts, share, seed, 1.4)
        seen += named(found) == [[host]]
    assert seen >= len(SEEDS) - 1


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("racks", "hosts"), [(4, 4), (6, 3), (2, 3)])
def test_a_network_that_did_not_change_is_not_called_changed(racks, hosts, share):
    for seed in SEEDS:
        _, found = check_beside_load(racks, hosts, share, seed, 1.0)
        assert not found.is_changed


def test_the_threshold_is_that_of_the_estimate():
    """By how much both directions differ from each other says nothing of this test."""
    rng = np.random.default_rng(0)
    rack = racks_of(4, 4)
    file = read(truth_us(rack), rng, 0.6)
    estimate = estimate_distances(*lowest_readings(list(file.halves_us)), [rack])
    with_estimate = build_baseline(file, estimate).ceilings[~np.eye(len(rack), dtype=bool)]
    assert np.exp(np.median(with_estimate)) - 1.0 < 0.3
    assert build_baseline(file).ceilings.min() > np.median(with_estimate)


def test_without_an_estimate_readings_are_compared():
    file = read(truth_us(racks_of(4, 4)), np.random.default_rng(0), 0.35)
    assert np.array_equal(build_baseline(file).times_us, file.readings_us, equal_nan=True)
