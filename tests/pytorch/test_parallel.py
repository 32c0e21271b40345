"""plink.torch.DataParallel on real ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from plink.engine import Options
from pytorch import parallel_checks as checks
from pytorch.processes import results, running


def test_gradients_and_what_is_learnt_are_ddps_to_the_bit(tmp_path: Path) -> None:
    options = Options(deterministic=True)
    assert results(checks.like_ddp, 3, tmp_path, pg_options=options) == [[]] * 3


def test_all_that_models_do(tmp_path: Path) -> None:
    assert results(checks.all_ways, 2, tmp_path) == [[]] * 2


@pytest.mark.timing
def test_a_rank_that_fails_in_a_pass_leaves_no_gradients(tmp_path: Path) -> None:
    later = (
        "a backward pass ended by an error, when some gradients were sent already: ranks do not "
        "agree on what comes next"
    )
    others = "DistBackendError: plink: rank 1 (127.0.0.1) has not joined collective"
    with running(checks.failing_pass, 3, tmp_path) as ranks:
        answers = [rank.hear() for rank in ranks]
    assert [answer[1:] for answer in answers] == [(later, 4, 0)] * 3
    assert answers[1][0] == "ValueError: bang"
    assert answers[0][0].startswith(others)
    assert answers[2][0].startswith(others)


def test_modules_must_be_the_same(tmp_path: Path) -> None:
    said = [
        (
            "rank 1's module is not rank 0's: its parameter 'weight' is (4, 3) torch.float32, that "
            "one's (3, 3) torch.float32"
        ),
        "rank 2's module is not rank 0's: parameter '2.weight' is its alone",
        "rank 1's module is not rank 0's: parameter 'bias' is rank 0's alone",
    ]
    assert results(checks.different_modules, 3, tmp_path) == [said] * 3
