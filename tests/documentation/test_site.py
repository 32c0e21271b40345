"""The documentation as a site: built strictly, whole, and reading nothing from other hosts."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import plink
from plink.cli import schemas as catalogue

pytest.importorskip("material", reason="the site's generator needs Python 3.11")

# The first test that needs the site waits for the strict build of all of it.
pytestmark = pytest.mark.timeout(1500)

CHECKOUT = Path(__file__).resolve().parents[2]
CONFIG = CHECKOUT / "mkdocs.yml"

# What a browser fetches by itself, unlike what a reader may click.
_FETCHED = re.compile(
    r"<(?:script|img|iframe|source|embed)\b[^>]*?\bsrc=[\"']?((?:https?:)?//[^\"' >]*)"
    r"|<link\b(?![^>]*rel=[\"']?canonical)[^>]*?\bhref=[\"']?((?:https?:)?//[^\"' >]*)"
    r"|url\([\"']?((?:https?:)?//[^)]*)|@import\s+[\"']?((?:https?:)?//[^\"' ;]*)"
)


def build(config: Path, to: Path) -> subprocess.CompletedProcess[str]:
    # Without the folder of the sources on the path: what is installed is what is described.
    command = [sys.executable, "-P", "-m", "mkdocs", "build", "--strict", "-f", config, "-d", to]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("site")
    done = build(CONFIG, to)
    assert done.returncode == 0, done.stderr
    return to


def pages(site: Path) -> dict[str, str]:
    found = {str(path.relative_to(site)): path.read_text("utf-8") for path in site.rglob("*.html")}
    assert {"index.html", "probe.html", "changelog.html", "benchmarks/engine.html"} <= set(found)
    return found


def test_every_page_of_docs_is_there(site: Path) -> None:
    docs = CHECKOUT / "docs"
    names = {str(page.relative_to(docs).with_suffix(".html")) for page in docs.rglob("*.md")}
    assert names <= set(pages(site))


def test_no_page_fetches_anything_from_another_host(site: Path) -> None:
    styles = {str(path.relative_to(site)): path.read_text("utf-8") for path in site.rglob("*.css")}
    fetched = {
        name: found
        for name, text in {**pages(site), **styles}.items()
        if (found := ["".join(groups) for groups in _FETCHED.findall(text)])
    }
    assert fetched == {}
    # The theme would fetch what draws diagrams where there is one.
    assert [name for name, text in pages(site).items() if 'class="mermaid"' in text] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<script src="https://cdn.example/x.js">', 1),
        ("<link rel=stylesheet href=//fonts.example/css>", 1),
        ('<link rel="canonical" href="https://plink.example/">', 0),
        ("@import 'https://x.example/a.css'; b{background:url(https://x.example/i.png)}", 2),
        ('<a href="https://zensical.example">', 0),
        ('<script src="assets/x.js">', 0),
    ],
)
def test_what_is_fetched_is_found(text: str, found: int) -> None:
    assert len(_FETCHED.findall(text)) == found


def unformatted(page: str) -> list[str]:
    """What a reader sees of the marks that should have made tables, links, lists and bold words."""
    without_code = re.sub(r"(?s)<(pre|code|script|style)\b.*?</\1>", "code", page)
    seen = html.unescape(re.sub(r"<[^>]+>", "", without_code))
    return re.findall(r".{0,40}(?:\*\*|\]\(|```|^\||^- ).{0,40}", seen, re.MULTILINE)


def test_marks_are_not_shown(site: Path) -> None:
    left = {name: found for name, page in pages(site).items() if (found := unformatted(page))}
    assert left == {}


def test_marks_that_are_shown_are_found() -> None:
    assert unformatted("<p>a\n| b | c |\n- d **e**</p>\n<code>**</code>") == [
        "| b | c |",
        "- d **e**",
    ]


def test_the_library_is_described(site: Path) -> None:
    page = (site / "reference" / "plink.html").read_text("utf-8")
    shown = set(re.findall(r'id="plink\.(\w+)"', page))
    assert {name for name in plink.__all__ if name != "__version__"} <= shown
    engine = (site / "reference" / "plink.engine.html").read_text("utf-8")
    for name in ("Engine.allreduce", "Engine.reduce_scatter", "Members.commit", "Options"):
        assert f'id="plink.engine.{name}"' in engine


def test_schemas_are_published_and_linked(site: Path) -> None:
    page = (site / "schemas.html").read_text("utf-8")
    for name in catalogue.makers():
        text = (site / "schemas" / f"{name}.schema.json").read_text("utf-8")
        assert json.loads(text) == catalogue.schema(name)
        assert f'href="schemas/{name}.schema.json"' in page


def test_search_knows_the_pages(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    places = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {"index.html", "order.html", "reference/plink.html"} <= places


def test_a_dead_link_a_dead_anchor_and_an_orphan_are_refused(tmp_path: Path) -> None:
    """By the rules of the real one, in a site of three pages."""
    config = CONFIG.read_text("utf-8")
    validation = re.search(r"^validation:\n(?:  .*\n)+", config, re.MULTILINE)
    assert validation is not None
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# A\n\n[gone](gone.md) [there](b.md#there) [nowhere](#x)\n")
    (docs / "b.md").write_text("# B\n\n## Here\n")
    (docs / "orphan.md").write_text("# C\n")
    text = f"site_name: x\n{validation[0]}nav: [index.md, b.md, lost.md]\n"
    (tmp_path / "mkdocs.yml").write_text(text)
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode != 0
    for told in ("'gone.md'", "'b.md#there'", "'#x'", "orphan.md", "'lost.md'"):
        assert told in done.stderr
    assert done.stderr.count("WARNING") == 5
