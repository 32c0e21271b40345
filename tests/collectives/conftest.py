"""A lab for the tests that only count what its hosts send."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.lab import Lab, lab_cluster


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """Sixteen hosts without limits: it is bytes that count here, not seconds."""
    with lab_cluster(racks=4, hosts=4, host_rate="none", uplink_rate="none", hops=0) as standing:
        yield standing
