"""Networks that changed in known ways, and those that did not: what a check says of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from drift.networks import as_matrix, check_again, named, racks_of, read, truth_us, uplink_slower
from plink.formats.matrices import Matrix
from plink.measure.drift.judge import Pair, build_baseline, measure_and_judge, noise_ceilings

SHAPES = [(4, 4), (8, 8), (12, 16)]
SEEDS = range(12)


@pytest.mark.parametrize(("racks", "hosts"), [*SHAPES, (1, 16), (8, 2), (1, 2)])
@pytest.mark.parametrize("factor", [1.0, 1.15, 0.8])
def test_a_network_that_did_not_change_is_never_called_changed(
    racks: int, hosts: int, factor: float
) -> None:
    truth = truth_us(racks_of(racks, hosts))
    for seed in SEEDS:
        found = check_again(read(truth, [seed]), factor * truth, seed)
        assert not found.is_changed
        assert found.common_factor == pytest.approx(factor, rel=0.06 if len(truth) > 2 else 0.2)


@pytest.mark.parametrize(("racks", "hosts"), SHAPES)
def test_a_host_in_another_rack_is_found_and_no_other(racks: int, hosts: int) -> None:
    before = racks_of(racks, hosts)
    for seed in SEEDS:
        after, host = before.copy(), seed % len(before)
        after[host] = (after[host] + 1) % racks
        found = check_again(read(truth_us(before), [seed]), 1.15 * truth_us(after), seed)
        assert named(found) == [[host]]
        assert found.changes[0].longer_factor == pytest.approx(13.0 / 7.0, rel=0.15)


def test_two_hosts_of_different_racks_that_changed_places_are_both_found() -> None:
    before = racks_of(4, 8)
    after = before.copy()
    after[[3, 20]] = after[[20, 3]]
    for seed in SEEDS:
        found = check_again(read(truth_us(before), [seed]), truth_us(after), seed)
        assert sorted(named(found)) == [[3], [20]]


@pytest.mark.parametrize(("racks", "hosts"), SHAPES)
def test_a_rack_whose_uplink_takes_longer_is_one_group(racks: int, hosts: int) -> None:
    before = racks_of(racks, hosts)
    truth, inside = truth_us(before), before == 1
    exact = 0
    for seed in SEEDS:
        found = check_again(read(truth, [seed]), uplink_slower(truth, inside, 1.8), seed)
        assert found.is_changed
        largest = max(found.changes, key=lambda change: len(change.hosts))
        assert set(largest.hosts) <= set(np.flatnonzero(inside))
        exact += named(found) == [np.flatnonzero(inside).tolist()]
    assert exact >= 0.75 * len(SEEDS)


def test_of_two_racks_neither_is_taken_for_the_one_that_changed() -> None:
    before = racks_of(2, 8)
    truth = truth_us(before)
    slower = uplink_slower(truth, before == 1, 1.8)
    for seed in SEEDS:
        found = check_again(read(truth, [seed]), slower, seed)
        assert sorted(named(found)) == [list(range(8)), list(range(8, 16))]


def test_everything_much_slower_is_a_change_of_no_host() -> None:
    truth = truth_us(racks_of(4, 4))
    found = check_again(read(truth, [1]), 2.5 * truth, 1)
    assert found.is_changed
    assert not found.changes


def test_a_single_pair_is_reported_but_names_no_host() -> None:
    truth = truth_us(racks_of(1, 8))
    now = truth.copy()
    now[2, 5] = now[5, 2] = 1.5 * truth[2, 5]
    found = check_again(read(truth, [1]), now, 1)
    assert found.changed == [(2, 5)]
    assert not found.is_changed


def test_what_lasts_only_for_one_run_is_no_change() -> None:
    """Hosts that are busy at one moment: half of the first run's readings are doubled."""

    truth = truth_us(racks_of(4, 4))
    file = read(truth, [1])
    runs = 0

    def measure(pairs: Sequence[Pair]) -> Matrix:
        nonlocal runs
        runs += 1
        readings = read(truth, [1, runs]).readings_us
        if runs == 1:
            readings[:8] *= 2.0
            readings[:, :8] *= 2.0
        return np.where(as_matrix(pairs, 16), readings, np.nan)

    comparable = np.isfinite(file.readings_us)
    found = measure_and_judge(build_baseline(file), comparable, measure, partners=8, seed=1)
    assert runs > 1
    assert found is not None
    assert not found.is_changed


def test_noise_in_the_file_raises_the_ceiling() -> None:
    """Directions that differ by half leave nothing to be said of a change by half."""
    truth = truth_us(racks_of(4, 4))
    rng = np.random.default_rng(5)
    noisy = truth * np.exp(rng.normal(0.0, 0.5, truth.shape))
    file = read(noisy, [1])
    assert noise_ceilings(file).min() > 0.6
    assert not check_again(file, noisy * np.exp(rng.normal(0.0, 0.3, truth.shape)), 1).changes
