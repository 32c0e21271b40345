"""constraints.txt pins whatever the scripts install, on every Python that plink supports."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FILE = Path(__file__).resolve().parents[2] / "constraints.txt"
INSTALLED = Requirement(
    "plink-collectives[dask,dev,docs,exact,metrics,ray,redis,report,torch,torchft,trace]"
)
BUILD_TOOLS = [Requirement("scikit-build-core"), Requirement("nanobind")]
PYTHONS = ["3.10", "3.11", "3.12", "3.13"]


def pins() -> list[Requirement]:
    lines = [line.partition("#")[0].strip() for line in FILE.read_text("utf-8").splitlines()]
    return [Requirement(line) for line in lines if line]


def environment_of(python: str) -> dict[str, str]:
    return {"python_version": python, "python_full_version": f"{python}.0"}


def applies(requirement: Requirement, python: str, extra: str = "") -> bool:
    environment = {**environment_of(python), "extra": extra}
    return requirement.marker is None or requirement.marker.evaluate(environment)


def pinned(python: str) -> Mapping[str, list[str]]:
    """The canonical name of each package to the versions that it is pinned to."""
    found: dict[str, list[str]] = {}
    for pin in pins():
        if applies(pin, python):
            found.setdefault(canonicalize_name(pin.name), []).append(str(pin.specifier))
    return found


def required(python: str) -> Iterator[Requirement]:
    """All that is installed on a Python, directly or not, as far as metadata is at hand here."""
    waiting = [INSTALLED, *BUILD_TOOLS]
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement = waiting.pop()
        yield requirement
        for extra in ["", *sorted(requirement.extras)]:
            key = (canonicalize_name(requirement.name), extra)
            if key not in seen:
                seen.add(key)
                waiting += [
                    below
                    for below in requirements_of(requirement.name)
                    if applies(below, python, extra)
                ]


def requirements_of(name: str) -> list[Requirement]:
    try:
        return [Requirement(text) for text in importlib.metadata.requires(name) or []]
    except importlib.metadata.PackageNotFoundError:
        return []


def comes_with_cuda(name: str) -> bool:
    """PyTorch's builds for CUDA bring their own libraries, whose versions they fix themselves."""
    return name.startswith(("nvidia-", "cuda-", "triton"))


@pytest.mark.parametrize("python", PYTHONS)
def test_everything_required_has_exactly_one_pin(python: str) -> None:
    by_name = pinned(python)
    names = {canonicalize_name(item.name) for item in required(python)}
    names -= {canonicalize_name(INSTALLED.name)}
    wrong = {
        name: by_name.get(name, [])
        for name in names
        if len(by_name.get(name, [])) != 1 and not comes_with_cuda(name)
    }
    assert wrong == {}


@pytest.mark.parametrize("python", PYTHONS)
def test_pins_satisfy_the_requirements(python: str) -> None:
    by_name = pinned(python)
    for requirement in required(python):
        for pin in by_name.get(canonicalize_name(requirement.name), []):
            assert requirement.specifier.contains(pin.removeprefix("=="), prereleases=True), (
                f"{requirement} against the pin {pin}"
            )


def test_all_is_every_extra_but_what_hosts_and_developers_need() -> None:
    project = (FILE.parent / "pyproject.toml").read_text("utf-8")
    table = project.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    extras = set(re.findall(r"^(\w+) = ", table, re.MULTILINE))
    (everything,) = re.findall(r'^all = \["plink-collectives\[(.*)\]"\]$', table, re.MULTILINE)
    assert set(everything.split(",")) == extras - {"all", "dev", "docs", "torchft", "trace"}


def test_pins_are_exact() -> None:
    assert [str(pin) for pin in pins() if [item.operator for item in pin.specifier] != ["=="]] == []


def test_requirements_are_followed_below_the_first_level() -> None:
    names = {canonicalize_name(item.name) for item in required("3.11")}
    assert {"paramiko", "cryptography", "cffi", "pycparser", "torch"} <= names
