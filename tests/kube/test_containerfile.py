"""The Containerfile agrees with the manifests, and with what building plink takes.

Building it takes minutes, and an image to start from; `PLINK_TEST_IMAGE` has the lab test run one.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plink.deploy.kubernetes import folder

CHECKOUT = Path(__file__).resolve().parents[2]
CONTAINER = CHECKOUT / "scripts" / "container"


@pytest.fixture(scope="module")
def stages() -> list[str]:
    """The text of each stage, in their order."""
    return re.split(r"^FROM ", (CONTAINER / "Containerfile").read_text(), flags=re.MULTILINE)[1:]


def test_the_user_is_that_of_the_manifests(stages: list[str]) -> None:
    user = re.search(r"^USER (\d+):(\d+)$", stages[-1], re.MULTILINE)
    assert user is not None
    for name in ("agents.yaml", "probe.yaml"):
        text = folder.files("plink", host_network=False)[name]
        assert f"runAsUser: {user[1]}\n" in text
        assert f"runAsGroup: {user[2]}\n" in text
        assert f"fsGroup: {user[2]}\n" in text


def test_what_compiles_is_left_behind(stages: list[str]) -> None:
    build, final = stages
    assert "g++" in build
    assert "RUN" not in final
    assert re.findall(r"^COPY (.*)$", final, re.MULTILINE) == ["--from=build /opt/plink /opt/plink"]
    assert 'ENTRYPOINT ["plink"]' in final


def test_no_registry_is_named(stages: list[str]) -> None:
    text = (CONTAINER / "Containerfile").read_text()
    assert re.search(r"^ARG BASE=[\w:.-]+$", text, re.MULTILINE)
    assert all(stage.startswith("${BASE}") for stage in stages)


def test_what_is_sent_along_is_what_plink_is_built_from() -> None:
    lines = (CONTAINER / "Containerfile.dockerignore").read_text().split()
    sent = {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert {"pyproject.toml", "CMakeLists.txt", "constraints.txt"} <= sent
    assert all((CHECKOUT / name).exists() for name in sent)
    # What CMake adds, and what the links in the package lead to.
    added = re.findall(r"add_subdirectory\(([\w-]+)", (CHECKOUT / "CMakeLists.txt").read_text())
    links = [path.resolve().name for path in (CHECKOUT / "plink").iterdir() if path.is_symlink()]
    assert {*added, *links} <= sent
    project = (CHECKOUT / "pyproject.toml").read_text()
    for line in re.findall(r"^(?:readme|license-files) = .*$", project, re.MULTILINE):
        assert set(re.findall(r'"([\w.]+)"', line)) <= sent
