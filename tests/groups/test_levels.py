"""Levels of groups: found where they are, and not where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from benchkit.datacenters import unequal, uniform
from plink.solvers.groups.agreement import adjusted_mutual_information
from plink.solvers.groups.grouping import ALONE
from plink.solvers.groups.levels import choose_level, count_messages, discover


def symmetric(matrix):
    upper = np.triu(matrix, 1)
    return upper + upper.T


def random_points(rng, hosts, dimensions):
    points = rng.random((hosts, dimensions))
    return symmetric(np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2)))


def mesh(rng, hosts):
    row, column = np.divmod(np.arange(hosts), round(np.sqrt(hosts)))
    steps = np.abs(np.subtract.outer(row, row)) + np.abs(np.subtract.outer(column, column))
    return symmetric((5.0 + steps) * rng.lognormal(0.0, 0.02, steps.shape))


NO_STRUCTURE = {
    "log-normal noise": lambda rng, hosts: symmetric(rng.lognormal(0.0, 0.15, (hosts, hosts))),
    "wide noise": lambda rng, hosts: symmetric(rng.lognormal(0.0, 1.0, (hosts, hosts))),
    "exponential noise": lambda rng, hosts: symmetric(rng.exponential(1.0, (hosts, hosts))),
    "uniform noise": lambda rng, hosts: symmetric(rng.random((hosts, hosts))),
    "a line": lambda rng, hosts: random_points(rng, hosts, 1),
    "a square": lambda rng, hosts: random_points(rng, hosts, 2),
    "a cube": lambda rng, hosts: random_points(rng, hosts, 3),
    "host latencies": lambda rng, hosts: symmetric(
        np.add.outer(*[rng.exponential(1.0, hosts)] * 2)
    ),
}


@pytest.mark.parametrize("kind", NO_STRUCTURE)
@pytest.mark.parametrize(("hosts", "seeds"), [(16, 6), (32, 4), (64, 2)])
def test_no_groups_are_claimed_where_there_is_no_structure(kind, hosts, seeds):
    claimed = [
        seed
        for seed in range(seeds)
        if discover(NO_STRUCTURE[kind](np.random.default_rng([seed, hosts]), hosts)).levels
    ]
    assert len(claimed) <= 1


@pytest.mark.parametrize("hosts", [16, 25, 36, 64])
def test_no_groups_are_claimed_in_a_mesh(hosts):
    claimed = [
        seed
        for seed in range(3)
        if discover(mesh(np.random.default_rng([seed, hosts]), hosts)).levels
    ]
    assert len(claimed) <= 1


def test_few_random_points_seldom_look_grouped():
    claimed = sum(
        bool(discover(NO_STRUCTURE["a square"](np.random.default_rng([seed, 5]), hosts)).levels)
        for hosts in (4, 6, 8, 12, 16)
        for seed in range(8)
    )
    assert claimed <= 0.05 * 5 * 8


@pytest.mark.parametrize("hosts", [1, 2, 3, 4, 9, 50])
@pytest.mark.parametrize("value", [0.0, 25.0])
def test_equal_distances_hold_no_groups(hosts, value):
    assert not discover(symmetric(np.full((hosts, hosts), value))).levels


@pytest.mark.parametrize("family", [uniform, unequal])
@pytest.mark.parametrize(("hosts", "seed"), [(64, 1), (64, 2), (64, 3), (256, 1), (512, 1)])
def test_the_racks_and_rows_of_data_centres_are_found(family, hosts, seed):
    centre = family(hosts, seed)
    levels = discover(centre.distance).levels
    racks = choose_level(levels).labels
    assert adjusted_mutual_information(racks.tolist(), centre.rack_of.tolist()) == 1.0
    if hosts > 64:
        rows = levels[0].labels
        assert adjusted_mutual_information(rows.tolist(), centre.row_of.tolist()) == 1.0
        assert len(levels) == 2


@pytest.mark.parametrize("sizes", [[8] * 8, [3, 5, 8], [2] * 10, [4, 12], [16] * 32, [16] * 128])
def test_clean_racks_of_any_size_are_found(sizes):
    rng = np.random.default_rng(len(sizes))
    rack = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    far = np.where(rack[:, None] == rack[None, :], 20.0, 60.0)
    distance = symmetric(far * rng.lognormal(0.0, 0.01, far.shape))
    (level,) = discover(distance).levels
    assert adjusted_mutual_information(level.labels.tolist(), rack.tolist()) == 1.0


# Pairs of hosts 0 to 5 in order, in µs: two racks of three hosts, read beside other work.
BESIDE_OTHER_WORK = (
    (23.8, 23.6, 98.3, 77.1, 78.1, 28.6, 77.2, 76.4, 78.2, 78.2, 78.0, 77.0, 23.8, 23.8, 23.4),
    (23.7, 23.8, 78.4, 78.4, 103.7, 23.8, 79.8, 110.2, 92.7, 78.3, 104.4, 81.7, 23.8, 29.8, 23.7),
)


@pytest.mark.parametrize("readings_us", BESIDE_OTHER_WORK)
def test_far_racks_of_three_hosts_are_found_beside_other_work(readings_us):
    distance = np.zeros((6, 6))
    distance[np.triu_indices(6, 1)] = readings_us
    (level,) = discover(symmetric(distance)).levels
    assert level.labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_groups_that_differ_by_little_are_found_where_noise_is_less():
    rack = np.repeat([0, 1], 5)
    far = np.where(rack[:, None] == rack[None, :], 1.0, 1.09)
    distance = symmetric(far * np.random.default_rng(1).lognormal(0.0, 0.005, far.shape))
    (level,) = discover(distance).levels
    assert level.labels.tolist() == rack.tolist()


def test_a_host_that_fits_nowhere_is_left_alone():
    rack = np.repeat(np.arange(5), 4)[:17]
    far = np.where(rack[:, None] == rack[None, :], 20.0, 60.0)
    far[16, :] = far[:, 16] = 400.0
    distance = symmetric(far * np.random.default_rng(2).lognormal(0.0, 0.01, far.shape))
    found = choose_level(discover(distance).levels)
    assert np.flatnonzero(found.labels == ALONE).tolist() == [16]
    assert found.labels[:16].tolist() == rack[:16].tolist()


def test_cores_complexes_and_sockets_are_found_where_hosts_of_sockets_differ():
    # Pairs in fours in thirty-twos, at distances as of cores of one machine, in nanoseconds.
    host, rng = np.arange(64), np.random.default_rng(5)
    far = 220.0 * np.ones((64, 64)) + np.add.outer(*[12.0 * (host // 4 % 4)] * 2)
    for size, level in ((32, 120.0), (4, 25.0), (2, 8.0)):
        far[host[:, None] // size == host[None, :] // size] = level
    distance = symmetric(far * rng.lognormal(0.0, 0.01, far.shape))
    levels = discover(distance).levels
    assert [level.groups for level in levels] == [2, 16, 32]
    assert choose_level(levels).groups == 16


def test_the_primary_level_has_the_least_traffic():
    # Pairs in fours in sixteens: 32, 16 and 4 groups of 64 hosts.
    host = np.arange(64)
    far = np.full((64, 64), 1000.0)
    for size, level in ((16, 200.0), (4, 50.0), (2, 10.0)):
        far[host[:, None] // size == host[None, :] // size] = level
    distance = symmetric(far * np.random.default_rng(3).lognormal(0.0, 0.02, far.shape))
    levels = discover(distance).levels
    assert [level.groups for level in levels] == [4, 16, 32]
    assert choose_level(levels).groups == 16
    assert count_messages(choose_level(levels).labels) == 20


@pytest.mark.parametrize(
    "matrix",
    [
        np.ones((2, 3)),
        np.zeros((0, 0)),
        np.array([[0.0, 1.0], [2.0, 0.0]]),
        np.array([[1.0, 1.0], [1.0, 0.0]]),
        np.array([[0.0, -1.0], [-1.0, 0.0]]),
        np.array([[0.0, np.nan], [np.nan, 0.0]]),
    ],
)
def test_what_is_no_matrix_of_distances_is_refused(matrix):
    with pytest.raises(ValueError, match=r"expected|symmetric|finite"):
        discover(matrix)


def test_disturbed_racks_that_do_not_overlap_are_found_among_few_hosts():
    # Half of the readings are longer by half, as where other work disturbs a probe.
    rack = np.repeat([0, 1, 2], [3, 5, 8])
    far = np.where(rack[:, None] == rack[None, :], 11.0, 20.0)
    slow = np.random.default_rng(4).random(far.shape) < 0.5
    (level,) = discover(symmetric(np.where(slow, 1.5 * far, far))).levels
    assert level.labels.tolist() == rack.tolist()


# Two racks of three hosts each, probed beside a load of 18 on two cores.
BUSY_US = [
    [0.0, 33.5, 33.6, 33.8, 21.3, 21.2],
    [33.7, 0.0, 21.3, 21.3, 34.0, 33.6],
    [33.9, 21.3, 0.0, 21.3, 32.9, 32.3],
    [32.5, 21.3, 21.3, 0.0, 32.4, 32.1],
    [19.5, 32.2, 33.7, 33.5, 0.0, 19.5],
    [19.7, 33.9, 32.2, 33.8, 19.5, 0.0],
]


def test_two_racks_of_three_hosts_are_found_on_a_busy_machine():
    readings = np.array(BUSY_US)
    (level,) = discover(np.minimum(readings, readings.T)).levels
    assert level.labels.tolist() in ([0, 1, 1, 1, 0, 0], [1, 0, 0, 0, 1, 1])
