import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from plink.bench.statistics import made_alike, spearman, spearman_interval

VALUES = st.lists(st.integers(0, 9), min_size=3, max_size=30)


@given(st.data())
def test_spearman_equals_scipys_with_and_without_ties(data: st.DataObject) -> None:
    from scipy.stats import spearmanr

    first = data.draw(VALUES)
    second = data.draw(st.lists(st.integers(0, 9), min_size=len(first), max_size=len(first)))
    assume(len(set(first)) > 1 and len(set(second)) > 1)
    found = spearman(first, second)
    assert found == pytest.approx(spearmanr(first, second).statistic, abs=1e-9)


@pytest.mark.parametrize(
    ("first", "second"),
    [([], []), ([1, 2], [1, 2]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [5, 5, 5])],
)
def test_spearman_is_not_made_up_where_it_is_not_defined(
    first: list[float], second: list[float]
) -> None:
    assert spearman(first, second) is None


def test_spearman_knows_only_ranks() -> None:
    assert spearman([1, 2, 3, 4], [1, 10, 100, 1000]) == pytest.approx(1.0)
    assert spearman([1, 2, 3, 4], [9, 8, 7, -6]) == pytest.approx(-1.0)


def test_spearman_refuses_series_of_different_length() -> None:
    with pytest.raises(ValueError, match="3 values against 4"):
        spearman([1, 2, 3], [1, 2, 3, 4])


def test_the_interval_holds_the_correlation_and_narrows_with_more_pairs() -> None:
    generator = np.random.default_rng(1)
    widths = []
    for count in (10, 200):
        first = generator.normal(size=count)
        second = first + generator.normal(size=count)
        interval = spearman_interval(first.tolist(), second.tolist(), seed=1)
        value = spearman(first.tolist(), second.tolist())
        assert interval is not None
        assert value is not None
        assert -1.0 <= interval[0] <= value <= interval[1] <= 1.0
        widths.append(interval[1] - interval[0])
    # Both have a true correlation of about 0.69; widths fall with the root of the count.
    assert widths[1] < 0.5 * widths[0]


def test_an_interval_is_not_made_up_where_it_is_not_defined() -> None:
    assert spearman_interval([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], seed=1) is None


def test_values_that_no_measurement_tells_apart_are_made_alike() -> None:
    assert made_alike([1.02, 1.0, 1.009, 0.0, 1.0201, 5.0]) == [1.02, 1.0, 1.0, 0.0, 1.02, 5.0]
