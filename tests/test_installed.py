"""The tests must run against what was installed, not against the checkout they lie in."""

from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", ["plink", "probes", "solvers"])
def test_package_is_imported_from_outside_the_checkout(name: str) -> None:
    file = importlib.import_module(name).__file__
    assert file is not None
    assert CHECKOUT / name not in Path(file).resolve().parents


def test_a_subprocess_started_by_a_test_gets_the_installed_package_too() -> None:
    command = [sys.executable, "-c", "import plink; print(plink.__file__)"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert CHECKOUT / "plink" not in Path(printed.strip()).resolve().parents


def test_native_parts_were_installed() -> None:
    files = importlib.metadata.files("plink-collectives") or []
    names = [str(file) for file in files]
    assert any(name.startswith("solvers/_native.") for name in names)
    assert "probes/echo/bin/plink-echo-agent" in names


def test_sources_of_native_parts_were_not_installed() -> None:
    files = importlib.metadata.files("plink-collectives") or []
    assert [file for file in files if file.suffix in {".cpp", ".hpp"}] == []


def test_version_is_the_same_everywhere() -> None:
    plink = importlib.import_module("plink")
    assert plink.__version__ == importlib.metadata.version("plink-collectives")
