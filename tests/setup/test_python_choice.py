"""Which Python the scripts build with."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
OLD = "#!/bin/sh\nexit 1\n"  # the question is asked as an exit status
THIS = f'#!/bin/sh\nexec {sys.executable} "$@"\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(SCRIPTS / "lib", tmp_path / "scripts" / "lib")
    (tmp_path / "bin").mkdir()
    for program in ["dirname", "cat"]:
        found = shutil.which(program)
        assert found is not None
        (tmp_path / "bin" / program).symlink_to(found)
    return tmp_path


def add(checkout: Path, name: str, text: str) -> Path:
    program = checkout / "bin" / name
    program.write_text(text)
    program.chmod(0o755)
    return program


def choose(checkout: Path, python: str | None = None) -> subprocess.CompletedProcess[str]:
    # The library adds the folders of system programs to the path; there may be a python3 in none.
    program = f". {checkout}/scripts/lib/setup.sh; PATH={checkout}/bin; choose_python"
    environment = {"PATH": str(checkout / "bin"), **({} if python is None else {"PYTHON": python})}
    return subprocess.run(
        ["/bin/bash", "-c", program], check=False, capture_output=True, text=True, env=environment
    )


def test_first_recent_python_on_the_path_is_taken_by_its_own_place(checkout: Path) -> None:
    add(checkout, "python3", OLD)
    add(checkout, "python3.12", THIS)
    assert choose(checkout).stdout.strip() == sys.executable


def test_no_recent_python_is_one_sentence_and_a_hint(checkout: Path) -> None:
    add(checkout, "python3", OLD)
    result = choose(checkout)
    assert result.returncode == 1
    assert result.stderr.startswith("error: there is no Python 3.10 or later on the path\nhint: ")
    assert result.stdout == ""


def test_named_python_wins_over_the_path(checkout: Path) -> None:
    add(checkout, "python3", OLD)
    mine = add(checkout, "mine", THIS)
    assert choose(checkout, str(mine)).stdout.strip() == sys.executable


@pytest.mark.parametrize(
    ("python", "complaint"),
    [("absent", "is not a command"), ("python2", "is not Python 3.10 or later")],
)
def test_named_python_that_will_not_do_is_refused(
    checkout: Path, python: str, complaint: str
) -> None:
    add(checkout, "python2", OLD)
    add(checkout, "python3", THIS)
    result = choose(checkout, python)
    assert result.returncode == 1
    assert result.stderr == f"error: PYTHON={python} {complaint}\n"


def test_python_of_the_environment_that_is_there_is_kept(checkout: Path) -> None:
    add(checkout, "python3", OLD)
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "plink-python").write_text(f"{sys.executable}\n")
    assert choose(checkout).stdout.strip() == sys.executable


def test_python_of_the_environment_that_is_gone_is_replaced(checkout: Path) -> None:
    add(checkout, "python3", THIS)
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "plink-python").write_text("/nowhere/python3\n")
    assert choose(checkout).stdout.strip() == sys.executable
