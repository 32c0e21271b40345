"""plink runs on the oldest Python that it supports, also where only newer ones are at hand."""

from __future__ import annotations

import ast

from support.sources import modules

# What the standard library has since Python 3.11 or later, as far as one may be tempted.
LATER = {
    "typing": {
        *("LiteralString", "Never", "NotRequired", "ReadOnly", "Required", "Self", "TypeVarTuple"),
        *("Unpack", "assert_never", "assert_type", "override", "reveal_type"),
    },
    "asyncio": {"Runner", "TaskGroup", "timeout"},
    "contextlib": {"chdir"},
    "datetime": {"UTC"},
    "enum": {"StrEnum", "member", "nonmember", "verify"},
    "hashlib": {"file_digest"},
    "itertools": {"batched"},
    "tomllib": {"load", "loads"},
}

LATER_DOTTED = {f"{module}.{name}" for module, names in LATER.items() for name in names}


def later_names(text: str) -> set[str]:
    """What a module takes of the standard library that Python 3.10 lacks."""
    found: set[str] = set()
    if not any(module in text and name in text for module in LATER for name in LATER[module]):
        return found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = LATER.get(node.module or "", set())
            found |= {f"{node.module}.{alias.name}" for alias in node.names if alias.name in names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {f"{node.value.id}.{node.attr}"} & LATER_DOTTED
    return found


def test_no_module_takes_what_python_3_10_lacks() -> None:
    found = {str(place): later_names(file.read_text(encoding="utf-8")) for place, file in modules()}
    assert {place: names for place, names in found.items() if names} == {}


def test_later_names_are_found() -> None:
    text = (
        "from typing import Any, Self\nimport datetime\nnow = datetime.datetime.now(datetime.UTC)"
    )
    assert later_names(text) == {"typing.Self", "datetime.UTC"}
