"""The documentation is finished, and its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]

_LINK = re.compile(r"\]\(([^()\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:|#")


def documents() -> list[Path]:
    """Every page that is under version control."""
    # The checkout may belong to another user than the one who runs the tests.
    command = ["git", "-c", "safe.directory=*", "-C", str(CHECKOUT), "ls-files", "-z", "*.md"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    paths = [CHECKOUT / name for name in listed.split("\0") if name]
    assert CHECKOUT / "README.md" in paths
    return paths


def missing_targets(page: Path) -> list[str]:
    """The relative links of a page to what is not there."""
    targets = [link for link in _LINK.findall(page.read_text()) if not _ELSEWHERE.match(link)]
    return [link for link in targets if not (page.parent / link.split("#")[0]).exists()]


def test_no_placeholder_is_left() -> None:
    left = [
        f"{page.name}:{number}: {line}"
        for page in documents()
        for number, line in enumerate(page.read_text().splitlines(), 1)
        if "@@" in line
    ]
    assert left == []


def test_relative_links_exist() -> None:
    broken = {str(page): missing for page in documents() if (missing := missing_targets(page))}
    assert broken == {}


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[a](page.md#top) [b](https://x.org/y) [c](gone.md#x) [d](#here)")
    assert missing_targets(page) == ["gone.md#x"]
