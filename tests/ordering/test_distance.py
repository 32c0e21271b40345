"""Readings to distances: symmetry, filled gaps, hosts without a measurement."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from msgspec.structs import replace

from ordering.clusters import cluster_of
from plink.base.errors import WrongUseError
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.model.distance import distances, split_directions

NAN = float("nan")


def test_a_distance_is_the_larger_of_both_directions_or_the_one_there_is():
    found = distances(cluster_of(np.array([[0, 10, 7], [12, 0, NAN], [NAN, 5, 0]])))
    assert found.matrix_us.tolist() == [[0, 12, 7], [12, 0, 5], [7, 5, 0]]
    assert found.filled_pairs == 0
    assert list(found.unmeasured_hosts) == []


def test_a_gap_is_filled_through_the_best_third_host():
    readings = np.array([[0, 10, 40, NAN], [10, 0, 30, 60], [40, 30, 0, 20], [NAN, 60, 20, 0]])
    found = distances(cluster_of(readings))
    # Through host 1: max(10, 60); through host 2: max(40, 20).
    assert found.matrix_us[0, 3] == found.matrix_us[3, 0] == 40.0
    assert found.filled_pairs == 1


def test_a_host_without_a_measurement_is_named_and_far_from_all():
    readings = np.full((4, 4), NAN)
    readings[0, 1], readings[1, 2] = 10.0, 30.0
    found = distances(cluster_of(readings))
    assert list(found.unmeasured_hosts) == ["h3"]
    assert found.matrix_us[0, 2] == 30.0
    assert found.matrix_us[3].tolist() == [30.0, 30.0, 30.0, 0.0]
    assert found.filled_pairs == 4


# The least numbers that there are divide and take logarithms badly.
READINGS_US = st.floats(0, 60e6) | st.sampled_from([NAN, 5e-324, 1e-310, 1e-300])


MATRICES_US = st.integers(2, 7).flatmap(
    lambda size: arrays(np.float64, (size, size), elements=READINGS_US)
)
# Two pairs that are nearer than all others, by one of their two readings.
TWO_PAIRS_US = np.ones((5, 5))
TWO_PAIRS_US[0, 2] = TWO_PAIRS_US[1, 3] = 0.5


@given(MATRICES_US)
@example(np.where(np.arange(16).reshape(4, 4) == 1, 1.0, 5e-324))
@example(TWO_PAIRS_US)
def test_distances_without_estimates_keep_what_was_measured(readings):
    cluster = replace(cluster_of(readings), uses_readings=True)
    off = ~np.eye(len(readings), dtype=bool)
    measured = np.fmax(readings, readings.T)
    is_known = ~np.isnan(measured) & off
    if not is_known.any():
        with pytest.raises(WrongUseError, match="no round-trip time"):
            distances(cluster)
        return
    found = distances(cluster)
    matrix = found.matrix_us
    assert found.deviation is None
    assert np.isfinite(matrix).all()
    assert (matrix == matrix.T).all()
    assert not np.diagonal(matrix).any()
    assert (matrix[is_known] == measured[is_known]).all()
    assert found.filled_pairs == (off & ~is_known).sum() // 2
    assert matrix.max() == measured[is_known].max()


@given(MATRICES_US)
@example(TWO_PAIRS_US)
def test_estimated_distances_are_whole_symmetric_and_among_the_readings(readings):
    off = ~np.eye(len(readings), dtype=bool)
    is_read = ~np.isnan(readings) & off
    assume(is_read.any())
    found = distances(cluster_of(readings))
    matrix = found.matrix_us
    assert np.isfinite(matrix).all()
    assert (matrix == matrix.T).all()
    assert not np.diagonal(matrix).any()
    assert found.filled_pairs == (off & ~(is_read | is_read.T)).sum() // 2
    tolerance = 1e-9 * readings[is_read].max()
    assert (matrix[off] >= readings[is_read].min() - tolerance).all()
    assert (matrix[off] <= readings[is_read].max() + tolerance).all()


def test_two_near_pairs_are_estimated_by_their_nearer_reading():
    found = distances(cluster_of(TWO_PAIRS_US))
    assert found.deviation is not None
    assert found.matrix_us[0, 2] == found.matrix_us[1, 3] == 0.5
    assert found.matrix_us[0, 4] == 1.0


def test_a_filled_distance_is_between_nothing_and_the_shortest_way():
    # A chain of four hosts, and one that nobody reaches.
    readings = np.full((5, 5), NAN)
    readings[0, 1], readings[1, 2], readings[2, 3] = 10.0, 0.0, 30.0
    limits = distances(cluster_of(readings)).limits
    assert limits is not None
    assert limits.lowest_us[0].tolist() == [0, 10, 0, 0, 0]
    assert limits.highest_us[0].tolist() == [0, 10, 10, 40, np.inf]
    assert limits.measured_us[0].tolist() == [0, 10, np.inf, np.inf, np.inf]
    for matrix in (limits.lowest_us, limits.highest_us, limits.measured_us):
        assert (matrix == matrix.T).all()
        assert not np.diagonal(matrix).any()


def test_complete_distances_have_no_limits():
    assert distances(cluster_of(np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]]))).limits is None


@pytest.mark.parametrize(("direct_us", "is_limited"), [(25.0, True), (60.0, False)])
def test_ways_round_limit_nothing_where_measured_pairs_are_much_farther(direct_us, is_limited):
    # Beyond the first host, which is near all, the direct ways are no way to go.
    readings = np.full((8, 8), direct_us)
    readings[0, :] = readings[:, 0] = 10.0
    readings[6, 7] = readings[7, 6] = NAN
    found = distances(cluster_of(readings))
    assert found.limits is not None
    assert np.isfinite(found.limits.highest_us[6, 7]) == is_limited


def test_nothing_measured_is_refused_with_what_to_do():
    hosts = [Host("a", "10.0.0.1"), Host("b", "10.0.0.2")]
    with pytest.raises(WrongUseError, match="no round-trip time") as refused:
        distances(Cluster(hosts))
    assert "plink probe" in str(refused.value.hint)


def test_one_host_needs_no_measurement():
    assert distances(Cluster([Host("a", "10.0.0.1")])).matrix_us.tolist() == [[0.0]]


def test_both_directions_are_two_measurements():
    found = split_directions(cluster_of(np.array([[0, 10, 7], [12, 0, 4], [8, 5, 0]])))
    assert found is not None
    first, second = found
    assert first.tolist() == [[0, 10, 7], [10, 0, 4], [7, 4, 0]]
    assert second.tolist() == [[0, 12, 8], [12, 0, 5], [8, 5, 0]]


@pytest.mark.parametrize(
    "readings",
    [
        [[0, 10, 7], [10, 0, 4], [7, 4, 0]],
        [[0, 10, 7], [NAN, 0, 4], [8, 5, 0]],
        [[0]],
    ],
)
def test_copies_and_gaps_are_no_second_measurement(readings):
    assert split_directions(cluster_of(np.array(readings, dtype=float))) is None
