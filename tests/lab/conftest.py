"""A lab for the tests that only look at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.lab import Lab, lab_cluster


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """Two racks of two. A test that changes it changes it back."""
    with lab_cluster(
        racks=2,
        hosts=2,
        host_rate="400mbit",
        uplink_rate="200mbit",
        hops=4,
        reached_from_here=False,
    ) as lab:
        yield lab
