"""What is done in another way for many hosts gives what few hosts get."""

import numpy as np
import pytest

from plink.solvers.groups import certainty, dendrogram, nulls
from plink.solvers.groups.dendrogram import Mask
from plink.solvers.groups.grouping import ALONE, Labels, Matrix

HOSTS, RACK = 96, 8


def racks(seed: int, share: float = 1.0) -> tuple[Matrix, Mask, Labels]:
    """Logarithms of readings, which were measured, and the rack of each host; some are alone."""
    rng = np.random.default_rng(seed)
    rack = rng.permutation(HOSTS) // RACK
    same, pod = rack[:, None] == rack, rack[:, None] // 4 == rack // 4
    us = np.where(same, 20.0, np.where(pod, 60.0, 110.0)) * rng.lognormal(0.0, 0.1, same.shape)
    is_measured = np.triu(rng.random(same.shape) < share, 1)
    is_measured |= is_measured.T
    logs = np.where(is_measured, np.log(np.minimum(us, us.T)), 0.0)
    labels = np.where(rack == HOSTS // RACK - 1, ALONE, rack)
    return logs, is_measured, labels


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_the_nearest_groups_of_a_host_say_whether_it_belongs_to_its_own(
    monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    logs, is_measured, labels = racks(1, share)
    # Two hosts are in the wrong rack.
    labels[np.flatnonzero(labels == 0)[0]] = 1
    labels[np.flatnonzero(labels == 5)[0]] = 9
    exact = certainty.host_probabilities(logs, is_measured, labels, 0.1)
    monkeypatch.setattr(certainty, "_MOST_HOSTS_WEIGHED", 0)
    monkeypatch.setattr(certainty, "_ROWS", 37)
    found = certainty.host_probabilities(logs, is_measured, labels, 0.1)
    np.testing.assert_allclose(found, exact, atol=0.02)
    np.testing.assert_array_equal(found < 0.5, exact < 0.5)
    assert (found < 0.5).sum() >= 2


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_latencies_are_fitted_as_well_step_by_step(
    monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    logs, is_measured, _ = racks(2, share)
    exact = nulls.cost_of_host_latencies(logs, is_measured)
    monkeypatch.setattr(nulls, "_MOST_HOSTS_EXACT", 0)
    assert nulls.cost_of_host_latencies(logs, is_measured) == pytest.approx(exact, rel=1e-3)


def test_profiles_in_single_precision_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = racks(3)[0]
    exact = dendrogram.by_profile(apart)
    monkeypatch.setattr(dendrogram, "_MOST_IN_DOUBLE", 0)
    np.testing.assert_allclose(dendrogram.by_profile(apart), exact, atol=1e-3)


def test_of_very_many_groups_some_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    logs, is_measured, labels = racks(4)
    monkeypatch.setattr(certainty, "_MOST_COMPARED", 5)
    assert certainty.compared_share(logs, is_measured, labels, 0.1) == 1.0
