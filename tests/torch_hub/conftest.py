"""A hub for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from torch_hub.hubs import Place, running


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with running(tmp_path) as place:
        yield place
