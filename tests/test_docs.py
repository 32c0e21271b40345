"""The documentation is finished, and its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]

_LINK = re.compile(r"\]\(([^()\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def documents() -> list[Path]:
    """Every page that is under version control."""
    # The checkout may belong to another user than the one who runs the tests.
    command = ["git", "-c", "safe.directory=*", "-C", str(CHECKOUT), "ls-files", "-z", "*.md"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    paths = [CHECKOUT / name for name in listed.split("\0") if name]
    assert CHECKOUT / "README.md" in paths
    return paths


def links(page: Path) -> list[str]:
    """The links of a page within the checkout, as written."""
    return [link for link in _LINK.findall(page.read_text()) if not _ELSEWHERE.match(link)]


def anchors(page: Path) -> set[str]:
    """What a link may name behind `#`: the page's headings, as code forges spell them."""
    return {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in _HEADING.findall(page.read_text())
    }


def missing_targets(page: Path) -> list[str]:
    """The links of a page to a file or a heading that is not there."""
    missing = []
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            missing.append(link)
    return missing


def linked_from(first: Path) -> set[Path]:
    """The pages that a reader reaches from one of them by following links."""
    reached: set[Path] = set()
    waiting = [first.resolve()]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md" and page.exists():
            reached.add(page)
            waiting += [(page.parent / link.partition("#")[0]).resolve() for link in links(page)]
    return reached


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


def test_every_page_is_reached_from_the_readme() -> None:
    pages = {page.resolve() for page in documents() if page.is_relative_to(CHECKOUT / "docs")}
    assert sorted(pages - linked_from(CHECKOUT / "README.md")) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Here: at `last`\n[a](page.md#top) [b](https://x.org/y) [c](gone.md#x) [d](#here-at-last)"
    )
    assert missing_targets(page) == ["page.md#top", "gone.md#x"]


def test_an_orphan_is_found(tmp_path: Path) -> None:
    first, second, orphan = (tmp_path / f"{name}.md" for name in ("first", "second", "orphan"))
    first.write_text("[on](second.md#more)")
    second.write_text("[back](first.md)")
    orphan.write_text("[back](first.md)")
    assert linked_from(first) == {first.resolve(), second.resolve()}
