from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.lab import Lab, lab_cluster


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """Two racks of three hosts."""
    with lab_cluster(racks=2, hosts=3) as lab:
        yield lab
