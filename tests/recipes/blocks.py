"""The commands of `docs/recipes.md`, as a reader would paste them."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"


def block(heading: str, language: str = "sh") -> str:
    """The first block of code of a language under a heading of the page."""
    _, _, below = PAGE.read_text().partition(f"\n## {heading}\n")
    section = below.partition("\n## ")[0]
    found = re.search(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no commands under {heading!r}"
    return found[1]
