"""Embeddings: against geometry that is known, generated data centres, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

from benchkit.datacenters import uniform
from plink.solvers.embedding.embed import embed
from plink.solvers.embedding.fit import Objective, Shape, fit_points, start
from plink.solvers.embedding.observations import observe
from plink.solvers.groups.agreement import affinity

TWO_PARTS = np.where(np.kron(np.eye(2), np.ones((9, 9))) > 0.0, 1.0, np.nan)


def between(points):
    return np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))


def observed(distance, share, seed=1):
    """The same matrix with only a share of its pairs."""
    rng = np.random.default_rng(seed)
    kept = np.triu(rng.random(distance.shape) < share, 1)
    return np.where(kept | kept.T, distance, np.nan)


def positions(centre):
    return [
        ("site", int(row), int(rack), host)
        for host, (row, rack) in enumerate(zip(centre.row_of, centre.rack_of, strict=True))
    ]


@pytest.mark.parametrize("has_heights", [False, True])
@pytest.mark.parametrize("cutoff", [0.05, 1e6])
def test_the_gradient_is_that_of_the_objective(has_heights, cutoff):
    rng = np.random.default_rng(1)
    observations = observe(observed(between(rng.random((9, 3))), 0.8))
    objective = Objective(observations, Shape(3, has_heights), cutoff)
    start = rng.random(36 if has_heights else 27)
    value, gradient = objective(start)
    error = check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1], start, seed=1)
    assert error <= 1e-4 * np.linalg.norm(gradient)
    assert value > 0.0


def test_without_cutoff_the_objective_is_equation_4_1_of_relative_errors():
    rng = np.random.default_rng(2)
    measured = observed(between(rng.random((7, 2))) + 0.1, 0.7)
    observations = observe(measured)
    points, heights = rng.random((7, 2)), rng.random(7)
    expected = 0.0
    for i in range(7):
        for j in range(i):
            if np.isfinite(measured[i, j]):
                d = np.linalg.norm(points[i] - points[j]) + heights[i] + heights[j]
                expected += (d * observations.scale / measured[i, j] - 1.0) ** 2
    value, _ = Objective(observations, Shape(2, has_heights=True), 1e5)(
        np.concatenate([points.ravel(), heights])
    )
    assert value == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_points_in_space_are_found_again(dimensions):
    distance = 100.0 * between(np.random.default_rng(3).random((40, dimensions)))
    found = embed(distance)
    assert found.dimensions == dimensions
    assert found.distance == pytest.approx(distance, abs=3.0)
    assert np.median(np.abs(found.distance - distance)) <= 0.3
    assert found.is_better_than_raw


def test_missing_pairs_of_points_in_space_are_predicted():
    distance = 100.0 * between(np.random.default_rng(4).random((80, 2)))
    found = embed(observed(distance, 0.3))
    assert np.median(np.abs(found.distance - distance)) <= 0.5


def test_outliers_do_not_own_the_embedding():
    rng = np.random.default_rng(5)
    distance = 100.0 * between(rng.random((40, 2)))
    spoilt = np.triu(rng.random(distance.shape) < 0.05, 1)
    measured = np.where(spoilt | spoilt.T, 10.0 * distance, distance)
    assert np.median(np.abs(embed(measured).distance - distance)) <= 0.5


def test_the_less_disturbed_direction_counts():
    rng = np.random.default_rng(6)
    distance = 100.0 * between(rng.random((30, 2)))
    one_way = distance * np.where(np.triu(np.ones(distance.shape), 1) > 0, 3.0, 1.0)
    assert embed(one_way).distance == pytest.approx(embed(distance).distance)


def test_heights_hold_what_hosts_add_to_every_distance():
    rng = np.random.default_rng(7)
    heights = 20.0 * rng.random(40)
    distance = 100.0 * between(rng.random((40, 2))) + heights[:, None] + heights[None, :]
    np.fill_diagonal(distance, 0.0)
    observations = observe(distance)
    fits = [
        fit_points(observations, start(observations, Shape(2, has_heights)), 2, 100, rng)
        for has_heights in (False, True)
    ]
    plain, raised = [np.abs(fit.distance - observations.distance).mean() for fit in fits]
    assert (fits[1].heights >= 0.0).all()
    assert np.corrcoef(fits[1].heights, heights)[0, 1] >= 0.9
    assert raised < 0.5 * plain


@pytest.mark.parametrize(
    ("hosts", "share", "least"), [(64, 1.0, 0.99), (256, 1.0, 0.99), (256, 0.25, 0.98)]
)
def test_physical_affinity_of_data_centres(hosts, share, least):
    centre = uniform(hosts, 1)
    measured = observed(centre.distance, share)
    found = embed(measured)
    raw = affinity(measured, positions(centre)).accuracy
    embedded = affinity(found.distance, positions(centre)).accuracy
    assert embedded >= max(least, raw)
    assert found.is_better_than_raw


def test_nested_groups_that_few_dimensions_cannot_hold_leave_the_raw_matrix_better():
    # Hosts in pairs in fours in sixteens, each level ten times farther, with little noise.
    host = np.arange(64)
    distance = np.full((64, 64), 1000.0)
    for size, level in ((16, 100.0), (4, 10.0), (2, 1.0)):
        distance[host[:, None] // size == host[None, :] // size] = level
    noise = np.random.default_rng(9).lognormal(0.0, 0.01, (64, 64))
    assert not embed(distance * noise).is_better_than_raw


def test_the_same_seed_gives_the_same_points():
    distance = uniform(48, 2).distance
    assert (embed(distance, seed=3).points == embed(distance, seed=3).points).all()


@pytest.mark.parametrize(
    ("distance", "options", "reason"),
    [
        (np.ones((3, 4)), {}, "square"),
        (-np.ones((9, 9)), {}, "not negative"),
        (np.full((9, 9), np.inf), {}, "finite"),
        (np.full((9, 9), np.nan), {}, "too sparse"),
        (np.zeros((9, 9)), {}, "too sparse"),
        (np.ones((4, 4)), {}, "too sparse: 6 measured pairs of 4 hosts"),
        (observed(np.ones((40, 40)), 0.05), {}, "too sparse"),
        (TWO_PARTS, {}, "2 parts"),
        (np.ones((9, 9)), {"dimensions": 0}, "dimensions"),
        (np.ones((9, 9)), {"dimensions": 9}, "dimensions"),
    ],
)
def test_what_says_nothing_is_refused(distance, options, reason):
    with pytest.raises(ValueError, match=reason):
        embed(distance, **options)
