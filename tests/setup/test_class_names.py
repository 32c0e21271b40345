"""On the main path, from host lists to launchers' files, no two classes have the same name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PARTS = (
    *(f"plink/{part}" for part in ("base", "files", "plans", "model", "measure", "optimize")),
    *(f"plink/{part}" for part in ("deploy", "torchrun", "doctor", "verbs", "cli", "show")),
    "probes",
    "solvers",
)
ROOT = Path(__file__).parents[2]


def test_no_two_classes_of_the_main_path_have_the_same_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for part in PARTS:
        for file in sorted((ROOT / part).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert len(places) > 100
    assert {name: lines for name, lines in places.items() if len(lines) > 1} == {}
