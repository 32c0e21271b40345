"""Early stopping: the interval covers the truth, stopping does not bias, native equals twin."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchkit import precision_twin as twin
from support.precision_native import NativeRule, compiler, native_rule
from support.rtt_shapes import SHAPES, drifting

PRECISION_PPM = 20_000
COUNT = 4000
TRIALS = 60


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NativeRule]:
    if compiler() is None:
        pytest.skip("no C++ compiler here")
    with native_rule(tmp_path_factory.mktemp("precision")) as rule:
        yield rule


def stopped(samples: np.ndarray) -> tuple[int, int, int]:
    """Samples taken, the reading, and its half-width in ppm."""
    samples_ns = samples.astype(int).tolist()
    size, width_ppm = twin.stop(samples_ns, 10.0, PRECISION_PPM)
    return size, twin.quantile(sorted(samples_ns[:size]), 10.0), width_ppm


@pytest.mark.parametrize("name", SHAPES)
def test_a_reading_that_claims_to_be_precise_is(name: str) -> None:
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(TRIALS):
        _, reading_ns, width_ppm = stopped(SHAPES[name].draw(rng, COUNT))
        if width_ppm <= PRECISION_PPM:
            errors.append(abs(reading_ns / SHAPES[name].p10_ns - 1.0))
    assert len(errors) > TRIALS // 4
    # Phases of a hundred samples are longer than what ten batches of forty can tell.
    wrong = 0.15 if name == "phases" else 0.05
    assert np.mean(np.array(errors) > 0.02) <= wrong


@pytest.mark.parametrize("name", SHAPES)
def test_stopping_early_adds_no_bias(name: str) -> None:
    rng = np.random.default_rng(2)
    errors = []
    for _ in range(TRIALS):
        _, reading_ns, _ = stopped(SHAPES[name].draw(rng, COUNT))
        errors.append(reading_ns / SHAPES[name].p10_ns - 1.0)
    assert abs(np.mean(errors)) < 0.005


def test_a_quiet_network_takes_the_fewest_probes_and_a_hard_one_all() -> None:
    rng = np.random.default_rng(3)
    assert stopped(SHAPES["heavy tail"].draw(rng, COUNT))[0] == twin.FIRST_LOOK
    # One sample in ten on the fast way: the percentile lies between the two.
    border = np.where(rng.random(COUNT) < 0.1, 20_000, 30_000)
    size, _, width_ppm = stopped(border)
    assert size == COUNT
    assert width_ppm > PRECISION_PPM


def test_a_drift_is_followed_no_further_than_it_went() -> None:
    rng = np.random.default_rng(4)
    for share in (0.02, 0.1, 0.3):
        samples = drifting(rng, COUNT, share)
        whole_ns = twin.quantile(sorted(samples.astype(int).tolist()), 10.0)
        _, reading_ns, _ = stopped(samples)
        assert abs(reading_ns / whole_ns - 1.0) < 0.1 * share + 0.02


@pytest.mark.parametrize("count", [1, 19, 400, 401, 2000, 10_000, 1_000_000])
def test_looks_are_few_and_end_with_the_count(native: NativeRule, count: int) -> None:
    looks = twin.looks_until(count)
    assert native.looks_until(count) == looks
    assert looks[-1] == count
    assert len(looks) < 25
    assert all(1.0 < after / before <= 1.5 for before, after in pairwise(looks))


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("percentile", [5.0, 10.0, 50.0, 99.0])
def test_native_equals_twin_on_networks(native: NativeRule, name: str, percentile: float) -> None:
    rng = np.random.default_rng(5)
    for size in (20, 63, 400, 2000):
        samples_ns = SHAPES[name].draw(rng, size).astype(int).tolist()
        width_ppm = twin.half_width_ppm(samples_ns, percentile, 5)
        assert native.half_width_ppm(samples_ns, percentile, 5) == width_ppm


@settings(max_examples=200)
@given(
    st.lists(st.integers(0, (1 << 32) - 1), max_size=120),
    st.floats(0.0, 100.0),
    st.integers(1, 30),
)
def test_native_equals_twin_on_anything(
    native: NativeRule, samples_ns: list[int], percentile: float, looks: int
) -> None:
    width_ppm = twin.half_width_ppm(samples_ns, percentile, looks)
    assert native.half_width_ppm(samples_ns, percentile, looks) == width_ppm


def test_the_ranks_are_those_of_the_binomial_distribution() -> None:
    # Conover, Practical Nonparametric Statistics, table A3: n = 20, p = 0.5, 95 %: 6th and 15th.
    assert twin.ranks(20, 0.5, 0.025) == (6, 15)
    # 0.9 ^ n is above the risk up to 28: no rank is below the 10th percentile for certain.
    assert twin.ranks(28, 0.1, 0.05)[0] == 0
    assert twin.ranks(29, 0.1, 0.05)[0] == 1


def test_an_extreme_has_no_interval() -> None:
    samples_ns = list(range(10_000, 11_000))
    assert twin.half_width_ppm(samples_ns, 0.0, 1) == twin.UNKNOWN_PPM
    assert twin.half_width_ppm(samples_ns, 100.0, 1) == twin.UNKNOWN_PPM
