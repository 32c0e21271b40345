"""All-reduces by name, of ranks that announce them in different orders."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import plink.torch
from labkit.bound import BOUND
from plink.base.errors import WrongUseError
from pytorch import named_checks as checks
from pytorch.processes import results, running

pytestmark = pytest.mark.timing


def options(**control: Any) -> dict[str, Any]:
    return {"pg_options": plink.torch.Options(control=plink.torch.Control(**control))}


def test_ranks_announce_in_any_order_and_get_right_sums(tmp_path: Path) -> None:
    found = results(checks.permuted, 4, tmp_path, 40, 10, **options())
    assert found == [[]] * 4


def test_without_agreement_the_same_program_fails(tmp_path: Path) -> None:
    for said in results(checks.permuted_without_names, 3, tmp_path):
        assert "called another collective" in said


def test_machines_in_python_and_native_ones_agree(tmp_path: Path) -> None:
    for sums, late in results(checks.unlike, 3, tmp_path, **options()):
        assert sums == [[3.0, 6.0, 9.0, 12.0]] * 9
        assert "group" in late


def test_programs_end_while_they_wait(tmp_path: Path) -> None:
    program = Path(__file__).with_name("leaving_program.py")
    ways = ["native-tree", "python-bitvector"]
    done = subprocess.run(
        [*BOUND, sys.executable, str(program), str(tmp_path), *ways],
        env={**os.environ, "PLINK_SOCKET_IFNAME": "lo"},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    ended = [f"{way} {rank} 0" for way in ways for rank in range(2)]
    assert (done.returncode, done.stdout.splitlines()) == (0, ended), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "control",
    [
        {"mode": "full"},
        {"mode": "full-tree", "sleep": "global(2)"},
        {"mode": "bitvector", "cache": 4},
        {"mode": "bitvector", "sync": "nonblocking"},
    ],
)
def test_ranks_that_agree_in_cycles_get_right_sums(control: dict[str, Any], tmp_path: Path) -> None:
    found = results(checks.permuted, 3, tmp_path, 12, 6, **options(**control))
    assert found == [[]] * 3


@pytest.mark.parametrize(
    ("control", "told"),
    [
        ({"mode": "ring"}, "mode is 'ring'"),
        ({"cache": 0}, "cache is 0"),
        ({"mode": "full", "sleep": "global(0)"}, "sleep is 'global\\(0\\)'"),
        ({"sleep": "global"}, "mode 'tree' has none"),
        ({"sync": "later"}, "sync is 'later'"),
        ({"mode": "full", "sync": "nonblocking"}, "not for 'full'"),
        ({"mode": "bitvector", "sync": "nonblocking", "sleep": "global"}, "nothing to agree"),
    ],
)
def test_what_control_cannot_be_is_told(control: dict[str, Any], told: str) -> None:
    with pytest.raises(WrongUseError, match=told):
        plink.torch.Control(**control)


def test_named_and_other_collectives_go_together(tmp_path: Path) -> None:
    for one in results(checks.mixed, 3, tmp_path, **options()):
        assert one["group"] == [[3.0] * 3, [3.0] * 4]
        assert one["unnamed"] == [3.0] * 4
        assert one["mean"] == [1.0] * 5
        assert one["scaled"] == [15.0, 15.0]
        assert one["gathered"] == [0.0, 1.0, 2.0]
        assert one["broadcast"] == [1.0]


def test_ranks_with_less_data_contribute_zeros_until_all_have_joined(tmp_path: Path) -> None:
    found = results(checks.uneven, 3, tmp_path, **options())
    assert [sums for sums, _, _ in found] == [[3.0], [3.0, 4.0], [3.0, 4.0, 3.0]]
    assert [(last, again) for _, last, again in found] == [(2, 3.0)] * 3


def test_another_shape_fails_alike_on_all_ranks(tmp_path: Path) -> None:
    found = results(checks.differing, 3, tmp_path, **options())
    assert len({text for text, _ in found}) == 1
    assert "float32[4] on ranks 0, 2, and sum all-reduce of float32[5] on rank 1" in found[0][0]
    assert [value for _, value in found] == [[3.0, 3.0]] * 3


def test_every_rank_is_told_who_keeps_it_waiting(tmp_path: Path) -> None:
    for heard, value in results(checks.stalling, 3, tmp_path, **options(stall_warning_s=1.0)):
        at_s, text = heard[0]
        told = r"'late' has waited [\d.]+ s for rank 2; ranks 0-1 announced it"
        assert re.fullmatch(told, text)
        assert at_s >= 1.0
        assert value == [3.0]


def test_who_waits_for_a_rank_that_has_gone_is_told(tmp_path: Path) -> None:
    found = results(checks.losing, 3, tmp_path, **options())
    assert found[1] == "left"
    assert found[0] == found[2]
    assert all("rank 1 closed its engine" in text for text in found[0])


def test_what_cannot_be_announced_is_told_in_a_sentence(tmp_path: Path) -> None:
    with running(checks.refusing, 2, tmp_path, **options()) as ranks:
        assert ranks[0].hear() == "announced"
        said = ranks[0].hear()
        assert "sparse tensors" in said[0]
        assert "name is '#1'" in said[1]
        assert "cannot be scaled" in said[2]
        assert "does not reduce" in said[3]
        assert "'twice' is pending already" in said[4]
        ranks[1].hear()


def test_an_optimizer_steps_as_one_with_all_data_does(tmp_path: Path) -> None:
    of_groups = [(None, 1), (3, 1), ("200B", 2), ([["head.weight", "branches.0.bias"]], 1)]
    for apart in results(checks.trainings, 3, tmp_path, of_groups, **options()):
        assert max(apart) < 1e-5


def test_what_an_optimizer_cannot_do_is_told_in_a_sentence(tmp_path: Path) -> None:
    for said in results(checks.misusing_the_optimizer, 2, tmp_path, **options()):
        for text, expected in zip(
            said,
            (
                "parameter without a name",
                "two parameters are called",
                "no size of a group",
                "'head.weight' twice",
                "'nobody', which is no parameter",
                "backward_passes_per_step is 0",
                "once more before a step",
                "cannot be set to zero",
            ),
            strict=True,
        ):
            assert expected in text


def test_ranks_that_are_to_agree_in_different_ways_do_not_begin(tmp_path: Path) -> None:
    for said in results(checks.begin_differently, 2, tmp_path):
        assert "ranks differ in the option `control`" in said
