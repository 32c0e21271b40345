"""A short run of the fuzzers: long enough to see that they work, and what the corpus finds."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from support.require import require_fuzzer

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "fuzz"
HARNESSES = sorted(path.stem for path in Path(__file__).parent.glob("*.cpp"))
IN_PYTHON = ("daemon_frames", "daemon_messages", "hub_session")


def fuzz(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PLINK_FUZZ_FOLDER": str(folder)}
    argv = [SCRIPT, *arguments]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.timeout(750)
def test_a_short_run_finds_nothing(tmp_path: Path) -> None:
    require_fuzzer()
    done = fuzz(tmp_path, "--seconds", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(
        r"(\w+): (\d+) inputs in 1 s, \d+ places reached, nothing found", done.stdout
    )
    # Those in Python need Atheris besides.
    assert [name for name, _ in found if name not in IN_PYTHON] == HARNESSES
    assert all(int(inputs) > 100 for _, inputs in found)


def test_every_harness_has_a_corpus() -> None:
    for name in [*HARNESSES, *IN_PYTHON]:
        assert any((Path(__file__).parent / "corpus" / name).iterdir())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["--seconds", "soon"], "whole number"), (["nothing"], "no harness is called nothing")],
)
def test_wrong_use_is_named(tmp_path: Path, arguments: list[str], complaint: str) -> None:
    done = fuzz(tmp_path, *arguments)
    assert done.returncode == 1
    assert complaint in done.stderr


def test_without_clang_the_packages_are_named(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "PLINK_FUZZ_FOLDER": str(tmp_path / "out")}
    for program in ("bash", "dirname", "basename", "mkdir"):
        (tmp_path / program).symlink_to(f"/usr/bin/{program}")
    done = subprocess.run(
        ["/bin/bash", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "libclang-rt-14-dev" in done.stderr
