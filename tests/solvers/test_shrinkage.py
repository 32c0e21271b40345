"""Estimates of distances from readings with noise of known kind: how near they are to the truth."""

from __future__ import annotations

import numpy as np
import pytest

from plink.solvers.shrinkage import estimate_distances, lowest_readings

SEEDS = range(6)
NAN = float("nan")
RACK = np.repeat(np.arange(4), 5)
WITHIN_US, BETWEEN_US = 10.0, 14.0
BETWEEN = RACK[:, None] != RACK[None, :]
PAIRS = ~np.eye(len(RACK), dtype=bool)


def racks():
    return np.where(BETWEEN, BETWEEN_US, WITHIN_US)


def own_distances(rng, share):
    """Racks whose pairs differ from each other."""
    own = np.triu(rng.normal(0.0, share, BETWEEN.shape), 1)
    return racks() * np.exp(own + own.T)


def slow_at_times(rng, truth, share=0.4):
    """Two passes beside load: a core is slower by 1.4 in this share of all readings."""
    shape = (2, *truth.shape)
    slow = np.where(rng.random(shape) < share, 1.4, 1.0)
    return truth * slow * np.exp(np.abs(rng.normal(0.0, 0.01, shape)))


def estimated(readings, levels=(RACK,)):
    return estimate_distances(*lowest_readings(list(readings)), list(levels))


def error(distance, truth):
    """The root mean square of the logarithms of what an estimate is off by."""
    return float(np.sqrt(np.mean(np.log(distance[PAIRS] / truth[PAIRS]) ** 2)))


def test_lowest_readings_are_those_of_both_directions_and_all_passes():
    first = np.array([[NAN, 12.0], [11.0, NAN]])
    later = np.array([[NAN, NAN], [10.0, NAN]])
    lowest, second = lowest_readings([first, later])
    assert lowest[0, 1] == lowest[1, 0] == 10.0
    assert second[0, 1] == second[1, 0] == 11.0


def test_a_symmetric_matrix_has_one_reading_of_each_pair():
    lowest, second = lowest_readings([np.array([[NAN, 12.0], [12.0, NAN]])])
    assert lowest[0, 1] == 12.0
    assert second[0, 1] == np.inf


@pytest.mark.parametrize("seed", SEEDS)
def test_beside_load_the_error_is_a_third_of_that_of_the_lowest_readings(seed):
    truth = racks()
    readings = slow_at_times(np.random.default_rng(seed), truth, share=0.6)
    lowest, _ = lowest_readings(list(readings))
    found = estimated(readings)
    assert error(found.distance, truth) < error(lowest, truth) / 3.0
    assert error(found.distance, truth) < 0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_every_pair_within_a_group_is_nearer_than_every_pair_between(seed):
    readings = slow_at_times(np.random.default_rng(seed), racks(), share=0.6)
    found = estimated(readings).distance
    assert found[PAIRS & ~BETWEEN].max() < found[BETWEEN].min()


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_that_are_well_measured_keep_their_own_distance(seed):
    rng = np.random.default_rng(seed)
    truth = own_distances(rng, 0.1)
    readings = truth * np.exp(np.abs(rng.normal(0.0, 0.005, (2, *truth.shape))))
    assert error(estimated(readings).distance, truth) < 0.015


@pytest.mark.parametrize("seed", SEEDS)
def test_of_good_readings_only_the_pair_that_disagrees_is_drawn_to_its_class(seed):
    rng = np.random.default_rng(seed)
    readings = racks() * np.exp(np.abs(rng.normal(0.0, 0.01, (2, *BETWEEN.shape))))
    readings[:, 0, 1], readings[:, 1, 0] = (15.0, 18.9), (19.5, 18.6)
    found = estimated(readings)
    assert found.distance[0, 1] == pytest.approx(WITHIN_US, rel=0.05)
    assert found.distance[0, 2] == pytest.approx(WITHIN_US, rel=0.03)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pair_that_is_far_in_all_readings_stays_far(seed):
    rng = np.random.default_rng(seed)
    truth = racks()
    truth[0, 1] = truth[1, 0] = 15.0
    readings = truth * np.exp(np.abs(rng.normal(0.0, 0.01, (2, *truth.shape))))
    assert estimated(readings).distance[0, 1] == pytest.approx(15.0, rel=0.05)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_slow_host_stays_slow(seed):
    truth = racks()
    truth[3] *= 1.5
    truth[:, 3] *= 1.5
    found = estimated(slow_at_times(np.random.default_rng(seed), truth)).distance
    assert found[3, RACK[3] != RACK].mean() == pytest.approx(1.5 * BETWEEN_US, rel=0.1)
    assert found[4, RACK[4] != RACK].mean() < 1.2 * BETWEEN_US


def test_pairs_that_were_not_measured_have_the_distance_of_their_class():
    rng = np.random.default_rng(3)
    readings = slow_at_times(rng, racks())
    gaps = np.triu(rng.random(BETWEEN.shape) < 0.5, 1)
    readings[:, gaps | gaps.T] = NAN
    found = estimated(readings).distance
    assert error(found, racks()) < 0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_estimates_are_less_sure_where_readings_disagree(seed):
    rng = np.random.default_rng(seed)
    truth = own_distances(rng, 0.1)
    readings = truth * np.exp(np.abs(rng.normal(0.0, 0.01, (2, *truth.shape))))
    readings[1, 0, 1] = readings[0, 1, 0] = readings[1, 1, 0] = 1.3 * readings[0, 0, 1]
    deviation = estimated(readings).deviation
    assert (deviation == deviation.T).all()
    assert deviation[0, 1] > 3.0 * np.median(deviation[PAIRS])


def test_two_levels_have_three_classes():
    row = RACK // 2
    truth = racks() + np.where(row[:, None] != row[None, :], 6.0, 0.0)
    readings = slow_at_times(np.random.default_rng(1), truth, share=0.5)
    assert error(estimated(readings, [RACK, row]).distance, truth) < 0.06


def test_single_readings_say_nothing_of_their_noise():
    lowest, second = lowest_readings([racks() * 1.0])
    assert estimate_distances(lowest, second, [RACK]) is None


def test_two_hosts_that_agree_are_taken_as_they_are():
    matrix = np.array([[NAN, 5.0], [5.5, NAN]])
    lowest, second = lowest_readings([matrix])
    found = estimate_distances(lowest, second, [np.array([0, 1])])
    assert found.distance[0, 1] == pytest.approx(5.0)
