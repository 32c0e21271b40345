"""When the scripts install plink again: whenever what they would build is another."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
DPDK = '#!/bin/sh\n[ "$*" = "--modversion libdpdk" ] && echo {}\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(SCRIPTS / "lib", tmp_path / "scripts" / "lib")
    for folder in ("plink", "probes", "solvers", "bin"):
        (tmp_path / folder).mkdir()
    for file in ("pyproject.toml", "CMakeLists.txt", "constraints.txt", "probes/agent.cpp"):
        (tmp_path / file).write_text(file)
    set_dpdk(tmp_path, "22.11.7")
    return tmp_path


def set_dpdk(checkout: Path, version: str) -> None:
    program = checkout / "bin" / "pkg-config"
    program.write_text(DPDK.format(version) if version else "#!/bin/sh\nexit 1\n")
    program.chmod(0o755)


def hash_of_sources(checkout: Path) -> str:
    program = f". {checkout}/scripts/lib/setup.sh; PATH={checkout}/bin:$PATH; hash_of_sources"
    done = subprocess.run(["/bin/bash", "-c", program], check=True, capture_output=True, text=True)
    return done.stdout


def test_nothing_changed(checkout: Path) -> None:
    assert len(hash_of_sources(checkout).strip()) == 64
    before = hash_of_sources(checkout)
    (checkout / "docs.md").write_text("new")
    assert hash_of_sources(checkout) == before


@pytest.mark.parametrize("name", ["constraints.txt", "probes/agent.cpp", "plink/new.py"])
def test_a_source_changed(checkout: Path, name: str) -> None:
    before = hash_of_sources(checkout)
    (checkout / name).write_text("changed")
    assert hash_of_sources(checkout) != before


@pytest.mark.parametrize(
    ("installed", "wanted", "both"),
    [
        (None, "torch", "torch"),
        ("torch", "dev,exact", "dev,exact,torch"),
        ("dev,exact,torch", "torch", "dev,exact,torch"),
    ],
)
def test_no_extra_is_forgotten(
    checkout: Path, installed: str | None, wanted: str, both: str
) -> None:
    (checkout / ".venv").mkdir()
    if installed is not None:
        (checkout / ".venv" / "plink-extras").write_text(f"{installed}\n")
    program = f". {checkout}/scripts/lib/setup.sh; with_installed {wanted}"
    done = subprocess.run(["/bin/bash", "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == f"{both}\n"


@pytest.mark.parametrize("script", ["test", "demo"])
def test_what_is_quick_to_set_up_does_without_clusters(script: str) -> None:
    (extras,) = re.findall(r"^ *EXTRAS=(\S+)$", (SCRIPTS / script).read_text(), re.MULTILINE)
    assert not {"dask", "ray"} & set(extras.split(","))


@pytest.mark.parametrize("version", ["", "24.11.1"])
def test_dpdk_came_or_went(checkout: Path, version: str) -> None:
    before = hash_of_sources(checkout)
    set_dpdk(checkout, version)
    assert hash_of_sources(checkout) != before
