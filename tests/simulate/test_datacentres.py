"""Described data centres, and what is refused of them."""

from __future__ import annotations

import numpy as np
import pytest

from plink.base.errors import WrongUseError
from plink.model.network import build_network
from plink.simulate.datacentres import MOST_MEASURED, dragonfly, fat_tree, racks
from plink.simulate.simgrid.platforms import RowLink, platform_of
from plink.solvers.contention.network import make_network

LINKS = {"rate_gbit_s": 10.0, "hop_us": 1.0}


def test_racks_are_the_groups_and_their_uplinks_are_known() -> None:
    found = racks(4, 8, oversubscription=4.0, **LINKS)
    known = build_network(found.cluster)
    assert list(known.assumptions) == []
    assert known.network.group_of.tolist() == np.repeat(range(4), 8).tolist()
    assert known.network.uplink_send_bytes_s == pytest.approx([2 * 1.25e9] * 4)
    assert known.network.send_bytes_s == pytest.approx([1.25e9] * 32)
    assert known.network.latency_s[0, [1, 8]] == pytest.approx([2e-6, 4e-6])


def test_a_fat_tree_counts_its_hops() -> None:
    found = fat_tree([4, 2, 2], [1, 2, 2], [1, 1, 1], **LINKS)
    latency_s = build_network(found.cluster).network.latency_s
    assert latency_s[0, [1, 4, 8]] == pytest.approx([2e-6, 4e-6, 6e-6])


def test_large_ones_are_not_measured() -> None:
    found = racks(200, 138, **LINKS)
    assert found.platform.hosts == 27_600 > MOST_MEASURED
    assert found.cluster.rtt is None


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: racks(3, 4, rows=2, **LINKS), "3 racks do not fill 2 rows evenly"),
        (lambda: racks(1, 1, **LINKS), "1 hosts are not between 2 and 65,536"),
        (lambda: fat_tree([4, 2], [1], [1, 1], **LINKS), "as many numbers"),
        (lambda: fat_tree([4, 2], [2, 1], [1, 1], **LINKS), "a host has one link"),
        (lambda: fat_tree([4, 0], [1, 1], [1, 1], **LINKS), "1 or more"),
        (lambda: dragonfly(5, 2, 4, 2, **LINKS), "5 groups are more than the 4 routers"),
        (lambda: dragonfly(2, 2, 4, 2, [1, 1], **LINKS), "its links three"),
    ],
)
def test_what_cannot_be_is_refused(make: object, says: str) -> None:
    with pytest.raises(WrongUseError, match=says):
        make()  # type: ignore[operator]  # a function


def test_rows_and_hosts_without_a_group_are_zones() -> None:
    network = make_network(
        5, group_of=[0, 0, 1, 2, -1], uplink_send_bytes_s=[1.0, 2.0, 3.0], send_bytes_s=4.0
    )
    found = platform_of(network, [RowLink([0, 1], 5.0, 6.0)])
    assert found.parent.tolist() == [-1, 0, 1, 1, 0, 0]
    assert found.up_bytes_s.tolist() == [np.inf, 5.0, 1.0, 2.0, 3.0, np.inf]
    assert found.zone_of.tolist() == [2, 2, 3, 4, 5]
