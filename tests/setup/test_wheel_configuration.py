"""Wheels are built for the Pythons that plink supports, wherever these are named."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from setup.test_constraints import PYTHONS

CHECKOUT = Path(__file__).resolve().parents[2]
WORKFLOWS = CHECKOUT / ".github" / "workflows"


def project() -> dict[str, Any]:
    if sys.version_info < (3, 11):
        tomllib = pytest.importorskip("tomli")
    else:
        import tomllib
    found: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    return found


def workflow(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((WORKFLOWS / name).read_text())
    return found


def test_the_same_pythons_are_named_everywhere() -> None:
    table = project()
    named = [text.rpartition(" ")[2] for text in table["project"]["classifiers"] if "3." in text]
    assert named == PYTHONS
    builds = table["tool"]["cibuildwheel"]["build"]
    assert builds == [f"cp{python.replace('.', '')}-*" for python in PYTHONS]
    assert table["project"]["requires-python"] == f">={PYTHONS[0]}"
    tested = workflow("ci.yml")["jobs"]["check-and-test"]["strategy"]["matrix"]["python"]
    assert tested == PYTHONS


def test_both_architectures_are_built_on_images_of_the_same_age() -> None:
    table = project()["tool"]["cibuildwheel"]
    images = {table[f"manylinux-{machine}-image"] for machine in ("x86_64", "aarch64")}
    assert images == {"manylinux_2_28"}
    systems = workflow("wheels.yml")["jobs"]["wheels"]["strategy"]["matrix"]["os"]
    assert systems == ["ubuntu-24.04", "ubuntu-24.04-arm"]


def test_what_tries_a_wheel_is_in_the_sdist() -> None:
    command = project()["tool"]["cibuildwheel"]["test-command"]
    program = re.fullmatch(r"python \{project\}/(\S+)", command)
    assert program is not None
    assert (CHECKOUT / program[1]).exists()
    excluded = project()["tool"]["scikit-build"]["sdist"]["exclude"]
    assert not [place for place in excluded if program[1].startswith(place)]


def test_a_wheel_takes_what_its_build_needs() -> None:
    requires = {re.split(r"[<>=]", text)[0] for text in project()["build-system"]["requires"]}
    requires -= {"exceptiongroup", "packaging", "pathspec", "tomli", "typing_extensions"}
    script = (CHECKOUT / "scripts" / "lib" / "setup.sh").read_text()
    (installed,) = re.findall(r'"installing the build tools into \.venv" ([\w -]+) \|\|', script)
    assert set(installed.split()) == requires
