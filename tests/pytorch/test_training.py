"""DistributedDataParallel, unmodified, on plink and on Gloo."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchkit.digits import digits
from plink.engine import Options
from pytorch import training_checks
from pytorch import work_checks as checks
from pytorch.processes import results


def test_losses_and_gradients_are_gloos(tmp_path: Path) -> None:
    assert results(checks.training, 2, tmp_path) == [[True] * 4] * 2


def test_communication_hooks(tmp_path: Path) -> None:
    assert results(checks.hooked_training, 2, tmp_path) == [True] * 2


def test_a_hook_whose_callbacks_wait_for_other_works(tmp_path: Path) -> None:
    first, second = results(checks.power_sgd, 2, tmp_path)
    assert first == second
    assert any(first)


def test_a_compiled_model(tmp_path: Path) -> None:
    assert results(checks.compiled, 2, tmp_path) == [True] * 2


def test_digits_are_learnt_alike(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
    epochs = 2
    answers = results(
        training_checks.digits_on_both,
        3,
        tmp_path,
        *digits(),
        epochs,
        pg_options=Options(deterministic=True),
    )
    assert all(answer == answers[0] for answer in answers)
    (losses, accuracy), (gloo_losses, gloo_accuracy) = answers[0]
    assert len(losses) == epochs * 24
    # Sums of three are rounded otherwise in another order, and what follows differs a little more.
    assert losses == pytest.approx(gloo_losses, rel=1e-3)
    # One picture more or less, which another rounding may decide.
    assert accuracy == pytest.approx(gloo_accuracy, abs=0.01)
    assert accuracy > 0.7
    assert losses[-1] < losses[0] / 3
