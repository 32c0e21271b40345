"""What is promised of the rounds, whatever the readings."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchkit.sampled import racks
from plink.solvers.sampling.sampler import SamplerStep, next_rounds, usual_share


def nothing(size: int) -> np.ndarray:
    return np.full((size, size), np.nan)


def read(readings: np.ndarray, truth: np.ndarray, step: SamplerStep) -> None:
    for i, j in chain.from_iterable(step.rounds):
        readings[i, j] = readings[j, i] = truth[i, j]


@given(
    size=st.integers(1, 24),
    share=st.floats(0.0, 1.0),
    seed=st.integers(0, 99),
    lost=st.integers(2, 30),
)
def test_rounds_are_disjoint_new_within_the_budget_and_end(
    size: int, share: float, seed: int, lost: int
) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 4, size)
    truth = np.where(groups[:, None] == groups, 20.0, 40.0) * (1 + rng.random((size, size)) / 4)
    readings, tried = nothing(size), np.zeros((size, size), dtype=bool)
    for _ in range(size * size + 2):
        step = next_rounds(readings, tried=tried, share=share, seed=seed)
        for pairs in step.rounds:
            hosts = [host for pair in pairs for host in pair]
            assert pairs
            assert len(hosts) == len(set(hosts))
            for i, j in pairs:
                assert 0 <= i < j < size
                assert not tried[i, j]
                tried[i, j] = tried[j, i] = True
                if rng.integers(lost):
                    readings[i, j] = readings[j, i] = truth[min(i, j), max(i, j)]
        if not step.rounds:
            break
    assert not step.rounds
    assert step.phase in {"done", "budget"}
    assert tried.sum() / 2 <= share * size * (size - 1) / 2 + 1e-5


def test_the_same_arguments_give_the_same_rounds() -> None:
    network = racks([8] * 6, 1)
    readings = nothing(48)
    for _ in range(8):
        step = next_rounds(readings, share=0.5, seed=7)
        assert next_rounds(readings.copy(), share=0.5, seed=7).rounds == step.rounds
        read(readings, network.readings_us, step)
    first, other = (next_rounds(nothing(48), share=0.5, seed=seed).rounds for seed in (7, 8))
    assert first != other


def test_it_goes_on_with_what_was_measured_by_another_way() -> None:
    # 40 % of all pairs by chance, as an earlier run may have left them.
    network = racks([8] * 6, 2)
    rng = np.random.default_rng(0)
    kept = np.triu(rng.random((48, 48)) < 0.4, 1)
    readings = np.where(kept | kept.T, network.readings_us, np.nan)
    step = next_rounds(readings, share=0.6)
    assert step.phase == "search"
    assert step.found is not None


def test_a_share_that_is_spent_asks_for_nothing() -> None:
    network = racks([4] * 4, 3)
    readings = network.readings_us.copy()
    np.fill_diagonal(readings, np.nan)
    step = next_rounds(readings, share=1.0)
    assert (step.rounds, step.phase) == ([], "budget")


@pytest.mark.parametrize(("hosts", "partners"), [(128, 25.2), (1000, 50.0), (8, 7.0), (2, 1.0)])
def test_usual_share(hosts: int, partners: float) -> None:
    assert usual_share(hosts) * (hosts - 1) == pytest.approx(partners, abs=0.05)


def test_usual_share_of_one_host_is_all() -> None:
    assert usual_share(1) == 1.0
