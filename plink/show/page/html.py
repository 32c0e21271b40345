"""Self-contained HTML page of a report, from templates: style, figures, plotly.js and script.

Every text is escaped by the templates' environment, and nowhere else.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from plink.base.errors import PlinkError
from plink.base.lazy import lazy_imports
from plink.base.text import printable
from plink.show.page.parts import Figure, Part, Section, list_figures

with lazy_imports():
    from plotly import offline

_PACKAGE = "plink.show.page"
# A browser would break these at their hyphens.
_NAME = re.compile(r"(?<!\S)((?=\S*\d)\S*[-…]\S*)")


def page(title: str, sections: Sequence[Section], library: str) -> str:
    """Return the HTML of a whole report page, with its style, figures and scripts embedded.

    Nothing is loaded and no script runs but the two of the page, whose hashes its policy names:
    so a text that slipped through unescaped could do nothing either.

    Args:
        title: an untrusted text.
        sections: from top to bottom.
        library: the text of plotly.js.
    """
    script = _resource("page.js")
    library = library.replace("</script", "<\\/script")
    policy = (
        f"default-src 'none'; script-src {_hash(library)} {_hash(script)}; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    figures = [figure for section in sections for figure in list_figures(section.parts)]
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=title,
            sections=sections,
            policy=policy,
            style=Markup(_resource("page.css")),
            figures=Markup(figures_json(figures)),
            library=Markup(library),
            script=Markup(script),
        )
    )


def part_html(part: Part) -> str:
    """Return the HTML of one part of a report's section."""
    macros: Any = _environment().get_template("parts.html.j2").module
    return str(macros.part(part))


def figures_json(figures: Sequence[Figure]) -> str:
    """Return the figures' data as JSON that is safe inside a script element."""
    data = {
        f"figure-{each.name}": {"data": each.traces, "layout": each.layout, "narrow": each.narrow}
        for each in figures
    }
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # `<` ends a script element or begins a comment in it; in JSON it stands in texts only.
    return text.replace("<", "\\u003c")


def plotly_js() -> str:
    """Return the source of plotly.js (MIT), or raise PlinkError if it is not installed."""
    try:
        text: str = offline.get_plotlyjs()
    except ImportError:
        raise PlinkError(
            "plink report needs plotly, which is not installed", "pip install plotly"
        ) from None
    return text


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_PACKAGE),
        autoescape=True,
        keep_trailing_newline=True,
        # Without control characters, unless it is HTML already.
        finalize=lambda value: (
            printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
        ),
    )
    environment.filters |= {
        "kind": lambda part: type(part).__name__,
        "percent": lambda share: f"{100.0 * float(np.clip(share, 0.0, 1.0)):.4g}%",
        "prose": _mark_names,
    }
    return environment


def _mark_names(text: str) -> Markup:
    """Convert text to HTML in which names of hosts and files are not broken across lines."""
    span = Markup("<span class=name>{}</span>")
    parts = _NAME.split(text)
    return Markup("").join(
        span.format(printable(part)) if place % 2 else escape(printable(part))
        for place, part in enumerate(parts)
    )


def _resource(name: str) -> str:
    return resources.files(_PACKAGE).joinpath(name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
