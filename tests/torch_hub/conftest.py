"""A hub for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from torch_hub.hubs import Place, running


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    """With one server, or as many as the test's parameter says."""
    with running(tmp_path, servers=getattr(request, "param", 1)) as place:
        yield place
