"""What a section of a report is made of. No HTML here: texts are plain, and not to be trusted.

Groups have both a colour and a symbol of their own, so that no reader depends on colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from plink.base.text import printable

# A colour of the page's theme, light or dark, which the page fills in when it draws.
INK = "var(--ink)"
MUTED = "var(--muted)"
LINE = "var(--line)"
SELF = "var(--self)"

_LONGEST_NAME = 40
# Okabe and Ito, "Color Universal Design" (2008), without black and yellow, which one of a light
# and a dark page hides.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
_CYCLE = 24

NO_GROUP = -1
NO_GROUP_COLOUR = "#8c8c8c"

WITHIN = "#0072b2"
BETWEEN = "#d55e00"


@dataclass(frozen=True)
class Paragraph:
    """Sentences."""

    text: str
    is_note: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of texts under a header; columns in `numbers` are set flush right."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[int] = ()


@dataclass(frozen=True)
class Steps:
    """What to do, each with the command that does it, or None."""

    steps: Sequence[tuple[str, str | None]]


@dataclass(frozen=True)
class Legend:
    """A scale of colours from left to right, and marks beside it.

    Args:
        colours: `#rrggbb`, evenly spaced.
        ticks: texts, evenly spaced from the first colour to the last.
        marks: a colour and what it means.
    """

    colours: Sequence[str]
    ticks: Sequence[str]
    marks: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Figure:
    """A picture, as plotly.js draws it.

    Texts in traces and layout must have gone through `plotly_text`: plotly.js reads tags in them.

    Args:
        name: a word, unique on the page.
        traces, layout: JSON values, with theme colours as `var(--name)`.
        height_px: of the picture.
        caption: how to read it.
        description: what it shows, for those who cannot see it.
        is_square: never much higher than the page is wide.
    """

    name: str
    traces: Sequence[dict[str, Any]]
    layout: dict[str, Any]
    height_px: int
    caption: str
    description: str
    is_square: bool = False


Part = Paragraph | Table | Steps | Legend | Figure


@dataclass(frozen=True)
class Section:
    """A part of the page under its own heading; `anchor` is a word and unique."""

    anchor: str
    title: str
    parts: Sequence[Part]


def outline(sections: Sequence[Section]) -> dict[str, Any]:
    """What a page says, as JSON values: its sections' texts and tables, and what to do next."""
    steps = [
        {"why": why, "command": command}
        for section in sections
        for part in section.parts
        if isinstance(part, Steps)
        for why, command in part.steps
    ]
    return {
        "sections": [
            {
                "anchor": section.anchor,
                "title": section.title,
                "texts": [part.text for part in section.parts if isinstance(part, Paragraph)],
                "tables": [
                    {"caption": part.caption, "header": part.header, "rows": part.rows}
                    for part in section.parts
                    if isinstance(part, Table)
                ],
            }
            for section in sections
        ],
        "next": steps,
    }


def plotly_text(text: str) -> str:
    """Text that plotly.js shows as it is."""
    return escape(printable(text), quote=False)


def plotly_names(names: Sequence[str]) -> list[str]:
    """Names for plotly.js, cut where they are long, and still distinct."""
    return [
        plotly_text(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}… ({place})")
        for place, name in enumerate(names)
    ]


def rounded(value: float, digits: int = 4) -> float:
    """A number with `digits` significant digits: a page holds many, and nobody reads more."""
    return float(f"{value:.{digits}g}")


def group_colour(shade: int) -> str:
    """A colour for each number (`Subject.shade_of`); -1 is no group."""
    return NO_GROUP_COLOUR if shade == NO_GROUP else _COLOURS[shade % len(_COLOURS)]


def group_symbol(shade: int) -> str:
    """A symbol for each number: with the colour, distinct for 48 of them."""
    if shade == NO_GROUP:
        return "circle-open"
    return _SYMBOLS[(shade + shade // _CYCLE) % len(_SYMBOLS)]
