"""The lab's subnet never overlaps one that is in use."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import LabError
from labkit.subnets import POOLS, choose

networks = st.builds(
    lambda base, length: IPv4Network((base, length), strict=False),
    st.integers(0, 2**32 - 1),
    st.integers(8, 32),
)


@given(st.lists(networks, max_size=20), st.integers(1, 1000))
def test_free_and_large_enough(taken: list[IPv4Network], address_count: int) -> None:
    subnet = choose("lab", address_count, taken)
    assert subnet.is_private
    assert subnet.num_addresses >= address_count
    assert not any(subnet.overlaps(network) for network in taken)


def test_labs_beside_each_other_get_their_own() -> None:
    taken: list[IPv4Network] = []
    for _ in range(50):
        taken.append(choose("same", 16, taken))
    assert len(set(taken)) == 50


def test_a_default_route_takes_nothing() -> None:
    choose("lab", 16, [IPv4Network("0.0.0.0/0")])


def test_a_vpn_that_claims_the_private_ranges_is_left_alone() -> None:
    private = [IPv4Network("10.0.0.0/8"), IPv4Network("172.16.0.0/12")]
    assert choose("lab", 16, private).overlaps(IPv4Network("198.18.0.0/15"))
    with pytest.raises(LabError, match="free"):
        choose("lab", 16, POOLS)
