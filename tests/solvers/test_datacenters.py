"""The generated data centres hold what their description says."""

from __future__ import annotations

import numpy as np
import pytest

from benchkit import datacenters


@pytest.mark.parametrize("family", datacenters.FAMILIES)
@pytest.mark.parametrize("hosts", [1, 7, 64, 300])
def test_a_data_centre_is_symmetric_and_of_the_size_asked_for(family, hosts):
    made = datacenters.FAMILIES[family](hosts, 3)
    assert made.distance.shape == (hosts, hosts)
    assert (made.distance == made.distance.T).all()
    assert not np.diagonal(made.distance).any()
    assert (made.distance[~np.eye(hosts, dtype=bool)] > 0.0).all()
    assert len(made.rack_of) == len(made.row_of) == hosts


@pytest.mark.parametrize("family", datacenters.FAMILIES)
def test_the_seed_decides_everything(family):
    make = datacenters.FAMILIES[family]
    assert (make(100, 5).distance == make(100, 5).distance).all()
    assert (make(100, 5).distance != make(100, 6).distance).any()


def test_uniform_racks_have_16_hosts_and_rows_four_racks():
    made = datacenters.uniform(256, 1)
    assert (np.bincount(made.rack_of) == 16).all()
    assert (np.bincount(made.row_of) == 64).all()


def test_unequal_racks_have_8_to_32_hosts_and_rows_two_to_five_racks():
    made = datacenters.unequal(2000, 1)
    racks = np.bincount(made.rack_of)[:-1]
    assert racks.min() == 8
    assert racks.max() == 32
    in_row = [len(np.unique(made.rack_of[made.row_of == row])) for row in np.unique(made.row_of)]
    assert set(in_row[:-1]) == {2, 3, 4, 5}


@pytest.mark.parametrize("family", datacenters.FAMILIES)
def test_labels_are_shuffled(family):
    made = datacenters.FAMILIES[family](256, 1)
    assert (np.diff(made.rack_of) != 0).mean() > 0.8


@pytest.mark.parametrize("family", datacenters.FAMILIES)
def test_medians_follow_the_levels(family):
    made = datacenters.FAMILIES[family](800, 2)
    same_rack = made.rack_of[:, None] == made.rack_of[None, :]
    same_row = made.row_of[:, None] == made.row_of[None, :]
    others = ~np.eye(800, dtype=bool)
    for members, middle_us in (
        (same_rack & others, 25.0),
        (same_row & ~same_rack, 57.5),
        (~same_row, 110.0),
    ):
        # Of 5 % of the pairs the path is too long, which lifts the median a little.
        assert np.median(made.distance[members]) == pytest.approx(1.01 * middle_us, rel=0.03)


def test_a_twentieth_of_the_pairs_is_too_long():
    made = datacenters.uniform(800, 4)
    far = made.distance[made.row_of[:, None] != made.row_of[None, :]]
    # Noise alone takes hardly any pair above 250 µs; half of the detours, and a few, do.
    assert 0.015 < (far > 250.0).mean() < 0.03


def test_no_hosts_are_refused():
    with pytest.raises(ValueError, match="expected at least 1"):
        datacenters.uniform(0, 1)
