"""The documentation is finished, and its links lead somewhere."""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]

_LINK = re.compile(r"\]\(([^()\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"`([^`\n]+)`")
# A file or folder of the checkout, perhaps with `*` in it.
_PATH = re.compile(r"(?:plink|probes|solvers|scripts|tests|docs)/[\w./*-]*")
# A name in capitals is a placeholder.
_DOTTED = re.compile(r"((?:plink|probes|solvers)(?:\.\w*[a-z]\w*)+)(?:\(.*\))?")
# Formats of files, which look like names of modules: what the member `format` says.
_FORMATS = {
    f"plink.{kind}"
    for kind in ("cluster", "order", "plan", "comparison", "autotune", "timeline", "snapshot")
}


def documents() -> list[Path]:
    """Every page that is under version control."""
    # The checkout may belong to another user than the one who runs the tests.
    command = ["git", "-c", "safe.directory=*", "-C", str(CHECKOUT), "ls-files", "-z", "*.md"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    paths = [CHECKOUT / name for name in listed.split("\0") if name]
    assert CHECKOUT / "README.md" in paths
    return paths


def guides() -> list[Path]:
    """The pages that describe the tree as it is, unlike the history of its changes."""
    return [page for page in documents() if page.name != "CHANGELOG.md"]


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


def quoted(text: str) -> Iterator[str]:
    """What stands between backquotes on a page, outside of its blocks of code."""
    yield from _QUOTED.findall(_FENCED.sub("", text))


def missing_paths(text: str) -> list[str]:
    """The paths within the checkout that a page names and that lead nowhere."""
    words = (word for phrase in quoted(text) for word in phrase.split())
    paths = (word for word in words if _PATH.fullmatch(word))
    return [path for path in paths if next(CHECKOUT.glob(path.rstrip("/")), None) is None]


def unknown_names(text: str) -> list[str]:
    """The dotted names on a page that are neither a module nor something in one."""
    found = (match[1] for phrase in quoted(text) if (match := _DOTTED.fullmatch(phrase)))
    return [name for name in found if name not in _FORMATS and not resolves(name)]


def resolves(name: str) -> bool:
    """Whether a dotted name leads to something; also if what it is in needs an absent package."""
    parts = name.split(".")
    if parts[-1] == "__main__":  # importing it would let an interrupt end the whole run
        return importlib.util.find_spec(name) is not None
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if f"{module}.".startswith(f"{error.name}."):
                continue
            return True
        return has(found, parts[length:])
    return False


def has(thing: object, names: list[str]) -> bool:
    """Whether the first name is an attribute, the next one of that, and so on."""
    if not names:
        return True
    return hasattr(thing, names[0]) and has(getattr(thing, names[0]), names[1:])


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


def test_paths_exist() -> None:
    missing = {str(page): paths for page in guides() if (paths := missing_paths(page.read_text()))}
    assert missing == {}


def test_dotted_names_resolve() -> None:
    unknown = {str(page): names for page in guides() if (names := unknown_names(page.read_text()))}
    assert unknown == {}


def test_a_wrong_path_or_name_is_found() -> None:
    text = (
        "`scripts/lab up`, `plink/base`, `scripts/bench*`, `plink/gone.py`, `scripts/no-*`\n"
        "`plink.MeasuredCluster.from_matrix(names)`, `plink.solvers`, `plink.order`, "
        "`plink.base.gone()`\n"
        "```\n`plink/not_looked_at.py`\n```\n"
    )
    assert missing_paths(text) == ["plink/gone.py", "scripts/no-*"]
    assert unknown_names(text) == ["plink.base.gone"]


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


def test_benchmarks_begin_with_what_was_asked_reached_and_missed() -> None:
    lines = (CHECKOUT / "docs" / "benchmarks.md").read_text().splitlines()
    table = [line.split("|") for line in lines if line.startswith("|")]
    assert [cell.strip() for cell in table[0]] == ["", "asked", "reached", "missed", ""]
    assert {len(row) for row in table} == {5}
    assert any(row[3].strip() for row in table[2:]), "nothing was missed?"
