from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from solvers.seriation import fill_gaps, seriate, symmetrised
from view.racks import racks


def runs(labels: object) -> int:
    """How many stretches of equal labels there are."""
    return int(np.count_nonzero(np.diff(np.asarray(labels)))) + 1


@pytest.mark.parametrize(("count", "hosts"), [(4, 4), (8, 8), (2, 3), (1, 5), (50, 2)])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_racks_come_out_whole(count: int, hosts: int, missing: float, seed: int) -> None:
    made = racks(count, hosts, seed, missing if hosts > 3 else 0.0)
    order = seriate(made.readings_us)
    assert sorted(order) == list(range(count * hosts))
    assert runs(made.rack[order]) == count


def test_rows_of_racks_come_out_whole_on_both_levels() -> None:
    generator = np.random.default_rng(5)
    shuffled = generator.permutation(64)
    row, rack = shuffled // 16, shuffled // 4
    distances = np.where(row[:, None] == row, 40.0, 90.0)
    distances[rack[:, None] == rack] = 20.0
    order = seriate(distances + generator.normal(0, 1, (64, 64)))
    assert (runs(row[order]), runs(rack[order])) == (4, 16)


def test_a_line_is_found_exactly() -> None:
    generator = np.random.default_rng(7)
    place = np.sort(generator.random(40))
    shuffled = generator.permutation(40)
    distances = np.abs(place[shuffled][:, None] - place[shuffled])
    found = shuffled[seriate(distances)]
    assert list(found) in (list(range(40)), list(range(39, -1, -1)))


def test_small_orders_are_as_short_as_brute_force_within_its_tree() -> None:
    """On two clear racks the best order of all keeps the racks, so it must be found."""
    for seed in range(5):
        distances = symmetrised(racks(2, 3, seed).readings_us)
        lengths = {
            order: sum(distances[a, b] for a, b in pairwise(order))
            for order in permutations(range(6))
        }
        found = lengths[tuple(seriate(distances))]
        assert found == pytest.approx(min(lengths.values()), rel=1e-12)


@given(
    st.integers(0, 8).flatmap(
        lambda size: arrays(
            np.float64, (size, size), elements=st.floats(0, 1e7) | st.just(float("nan"))
        )
    )
)
def test_any_matrix_has_an_order(distances: np.ndarray) -> None:
    before = distances.copy()
    order = seriate(distances)
    assert sorted(order) == list(range(len(distances)))
    assert order == seriate(distances)
    np.testing.assert_array_equal(distances, before)
    whole = fill_gaps(symmetrised(distances))
    assert np.isfinite(whole).all()
    np.testing.assert_array_equal(whole, whole.T)


def test_a_gap_is_filled_from_the_racks() -> None:
    made = racks(4, 4)
    readings = made.readings_us.copy()
    same = next(i for i in range(1, 16) if made.rack[i] == made.rack[0])
    other = next(i for i in range(1, 16) if made.rack[i] != made.rack[0])
    for host in (same, other):
        readings[0, host] = readings[host, 0] = np.nan
    whole = fill_gaps(symmetrised(readings))
    assert whole[0, same] == pytest.approx(22.0, rel=0.1)
    assert whole[0, other] == pytest.approx(50.0, rel=0.1)


def test_a_host_without_any_measurement_goes_to_the_edge() -> None:
    readings = racks(3, 4).readings_us.copy()
    readings[5, :] = readings[:, 5] = np.nan
    assert 5 in (seriate(readings)[0], seriate(readings)[-1])


def test_one_known_direction_is_enough() -> None:
    both = symmetrised(np.array([[9.0, 1.0, 2.0], [3.0, 9.0, np.nan], [np.nan, np.nan, 9.0]]))
    np.testing.assert_array_equal(both, [[0, 2, 2], [2, 0, np.nan], [2, np.nan, 0]])


@pytest.mark.parametrize(
    "distances", [np.zeros((3, 4)), np.full((3, 3), -1.0), np.full((3, 3), np.inf)]
)
def test_what_is_no_matrix_of_distances(distances: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"square|finite"):
        seriate(distances)
