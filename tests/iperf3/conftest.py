from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.lab import Lab, lab_cluster

HOST_MBIT = 100
UPLINK_MBIT = 60


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """Three racks of two, two and one host, the uplinks slower than two hosts."""
    rates = {"host_rate": f"{HOST_MBIT}mbit", "uplink_rate": f"{UPLINK_MBIT}mbit"}
    with lab_cluster(racks=None, hosts="2,2,1", hops=0, **rates) as lab:
        yield lab
