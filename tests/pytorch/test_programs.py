"""What people train with beside DistributedDataParallel, unmodified, on plink and on Gloo."""

from __future__ import annotations

from pathlib import Path

import pytest

from plink.engine import Options
from pytorch import program_checks as checks
from pytorch.processes import results

pytestmark = pytest.mark.timing

RANKS = 3


def test_weights_are_gloos_and_the_same_in_every_run(tmp_path: Path) -> None:
    """One set of processes for all of them: their imports take longer than they do."""
    answers = results(
        checks.every_program,
        RANKS,
        tmp_path,
        str(tmp_path / "checkpoints"),
        pg_options=Options(deterministic=True),
    )
    wanted = {program.__name__: (True, True) for program in checks.PROGRAMS}
    assert answers == [wanted] * RANKS
