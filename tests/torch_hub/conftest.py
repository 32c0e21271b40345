"""A hub for the tests of this folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from torch_hub import standin

standin.install()

from torch_hub import hubs  # noqa: E402

sys.modules["plink.torch.hub.hub"].connected = standin.connected


@pytest.fixture
def place(tmp_path: Path) -> Iterator[hubs.Place]:
    standin.SERVICES.clear()
    with hubs.running(tmp_path) as place:
        yield place
