"""Hints name only packages that the index has: plink is installed from a checkout or a wheel."""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def test_no_hint_asks_for_plink_from_the_index() -> None:
    sources = [
        path
        for folder in ("plink", "probes", "solvers", "docs")
        for kind in ("*.py", "*.md")
        for path in (CHECKOUT / folder).rglob(kind)
    ]
    assert sources
    asking = [str(path) for path in sources if "plink-collectives[" in path.read_text("utf-8")]
    assert asking == []
