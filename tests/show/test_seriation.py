from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from plink.base.replacing import replace
from plink.model.distance import distances
from plink.solvers.seriation import seriate
from show.racks import racks


def runs(labels: object) -> int:
    """How many stretches of equal labels there are."""
    return int(np.count_nonzero(np.diff(np.asarray(labels)))) + 1


@pytest.mark.parametrize(("count", "hosts"), [(4, 4), (8, 8), (2, 3), (1, 5), (50, 2)])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_racks_come_out_whole(count: int, hosts: int, missing: float, seed: int) -> None:
    made = racks(count, hosts, seed, missing if hosts > 3 else 0.0)
    order = seriate(distances(made.cluster).matrix_us)
    assert sorted(order) == list(range(count * hosts))
    assert runs(made.rack[order]) == count


def test_rows_of_racks_come_out_whole_on_both_levels() -> None:
    generator = np.random.default_rng(5)
    shuffled = generator.permutation(64)
    row, rack = shuffled // 16, shuffled // 4
    matrix = np.where(row[:, None] == row, 40.0, 90.0)
    matrix[rack[:, None] == rack] = 20.0
    noise = generator.normal(0, 1, (64, 64))
    order = seriate(matrix + (noise + noise.T))
    assert (runs(row[order]), runs(rack[order])) == (4, 16)


def test_a_line_is_found_exactly() -> None:
    generator = np.random.default_rng(7)
    place = np.sort(generator.random(40))
    shuffled = generator.permutation(40)
    matrix = np.abs(place[shuffled][:, None] - place[shuffled])
    found = shuffled[seriate(matrix)]
    assert list(found) in (list(range(40)), list(range(39, -1, -1)))


@pytest.mark.parametrize("seed", range(20))
def test_two_pairs_are_in_the_best_order_of_all(seed: int) -> None:
    """The cheapest order keeps both racks whole, and then every order is open to the tree."""
    matrix = distances(racks(2, 2, seed).cluster).matrix_us
    lengths = {
        order: sum(matrix[a, b] for a, b in pairwise(order)) for order in permutations(range(4))
    }
    assert lengths[tuple(seriate(matrix))] == pytest.approx(min(lengths.values()), rel=1e-6)


@given(
    st.integers(0, 8).flatmap(
        lambda size: arrays(np.float64, (size, size), elements=st.floats(0, 1e7))
    )
)
def test_any_matrix_has_an_order(drawn: np.ndarray) -> None:
    matrix = np.maximum(drawn, drawn.T)
    before = matrix.copy()
    order = seriate(matrix)
    assert sorted(order) == list(range(len(matrix)))
    assert order == seriate(matrix)
    np.testing.assert_array_equal(matrix, before)


def test_a_host_without_any_measurement_goes_to_the_edge() -> None:
    made = racks(3, 4)
    readings = made.readings_us.copy()
    readings[5, :] = readings[:, 5] = np.nan
    cluster = replace(made.cluster, rtt=replace(made.rtt, rtt_us={10.0: readings}))
    order = seriate(distances(cluster).matrix_us)
    assert 5 in (order[0], order[-1])


def test_the_diagonal_does_not_count() -> None:
    matrix = np.array([[np.nan, 1.0, 9.0], [1.0, np.nan, 2.0], [9.0, 2.0, np.nan]])
    assert seriate(matrix) == [0, 1, 2]


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((3, 4)),
        np.full((3, 3), -1.0),
        np.full((3, 3), np.inf),
        np.full((3, 3), np.nan),
        np.arange(9.0).reshape(3, 3),
    ],
)
def test_what_is_no_matrix_of_distances(matrix: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"shape|finite"):
        seriate(matrix)
