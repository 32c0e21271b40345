"""Whatever c10d offers, a group of plink's gives what Gloo's gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytorch import collective_checks as checks
from pytorch.processes import results

pytestmark = pytest.mark.timing

RANKS = 3


@pytest.mark.parametrize("check", [checks.every_collective, checks.every_type_and_operation])
def test_results_are_gloos(check: object, tmp_path: Path) -> None:
    assert results(check, RANKS, tmp_path) == [[]] * RANKS  # type: ignore[arg-type]


def test_averages(tmp_path: Path) -> None:
    assert results(checks.averages, RANKS, tmp_path) == [[[2] * 5] * 5] * RANKS
