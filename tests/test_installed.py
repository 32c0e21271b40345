"""The tests must run against what was installed, not against the checkout they lie in."""

from __future__ import annotations

import importlib
import importlib.metadata
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from plink.cli.manual import pages

CHECKOUT = Path(__file__).resolve().parents[1]
_BUILT = shutil.ignore_patterns("*.so", "__pycache__")


@pytest.mark.parametrize("name", ["plink", "plink.probes", "plink.solvers"])
def test_package_is_imported_from_outside_the_checkout(name: str) -> None:
    file = importlib.import_module(name).__file__
    assert file is not None
    parents = Path(file).resolve().parents
    assert not [folder for folder in ("plink", "probes", "solvers") if CHECKOUT / folder in parents]


def test_a_subprocess_started_by_a_test_gets_the_installed_package_too() -> None:
    command = [sys.executable, "-c", "import plink; print(plink.__file__)"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert CHECKOUT / "plink" not in Path(printed.strip()).resolve().parents


def test_native_parts_were_installed() -> None:
    files = importlib.metadata.files("plink-collectives") or []
    names = [str(file) for file in files]
    for folder in ("solvers", "engine", "training/control", "simulate/control"):
        assert any(name.startswith(f"plink/{folder}/_native.") for name in names)
    assert "plink/probes/echo/bin/plink-echo-agent" in names


def test_manual_pages_were_installed_where_man_looks() -> None:
    files = importlib.metadata.files("plink-collectives") or []
    found = {file.name for file in files if file.match("share/man/man1/*.1")}
    assert found == {f"{name}.1" for name in pages("2026-01-31")}
    assert (Path(sysconfig.get_path("data")) / "share" / "man" / "man1" / "plink.1").exists()


def test_sources_of_native_parts_were_not_installed() -> None:
    """But for the program that is compiled where SimGrid is."""
    files = importlib.metadata.files("plink-collectives") or []
    sources = {file for file in files if file.suffix in {".cpp", ".hpp"}}
    assert {file.parent.as_posix() for file in sources} == {"plink/simulate/simgrid"}


def test_version_is_the_same_everywhere() -> None:
    plink = importlib.import_module("plink")
    assert plink.__version__ == importlib.metadata.version("plink-collectives")


def test_nothing_but_plink_is_installed_at_the_top() -> None:
    files = importlib.metadata.files("plink-collectives") or []
    tops = {file.parts[0] for file in files if file.parts[0] != ".."}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"plink"}


@pytest.mark.parametrize("names", [("probes", "solvers"), ("plink", "probes", "solvers")])
def test_folders_of_the_same_names_do_not_stand_in_the_way(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    for name in names:
        # The sources of a checkout, which are not built, or what others call by that name.
        if name == "plink":
            shutil.copytree(CHECKOUT / "plink", tmp_path / "plink", ignore=_BUILT, symlinks=True)
        else:
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text("raise SystemExit('not ours')")
    command = [sys.executable, "-m", "plink", "order", "--list-algorithms"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert "ring" in done.stdout


def test_sources_alone_say_how_to_install_them(tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "plink", tmp_path / "plink", ignore=_BUILT, symlinks=True)
    # Without what is installed: the folder of the sources is all there is.
    command = [sys.executable, "-S", "-m", "plink", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install ." in done.stderr
    assert "Traceback" not in done.stderr
