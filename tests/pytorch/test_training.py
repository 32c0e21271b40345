"""DistributedDataParallel, unmodified, on plink and on Gloo."""

from __future__ import annotations

from pathlib import Path

from pytorch import work_checks as checks
from pytorch.processes import results


def test_losses_and_gradients_are_gloos(tmp_path: Path) -> None:
    assert results(checks.training, 2, tmp_path) == [[True] * 4] * 2


def test_communication_hooks(tmp_path: Path) -> None:
    assert results(checks.hooked_training, 2, tmp_path) == [True] * 2
