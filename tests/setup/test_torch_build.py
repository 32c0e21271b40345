"""Which build of PyTorch the scripts install."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
PIP = """#!/bin/bash
case "$3" in
index) echo "Available versions: {found}" ;;
install) echo "${{@: -1}}" >>"{calls}" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(SCRIPTS / "lib", tmp_path / "scripts" / "lib")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "constraints.txt").write_text("numpy==2.0.0\ntorch==2.9.0\n")
    return tmp_path


def installed(checkout: Path, found: str, has_gpu: bool) -> tuple[str, str]:
    """What pip was asked for, and what the user was told."""
    calls = checkout / "calls"
    python = checkout / ".venv" / "bin" / "python"
    python.write_text(PIP.format(found=found, calls=calls))
    python.chmod(0o755)
    gpu = "true" if has_gpu else "false"
    program = f". {checkout}/scripts/lib/setup.sh; has_gpu() {{ {gpu}; }}; pip_install_torch"
    done = subprocess.run(["/bin/bash", "-c", program], check=True, capture_output=True, text=True)
    return calls.read_text(), done.stderr


def test_the_build_for_cpus_where_there_is_no_gpu(checkout: Path) -> None:
    asked, told = installed(checkout, "2.10.0, 2.9.0+cpu, 2.9.0", has_gpu=False)
    assert asked == "torch==2.9.0+cpu\n"
    assert "note:" not in told


def test_the_default_build_beside_a_gpu(checkout: Path) -> None:
    asked, told = installed(checkout, "2.10.0, 2.9.0+cpu, 2.9.0", has_gpu=True)
    assert asked == "torch==2.9.0\n"
    assert "note:" not in told


def test_who_would_get_cuda_without_a_gpu_is_told_how_to_save_it(checkout: Path) -> None:
    asked, told = installed(checkout, "2.10.0+cpu, 2.10.0, 2.9.0", has_gpu=False)
    assert asked == "torch==2.9.0\n"
    if subprocess.check_output(["uname", "-m"], text=True).strip() == "x86_64":
        assert "brings CUDA" in told
        assert "PIP_EXTRA_INDEX_URL" in told
