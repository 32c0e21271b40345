"""Routed labs for the tests that only trace in them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.lab import Lab, lab_cluster


@pytest.fixture(scope="session")
def routed() -> Iterator[Lab]:
    """Two racks of two under one spine, all of them routers."""
    with lab_cluster(racks=2, hosts=2, hops=0, options=["--routed"]) as lab:
        yield lab
