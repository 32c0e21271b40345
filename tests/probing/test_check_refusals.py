"""What `plink check`, its older spelling and `--rounds` refuse before anything is sent."""

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


@pytest.mark.parametrize("spelling", [("check",), ("probe", "--check")])
def test_what_no_tool_measured_cannot_be_measured_again(
    imported: Path, spelling: tuple[str, ...]
) -> None:
    done = plink_here(*spelling, imported)
    assert done.code == 2
    assert ("note: use the present spelling: plink check " in done.stderr) == (
        spelling != ("check",)
    )
    assert "plink did not measure its round-trip times (tool: import)" in done.stderr


def test_a_file_without_round_trip_times_cannot_be_checked(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(
        '{"format": "plink.cluster", "version": 1, "hosts": [{"name": "a", "address": "a"}]}'
    )
    done = plink_here("check", file)
    assert done.code == 2
    assert "holds no round-trip times" in done.stderr


@pytest.mark.parametrize(
    ("option", "named"),
    [
        (("hosts.txt",), "the argument HOSTS"),
        (("-o", "c.json"), "--output"),
        (("--tool", "echo"), "--tool"),
        (("--percentile", "10"), "--percentile"),
        (("--resume", "c.json"), "--resume"),
        (("--streams", "2"), "--streams"),
    ],
)
def test_what_the_file_says_is_not_said_again(option: tuple[str, ...], named: str) -> None:
    done = plink_here("probe", "--check", "c.json", *option)
    assert done.code == 2
    assert named in done.stderr
    assert "cannot be combined with --check" in done.stderr


@pytest.mark.parametrize(
    ("rounds", "complaint"),
    [
        ("1", "fewer than 2 rounds do not connect the hosts"),
        ("0", "fewer than 2 rounds do not connect the hosts"),
        ("-3", "neither a number of rounds, auto nor all"),
        ("many", "neither a number of rounds, auto nor all"),
        ("9" * 30, "neither a number of rounds, auto nor all"),
    ],
)
def test_rounds_that_are_none(rounds: str, complaint: str) -> None:
    done = plink_here("probe", "hosts.txt", "-o", "c.json", "--rounds", rounds)
    assert done.code == 2
    assert complaint in done.stderr
