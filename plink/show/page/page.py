"""A whole page of HTML that needs nothing else: style, figures, plotting library and script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib import resources

from plink.base.text import printable
from plink.show.page.markup import link_html, section_html
from plink.show.page.parts import Figure, Section

_WITHOUT_SCRIPT = (
    '<noscript><p class="note">The pictures need JavaScript, tables and words do not.</p>'
    "</noscript>"
)
_HELP = (
    "<footer><p>Point at a picture for values, drag to zoom, double-click to go back. With the "
    "keyboard: Tab to a picture, <kbd>+</kbd> <kbd>-</kbd> to zoom, arrows to move, <kbd>0</kbd> "
    "to go back.</p></footer>"
)


def page(title: str, sections: Sequence[Section], library: str) -> str:
    """The page.

    Nothing is loaded and no script runs but the two of the page, whose hashes its policy names:
    so a text that slipped through unescaped could do nothing either.

    Args:
        title: a text.
        sections: from top to bottom.
        library: the text of plotly.js.
    """
    style, script = _resource("page.css"), _resource("page.js")
    library = library.replace("</script", "<\\/script")
    policy = (
        f"default-src 'none'; script-src {_hash(library)} {_hash(script)}; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    figures = [part for section in sections for part in section.parts if isinstance(part, Figure)]
    named = escape(printable(title))
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{named}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            '<a class="skip" href="#content">Skip to the content</a>',
            f"<header><h1>{named}</h1>",
            f'<nav aria-label="Sections">{" ".join(map(link_html, sections))}</nav></header>',
            '<main id="content">',
            _WITHOUT_SCRIPT,
            *(section_html(section) for section in sections),
            "</main>",
            _HELP,
            f'<script type="application/json" id="figures">{figures_json(figures)}</script>',
            f"<script>{library}</script>",
            f"<script>{script}</script>",
            "</body>",
            "</html>\n",
        ]
    )


def figures_json(figures: Sequence[Figure]) -> str:
    """What the page's script draws, as JSON that may stand in a script element."""
    data = {
        f"figure-{figure.name}": {"data": figure.traces, "layout": figure.layout}
        for figure in figures
    }
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # `<` ends a script element or begins a comment in it; in JSON it stands in texts only.
    return text.replace("<", "\\u003c")


def _resource(name: str) -> str:
    return resources.files("plink.show.page").joinpath(name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
