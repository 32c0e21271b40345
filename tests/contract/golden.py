"""Golden files: what plink writes and prints, kept as text and compared whole.

`PLINK_GOLDEN=write scripts/test tests/contract` writes them anew; the difference is then reviewed
like code.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden"

# Members that differ from run to run.
_VOLATILE = re.compile(
    r"seconds|steps|took_s|search_s|started|created|finished|version|file_hash|made_from|hash"
    r"|elapsed_s|cluster_hash|plan_hash|sha256"
)
# Members whose last digits differ from processor to processor: they come from an optimisation.
_ROUGH = re.compile(r"probability")
# How long a search took, in a sentence.
_SEARCHED = re.compile(r"\d+\.\d+ s, ended by")


def compare(name: str, text: str) -> None:
    """Fail if `text` is not what the golden file of that name holds."""
    path = FOLDER / name
    if os.environ.get("PLINK_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return
    assert path.exists(), f"there is no golden file {name}: PLINK_GOLDEN=write makes it"
    kept, found = (each.splitlines(keepends=True) for each in (path.read_text(), text))
    changes = "".join(difflib.unified_diff(kept, found, name, "found", n=1))
    assert kept == found, f"{changes}PLINK_GOLDEN=write writes it anew"


def compare_json(name: str, value: Any) -> None:
    """Fail if `value` is not what the golden file holds, whatever times and hashes are."""
    compare(name, json.dumps(_settle(value), indent=1, ensure_ascii=False) + "\n")


def _settle(value: Any) -> Any:
    if isinstance(value, dict):
        # The length of a page, which holds times.
        is_page = "sections" in value and isinstance(value.get("bytes"), int)
        return {
            name: _placeholder(member)
            if _VOLATILE.fullmatch(name) or (is_page and name == "bytes")
            else round(member, 1)
            if _ROUGH.fullmatch(name) and isinstance(member, float)
            else _settle(member)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [_settle(member) for member in value]
    if isinstance(value, str):
        return _SEARCHED.sub("<seconds> s, ended by", value)
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return value


def _placeholder(value: Any) -> Any:
    return f"<{type(value).__name__}>"
