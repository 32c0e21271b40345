"""Self-contained HTML page of a report: style, figures, plotly.js and script.

Every text is escaped here, and nowhere else."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib import resources

from plink.base.errors import PlinkError
from plink.base.text import printable
from plink.show.page.parts import (
    Bars,
    Figure,
    Folded,
    Legend,
    NextSteps,
    Paragraph,
    Part,
    Section,
    Table,
    figures_of,
)
from plink.show.page.tables import prose_html, table_html, text_html

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
    """Return the HTML of a report.

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
    figures = [figure for section in sections for figure in figures_of(section.parts)]
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
    """Return the figures' data as JSON that is safe inside a script element."""
    data = {
        f"figure-{figure.name}": {
            "data": figure.traces,
            "layout": figure.layout,
            "narrow": figure.narrow,
        }
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


def section_html(section: Section) -> str:
    """Return the HTML of a section with its heading."""
    parts = "\n".join(_part_html(part) for part in section.parts)
    heading = f'<h2 id="{section.anchor}-title">{text_html(section.title)}</h2>'
    return (
        f'<section id="{section.anchor}" aria-labelledby="{section.anchor}-title">\n'
        f"{heading}\n{parts}\n</section>"
    )


def link_html(section: Section) -> str:
    """Return the HTML of a link to a section."""
    return f'<a href="#{section.anchor}">{text_html(section.title)}</a>'


def _part_html(part: Part) -> str:
    if isinstance(part, Paragraph):
        kind = ' class="note"' if part.is_note else ' class="lead"' if part.is_lead else ""
        return f"<p{kind}>{prose_html(part.text)}</p>"
    if isinstance(part, Folded):
        inside = "\n".join(_part_html(each) for each in part.parts)
        return f"<details><summary>{text_html(part.summary)}</summary>\n{inside}\n</details>"
    if isinstance(part, (Table, Bars)):
        return table_html(part)
    if isinstance(part, NextSteps):
        return _steps_html(part)
    if isinstance(part, Legend):
        return _legend_html(part)
    return _figure_html(part)


def _steps_html(steps: NextSteps) -> str:
    items = "\n".join(
        f"<li>{prose_html(why)}"
        + ("" if command is None else f"<pre>{text_html(command)}</pre>")
        + "</li>"
        for why, command in steps.steps
    )
    return f'<ol class="steps">\n{items}\n</ol>'


def _legend_html(legend: Legend) -> str:
    colours = ", ".join(legend.colours)
    ticks = "".join(f"<span>{text_html(tick)}</span>" for tick in legend.ticks)
    marks = "".join(
        f'<span class="mark"><i style="background: {colour}"></i>{text_html(text)}</span>'
        for colour, text in legend.marks
    )
    return (
        f'<div class="legend"><div class="scale"><div class="bar" style="background: '
        f'linear-gradient(to right, {colours})"></div><div class="ticks">{ticks}</div></div>'
        f'<div class="marks">{marks}</div></div>'
    )


def _figure_html(figure: Figure) -> str:
    height = f"{figure.height_px}px"
    if figure.is_square:
        # What a narrow page leaves beside the picture, its labels above and below stay.
        height = f"min({height}, calc(100vw - 2rem))"
    narrow = height if figure.narrow_height_px is None else f"{figure.narrow_height_px}px"
    return (
        f'<figure><div class="picture" id="figure-{figure.name}" role="img" tabindex="0" '
        f'aria-label="{escape(printable(figure.description))}" '
        f'style="--height: {height}; --narrow-height: {narrow}"></div>'
        f"<figcaption>{prose_html(figure.caption)}</figcaption></figure>"
    )


def plotly_js() -> str:
    """Return the source of plotly.js (MIT), to embed in the page.

    Raises:
        PlinkError: the package is not installed.
    """
    try:
        from plotly.offline import get_plotlyjs  # noqa: PLC0415  only this needs it
    except ImportError:
        raise PlinkError(
            "plink report needs plotly, which is not installed",
            "pip install plotly",
        ) from None
    text: str = get_plotlyjs()
    return text
