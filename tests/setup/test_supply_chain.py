"""What workflows install has a hash, actions are commits, and builds' requirements are pinned."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "scripts" / "lib"))
import hashed  # noqa: E402

HASHES = (CHECKOUT / "hashes.txt").read_text()
WORKFLOWS = sorted((CHECKOUT / ".github" / "workflows").glob("*.yml"))


def pins() -> list[Requirement]:
    lines = (CHECKOUT / "constraints.txt").read_text().splitlines()
    return [Requirement(line) for line in lines if "==" in line and not line.startswith("#")]


def version_of(pin: Requirement) -> str:
    (specifier,) = pin.specifier
    assert specifier.operator == "=="
    return specifier.version


def test_every_pin_has_hashes() -> None:
    known = hashed.hashes_of(HASHES)
    pinned = {(canonicalize_name(pin.name), version_of(pin)) for pin in pins()}
    assert pinned - {key for key, hashes in known.items() if hashes} == set()
    names = {name for name, _ in pinned}
    # Nothing is left of pins that have changed since.
    assert {key for key in known if key[0] in names} == pinned


def test_hashes_name_no_index() -> None:
    lines = [line for line in HASHES.splitlines() if not line.startswith("#")]
    assert [line for line in lines if "://" in line or "index" in line] == []
    shape = r"[A-Za-z0-9_.\-]+==[^\s;\\]+ \\|    --hash=sha256:[0-9a-f]{64}( \\)?"
    assert [line for line in lines if not re.fullmatch(shape, line)] == []


def test_what_has_no_hash_is_not_installed() -> None:
    def chosen(name: str, version: str) -> dict[str, object]:
        return {"install": [{"metadata": {"name": name, "version": version}}]}

    known = hashed.hashes_of(HASHES)
    (click,) = (version_of(pin) for pin in pins() if pin.name == "click")
    (line,) = hashed.requirements(chosen("Click", click), known)
    assert line.startswith(f"click=={click} --hash=sha256:")
    assert list(hashed.requirements(chosen("plink-collectives", "0.1.0"), known)) == []
    for name, version in (("click", "0.1"), ("no-such-package", "1")):
        with pytest.raises(SystemExit, match="has no hash of"):
            list(hashed.requirements(chosen(name, version), known))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_install_by_hash_alone(workflow: Path) -> None:
    text = workflow.read_text()
    actions = re.findall(r"uses: *(.+)", text)
    shape = r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
    assert [action for action in actions if not re.fullmatch(shape, action)] == []
    for word in ("INDEX_URL", "index-url", "pip install", "pipx"):
        assert word not in text
    if ".ci/run" in text:
        assert 'PLINK_REQUIRE_HASHES: "1"' in text


def test_an_action_is_the_same_commit_everywhere() -> None:
    found: dict[str, set[str]] = {}
    for workflow in WORKFLOWS:
        for name, commit in re.findall(r"uses: *(\S+)@(\S+)", workflow.read_text()):
            found.setdefault(name, set()).add(commit)
    assert {name: commits for name, commits in found.items() if len(commits) > 1} == {}


def test_what_a_build_requires_is_pinned_as_in_constraints() -> None:
    text = (CHECKOUT / "pyproject.toml").read_text()
    block = text[text.index("requires = [") : text.index("build-backend")]
    required = [Requirement(words) for words in re.findall(r'"([^"]+)"', block)]
    known = {(canonicalize_name(pin.name), version_of(pin)) for pin in pins()}
    assert {(canonicalize_name(each.name), version_of(each)) for each in required} - known == set()
    assert {"scikit-build-core", "nanobind", "packaging"} <= {each.name for each in required}
