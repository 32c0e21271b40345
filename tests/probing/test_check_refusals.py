"""What `plink check` and `--rounds` refuse before anything is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.plink_command import plink_here


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    file = tmp_path / "c.json"
    done = plink_here("import", "-", "-o", file, text="us,a,b\na,0,5\nb,6,0\n")
    assert done.code == 0, done.stderr
    return file


def test_what_no_tool_measured_cannot_be_measured_again(imported: Path) -> None:
    done = plink_here("check", imported)
    assert done.code == 2
    assert "plink did not measure its round-trip times (tool: import)" in done.stderr


def test_a_file_without_round_trip_times_cannot_be_checked(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(
        '{"format": "plink.cluster", "version": 1, "hosts": [{"name": "a", "address": "a"}]}'
    )
    done = plink_here("check", file)
    assert done.code == 2
    assert "holds no round-trip times" in done.stderr


@pytest.mark.parametrize("rounds", ["1", "0", "-3", "many", "9" * 30])
def test_rounds_that_are_none(rounds: str) -> None:
    done = plink_here("probe", "hosts.txt", "-o", "c.json", "--rounds", rounds)
    assert done.code == 2
    assert f"--rounds is '{rounds}'" in done.stderr
