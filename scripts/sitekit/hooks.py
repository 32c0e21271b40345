"""What MkDocs calls: pages from outside docs/, the library's reference, and the JSON Schemas.

A page of the checkout's top folder links to `docs/probe.md`, and one of docs/ to `../README.md`; on
the site all stand in one folder.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]

# Pages of the top folder, by their names on the site.
TOP_PAGES = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}

# What may be imported from plink, a page each.
MODULES = (
    "plink",
    "plink.torch",
    "plink.torch.fault_tolerance",
    "plink.engine",
)

_LINK = re.compile(r"(?<=\]\()(?:docs/|\.\./)?([\w/.-]+\.(?:md|svg))(?=[#)])")
# What a forge shows as code and Python-Markdown does not: a language with a word for our tests.
_MARKED_CODE = re.compile(r"^(```\w+) \w+$", re.MULTILINE)
_NAME_OF_SCHEMA = re.compile(r"^\| `([a-z-]+)` \|", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and files that docs/ does not have."""
    from mkdocs.structure.files import File  # noqa: PLC0415

    for name, source in TOP_PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=as_of_site(text)))
    for module in MODULES:
        files.append(File.generated(config, f"reference/{module}.md", content=reference(module)))
    for name, text in schemas().items():
        files.append(File.generated(config, f"schemas/{name}.schema.json", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Let links lead to where pages stand on the site, and names of schemas to the schemas."""
    name = page.file.src_uri
    if name == "schemas.md":
        markdown = _NAME_OF_SCHEMA.sub(r"| [`\1`](schemas/\1.schema.json) |", markdown)
    is_in_a_folder = "/" in name
    return _MARKED_CODE.sub(r"\1", markdown if is_in_a_folder else as_of_site(markdown))


def as_of_site(text: str) -> str:
    """A page of the top folder, or of docs/, with its links as on the site."""
    names = {source: name for name, source in TOP_PAGES.items()}
    return _LINK.sub(lambda found: names.get(found[1], found[1]), text)


def reference(module: str) -> str:
    """The page of a module: what it names public."""
    text = f"# {module}\n\n::: {module}\n"
    if module != "plink":
        return text
    # It imports nothing by itself, and so says nowhere in its source what it has.
    import plink  # noqa: PLC0415  as below

    names = ", ".join(name for name in plink.__all__ if not name.startswith("_"))
    return f"{text}    options:\n      members: [{names}]\n"


def schemas() -> dict[str, str]:
    """The text of every JSON Schema by its name."""
    from plink.cli.schemas import makers  # noqa: PLC0415  the site needs it once

    return {name: f"{json.dumps(make(), indent=1)}\n" for name, make in makers().items()}
