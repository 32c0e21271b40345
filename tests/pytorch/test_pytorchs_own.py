"""PyTorch's own tests of its collectives: a chosen part here, all with `scripts/pytorch-tests`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pytorchkit.differences import BY_NAME
from pytorchkit.outcomes import FAILED, PASSED, Outcome, counts, failed_alone, unexpected_outcomes

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, str(ROOT / "scripts/pytorch-tests")]
PAGE = ROOT / "docs/torch-differences.md"

RANKS = 3

# Each is the one of its kind that asks for most.
CHOSEN = (
    "test_DistributedDataParallelCPU_grad_is_view",
    "test_all_gather_object_subgroup",
    "test_all_reduce_coalesced_full_group_sum",
    "test_batch_isend_irecv_gloo_tags",
    "test_get_backend",
    "test_isend_torch_profiler",
    "test_scatter_checks",
    "test_sparse_all_reduce_sum",
)


@pytest.mark.timing
@pytest.mark.timeout(750)
def test_what_passes_on_gloo_passes_on_plink(tmp_path: Path) -> None:
    told = tmp_path / "outcomes.json"
    command = [*COMMAND, "--ranks", str(RANKS), "--backends", "plink", "--json", str(told)]
    run = subprocess.run([*command, *CHOSEN], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    came_to = Counter(one["came_to"] for one in json.loads(told.read_text()))
    assert came_to == {PASSED: len(CHOSEN) - 1, FAILED: 1}
    assert f"test_get_backend, {RANKS} ranks: {BY_NAME['test_get_backend']}" in run.stdout


def test_every_difference_is_on_the_page() -> None:
    text = PAGE.read_text()
    assert [name for name in BY_NAME if f"`{name}`" not in text] == []


def outcome(test: str, backend: str, came_to: str) -> Outcome:
    return Outcome(test, backend, RANKS, came_to)


def test_what_fails_on_gloo_too_is_no_difference() -> None:
    found = [
        outcome("both", "gloo", FAILED),
        outcome("both", "plink", FAILED),
        outcome("new", "gloo", PASSED),
        outcome("new", "plink", FAILED),
        outcome("known", "plink", FAILED),
    ]
    assert [one.test for one in failed_alone(found)] == ["new", "known"]
    assert [one.test for one, _ in unexpected_outcomes(found, {"known": ""})] == ["new"]
    assert counts(found)[1:] == [("3", "gloo", "1", "1", "0"), ("3", "plink", "0", "3", "0")]


def test_a_difference_that_has_gone_is_told() -> None:
    found = [outcome("known", "plink", PASSED)]
    assert unexpected_outcomes(found, {"known": ""}) == [
        (found[0], "passed, though a difference is known")
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ranks", "0"], "a group has one rank or more"),
        (["--backends", "nccl"], "expected plink, gloo or both"),
    ],
)
def test_wrong_arguments_are_told(arguments: list[str], said: str) -> None:
    run = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert said in run.stderr
