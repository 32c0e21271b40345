"""Parts of a report's sections, independent of HTML; their texts are plain and untrusted.

Groups have both a colour and a symbol of their own, so that no reader depends on colour alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from plink.base.text import printable
from plink.show.tables import Fact

# A colour of the page's theme, light or dark, which the page fills in when it draws.
INK = "var(--ink)"
MUTED = "var(--muted)"
LINE = "var(--line)"
SELF = "var(--self)"

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
    """Paragraph of sentences, possibly set apart as a note or larger as a lead."""

    text: str
    is_note: bool = False
    is_lead: bool = False


@dataclass(frozen=True)
class Names:
    """Host names in a table cell, the first few visible and the others on demand."""

    names: Sequence[str]


Cell = str | Names


@dataclass(frozen=True)
class Table:
    """Table whose first column names the rows.

    Args:
        numbers: columns that are flush right.
        is_grid: columns are compared, so that rows are never taken apart on a narrow page.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numbers: Sequence[int] = ()
    is_grid: bool = False


def facts_table(caption: str, facts: Iterable[Fact], heading: str = "found") -> Table:
    """Return facts as a table; the lines of one fact stand side by side."""
    return Table(caption, ("what", heading), [(label, "; ".join(lines)) for label, lines in facts])


@dataclass(frozen=True)
class Bar:
    """Bar of a chart, with the text beside it.

    Args:
        text: its value.
        share: of the longest bar there may be, from 0 to 1.
        colour: colour of a style sheet.
        reach: from which share to which the value may be, where it is a range.
    """

    text: str
    share: float
    colour: str
    reach: tuple[float, float] | None = None


@dataclass(frozen=True)
class Bars:
    """Table of bars, whose first column names the rows.

    Args:
        caption: what they are.
        header: of the first column and those of bars.
        rows: a name and a bar for each column, None where nothing is known.
        line: a share at which a line is drawn through all bars.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Bar | None]]]
    line: float | None = None


@dataclass(frozen=True)
class NextSteps:
    """Next steps, each with its command or None."""

    steps: Sequence[tuple[str, str | None]]


@dataclass(frozen=True)
class Legend:
    """Legend: a scale of colours from left to right, and marks beside it.

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
    """Figure for plotly.js.

    Texts in traces and layout must have gone through `plotly_text`: plotly.js reads tags in them.

    Args:
        name: a word, unique on the page.
        traces, layout: JSON values, with theme colours as `var(--name)`.
        height_px: height of the picture, in pixels.
        caption: how to read it.
        description: what it shows, for those who cannot see it.
        is_square: never much higher than the page is wide.
        narrow: what replaces members of the layout on a narrow page.
        narrow_height_px: of the picture there; None for the same.
    """

    name: str
    traces: Sequence[dict[str, Any]]
    layout: dict[str, Any]
    height_px: int
    caption: str
    description: str
    is_square: bool = False
    narrow: dict[str, Any] = field(default_factory=dict)
    narrow_height_px: int | None = None


@dataclass(frozen=True)
class Folded:
    """Parts that are hidden until the reader opens their `summary`."""

    summary: str
    parts: Sequence[Part]


Part = Paragraph | Table | Bars | NextSteps | Legend | Figure | Folded


def unfold_parts(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield all parts, with folded ones replaced by their content."""
    for part in parts:
        if isinstance(part, Folded):
            yield from unfold_parts(part.parts)
        else:
            yield part


def figures_of(parts: Sequence[Part]) -> Iterator[Figure]:
    """Return all figures among parts, including folded ones."""
    return (part for part in unfold_parts(parts) if isinstance(part, Figure))


@dataclass(frozen=True)
class Section:
    """Section of the page under a heading; `anchor` is a unique word."""

    anchor: str
    title: str
    parts: Sequence[Part]


def plotly_text(text: str) -> str:
    """Return text escaped for plotly.js."""
    return escape(printable(text), quote=False)


def round_to_digits(value: float, digits: int = 4) -> float:
    """Return a number rounded to `digits` significant digits."""
    return float(f"{value:.{digits}g}")


def group_colour(shade: int) -> str:
    """Return a colour for each number (`Subject.shade_of`); -1 means no group."""
    return NO_GROUP_COLOUR if shade == NO_GROUP else _COLOURS[shade % len(_COLOURS)]


def group_symbol(shade: int) -> str:
    """Return a symbol for each number, which with the colour is distinct for 48 numbers."""
    if shade == NO_GROUP:
        return "circle-open"
    return _SYMBOLS[(shade + shade // _CYCLE) % len(_SYMBOLS)]
