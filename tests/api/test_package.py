"""`import plink`: what it offers, when that is imported, and what type checkers see of it."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import plink
from plink.base.errors import WrongUseError

PUBLIC = [name for name in plink.__all__ if name != "__version__"]


def run_python(program: str) -> str:
    # Isolated: neither the folder nor the environment of the caller adds modules.
    argv = [sys.executable, "-I", "-c", program]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def package_folder() -> Path:
    spec = importlib.util.find_spec("plink")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_is_there_and_documented(name: str) -> None:
    found = getattr(plink, name)
    assert found.__name__ == name
    assert found.__doc__


def test_dir_lists_the_names_before_any_is_used() -> None:
    listed = run_python("import plink; print(*dir(plink))").split()
    assert set(PUBLIC) <= set(listed)
    assert {name for name in listed if not name.startswith("_")} == set(PUBLIC)


def test_a_name_is_imported_when_it_is_used() -> None:
    program = (
        "import sys, plink; before = 'plink.verbs.order' in sys.modules; plink.order;"
        "print(before, 'plink.verbs.order' in sys.modules, 'click' in sys.modules)"
    )
    assert run_python(program).split() == ["False", "True", "False"]


def test_what_computes_needs_no_terminal_and_no_connections() -> None:
    program = (
        "import sys, plink; plink.order, plink.group, plink.plan, plink.predict, plink.read;"
        "print(*{'rich', 'paramiko', 'click', 'sklearn', 'torch'} & set(sys.modules))"
    )
    assert run_python(program).split() == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'plink' has no attribute 'ordre'"):
        plink.ordre  # type: ignore[attr-defined]  # noqa: B018


def test_the_stub_says_where_every_name_is() -> None:
    stub = ast.parse((package_folder() / "__init__.pyi").read_text())
    imported = {
        alias.asname: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == plink._HOMES  # type: ignore[attr-defined]


def test_the_type_information_is_installed() -> None:
    assert (package_folder() / "py.typed").is_file()
    assert (package_folder() / "__init__.pyi").is_file()


def test_errors_are_the_ones_that_commands_print() -> None:
    assert plink.WrongUseError is WrongUseError
    assert issubclass(plink.WrongUseError, plink.PlinkError)
