"""Whatever c10d offers, a group of plink's gives what Gloo's gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from plink.torch import PlinkGroup
from plink.torch.collectives import EngineCollectives
from pytorch import collective_checks as checks
from pytorch import layout_checks, overlap_checks
from pytorch.processes import results
from support.seeds import IS_SOAK, with_seeds

pytestmark = pytest.mark.timing

RANKS = 3


@pytest.mark.parametrize("check", [checks.every_collective, checks.every_type_and_operation])
def test_results_are_gloos(check: object, tmp_path: Path) -> None:
    assert results(check, RANKS, tmp_path) == [[]] * RANKS  # type: ignore[arg-type]


def test_averages(tmp_path: Path) -> None:
    assert results(checks.averages, RANKS, tmp_path) == [[[2] * 5] * 5] * RANKS


def test_what_is_sent_may_lie_where_results_do(tmp_path: Path) -> None:
    assert results(overlap_checks.overlapping, RANKS, tmp_path) == [
        [[[10.0 * sender + rank] for sender in range(RANKS)], [[0.0], [1.0], [2.0]], [3.0 * rank]]
        for rank in range(RANKS)
    ]


def test_one_collective_after_the_other_does_not_hang(tmp_path: Path) -> None:
    assert results(checks.in_quick_succession, 2, tmp_path) == [True] * 2


def test_plink_begins_what_pytorch_begins_with_the_global_lock_held() -> None:
    header = Path(torch.__file__).parent / "include/torch/csrc/distributed/c10d/PyProcessGroup.hpp"
    text = re.sub(r"//.*|/\*.*?\*/", "", header.read_text())
    names = re.findall(r"WORK_OVERRIDE\(\s*ProcessGroup,\s*(\w+)", text)
    names += re.findall(
        r'get_override\(\s*static_cast<const ProcessGroup\*>\(this\),\s*"(\w+)"', text
    )
    own = {*vars(PlinkGroup), *vars(EngineCollectives)}
    assert {"broadcast", "alltoall_base"} <= set(names) <= own


def test_every_collective_runs_on_the_engine(tmp_path: Path) -> None:
    assert results(checks.on_the_engine, 2, tmp_path) == [[]] * 2


def test_tensors_that_do_not_fit_are_refused_at_once(tmp_path: Path) -> None:
    assert results(checks.refused, 2, tmp_path) == [[]] * 2


@with_seeds(1)
def test_every_memory_layout(seed: int, tmp_path: Path) -> None:
    check, most = layout_checks.every_layout, 1000 if IS_SOAK else 80
    assert results(check, RANKS, tmp_path, seed, most) == [[]] * RANKS


def test_memory_between_and_behind_elements_is_left_alone(tmp_path: Path) -> None:
    halves = [4, 2] * 6
    assert results(layout_checks.far_expanded, 2, tmp_path) == [[3, *halves]] * 2
