"""What a plain install brings is all that the verbs import."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CHECKOUT = Path(__file__).resolve().parents[2]
NAME = re.compile(r"[A-Za-z0-9._-]+")

# Blocks the modules that the first argument names, then runs the verbs that the second one holds;
# prints the exit code of each, or the error with which it ended.
BLOCKED = """
import json
import sys
import traceback
from importlib.abc import MetaPathFinder

class Blocker(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r} in a plain install", name=name)

BLOCKED = set(sys.argv[1].split(","))
sys.meta_path.insert(0, Blocker())
from plink.cli import run

def outcome(words):
    try:
        return run(words)
    except BaseException:
        return traceback.format_exc()

found = [outcome(words) for words in json.loads(sys.argv[2])]
print("outcomes", json.dumps(found))
"""

# In this order, each on the files of those before.
VERBS = [
    ["import", "m.csv", "-o", "c.json"],
    ["group", "c.json"],
    ["group", "c.json", "--method", "kmeans", "--k", "2"],
    ["group", "c.json", "--truth", "truth"],
    ["order", "c.json", "-o", "o.json"],
    ["order", "c.json", "--format", "openmpi"],
    ["plan", "c.json", "-o", "p.json"],
    ["predict", "c.json", "--size", "1MB"],
    ["show", "c.json"],
    ["report", "c.json", "-o", "page.html"],
    ["export", "c.json", "--format", "csv"],
    ["doctor", "c.json"],
    ["kube", "metrics", "c.json"],
    ["schema", "cluster"],
]


def rtt(one: str, other: str) -> str:
    """A round trip in microseconds between hosts of two groups."""
    return str((20 if (one < "f") == (other < "f") else 60) + (ord(one) + ord(other)) % 3)


HOSTS = "abcdefghij"
MATRIX = "\n".join(
    [
        f"us,{','.join(HOSTS)}",
        *(",".join([row, *("0" if row == to else rtt(row, to) for to in HOSTS)]) for row in HOSTS),
    ]
)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def installed() -> set[str]:
    """The distributions that `pip install .` brings."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    waiting = list(project["dependencies"])
    found = {normal(project["name"])}
    while waiting:
        requirement, _, marker = waiting.pop().partition(";")
        match = NAME.match(requirement.strip())
        assert match is not None
        name = normal(match[0])
        if name in found or "extra" in marker:
            continue
        found.add(name)
        try:
            waiting += metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            assert marker, f"{name} is declared, and is not here"
    return found


def blocked() -> str:
    """The modules of what else is installed here."""
    plain = installed()
    return ",".join(
        module
        for module, owners in metadata.packages_distributions().items()
        if not plain & {normal(owner) for owner in owners}
    )


def test_verbs_run_without_what_is_not_declared(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(MATRIX)
    (tmp_path / "truth").write_text("one: a,b,c,d,e\ntwo: f,g,h,i,j\n")
    without = blocked()
    assert {"torch", "pytest"} & set(without.split(","))
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, without, json.dumps(VERBS)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout.rpartition("outcomes ")[2])
    failed = [pair for pair in zip(VERBS, outcomes, strict=True) if pair[1] not in (0, 3)]
    assert failed == [], done.stderr


@pytest.mark.parametrize("name", ["scikit-learn", "numpy", "scipy", "click"])
def test_what_is_imported_is_declared(name: str) -> None:
    assert name in installed()
