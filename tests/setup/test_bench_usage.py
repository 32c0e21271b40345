"""What the benchmark scripts say of their options is what they take."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "scripts").glob("bench-*"))
_USED = re.compile(r"\[?(--[a-z-]+)(?: ([^\s\]]+))?\]?")
# Such as NAME: the default is not said.
_PLACEHOLDER = re.compile(r"[A-Z]+")


def options_taken(tree: ast.Module) -> dict[str, Any]:
    """Option to its default, `...` where it is computed; hidden ones apart."""
    taken: dict[str, Any] = {}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "add_shape":
            taken |= dict.fromkeys(("--racks", "--hosts", "--hops"), "4")
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("add_argument"):
            (name,) = (ast.literal_eval(argument) for argument in call.args)
            words = {word.arg: word.value for word in call.keywords}
            if ast.unparse(words.get("help", ast.Constant(""))) == "argparse.SUPPRESS":
                continue
            default = words.get("default")
            taken[name] = default.value if isinstance(default, ast.Constant) else ...
    return {name: default for name, default in taken.items() if name.startswith("--")}


def options_said(tree: ast.Module, script: str) -> dict[str, str]:
    """Option to its value in the lines of usage, as far as they are in brackets or required."""
    lines = (ast.get_docstring(tree) or "").splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith(f"scripts/{script}"))
    usage = " ".join(lines[first : lines.index("", first) if "" in lines[first:] else None])
    return dict(reversed(_USED.findall(usage)))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_usage_is_true(path: Path) -> None:
    tree = ast.parse(path.read_text())
    taken, said = options_taken(tree), options_said(tree, path.name)
    assert said.keys() == taken.keys()
    for name, value in said.items():
        if value and taken[name] not in (None, ...) and not _PLACEHOLDER.fullmatch(value):
            assert value == str(taken[name]), name


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_every_option_is_read(path: Path) -> None:
    tree = ast.parse(path.read_text())
    calls = {ast.unparse(call.func) for call in ast.walk(tree) if isinstance(call, ast.Call)}
    read = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    read |= {"racks", "hosts", "hops"} if "shape" in calls else set()
    names = {name.removeprefix("--").replace("-", "_") for name in options_taken(tree)}
    assert names <= read
