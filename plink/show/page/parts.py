"""Parts of a report's sections (paragraphs, tables, figures, ...), and their content as JSON.

Their texts are plain and untrusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from plink.formats.limits import Positive, Text
from plink.formats.structs import Output
from plink.show.advice import NextStep
from plink.show.tables import Column, Fact, Row, cells, headings, number_columns


@dataclass(frozen=True)
class Paragraph:
    """Paragraph of a report, possibly set apart as a note or larger as a lead."""

    text: str
    is_note: bool = False
    is_lead: bool = False


@dataclass(frozen=True)
class Names:
    """Host names in a table cell, of which the first few are visible and the rest unfold."""

    names: Sequence[str]


Cell = str | Names


@dataclass(frozen=True)
class Table:
    """Table of a report whose first column names the rows.

    Args:
        caption: what it shows.
        header: headings of the columns.
        rows: texts of the cells, or names of hosts.
        numbers: places of the columns that are flush right.
        is_grid: whether columns are compared, so that a narrow page keeps rows together.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numbers: Sequence[int] = ()
    is_grid: bool = False


def table(caption: str, columns: Sequence[Column[Row]], rows: Iterable[Row]) -> Table:
    """Build a report's table from rows of any type; each column returns a row's text."""
    return Table(caption, headings(columns), cells(columns, rows), number_columns(columns))


def facts_table(caption: str, facts: Iterable[Fact], heading: str = "found") -> Table:
    """Return a two-column table of facts (name, lines), lines joined by semicolons."""
    return Table(caption, ("what", heading), [(label, "; ".join(lines)) for label, lines in facts])


@dataclass(frozen=True)
class Bar:
    """Bar of a chart with the text beside it.

    Args:
        text: its value.
        share: its length as a share of the longest bar there may be, from 0 to 1.
        colour: a colour of CSS.
        reach: range of the value, as shares; None if it is one number.
    """

    text: str
    share: float
    colour: str
    reach: tuple[float, float] | None = None


@dataclass(frozen=True)
class Bars:
    """Chart of a report as a table of bars, whose first column names the rows.

    Args:
        caption: what it shows.
        header: heading of the first column and of those of bars.
        rows: a name and a bar for each column, None where nothing is known.
        line: share at which a line is drawn through all bars; None for none.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Bar | None]]]
    line: float | None = None


@dataclass(frozen=True)
class AdviceList:
    """List of sentences of advice in a report, each with the command to type, if any."""

    items: Sequence[NextStep]


@dataclass(frozen=True)
class Legend:
    """Legend of a figure: its colour scale, and marks beside the scale.

    Args:
        colours: `#rrggbb`, evenly spaced.
        ticks: texts, evenly spaced from the first colour to the last.
        marks: pairs of a colour and what it means.
    """

    colours: Sequence[str]
    ticks: Sequence[str]
    marks: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Figure:
    """Figure of a report for plotly.js.

    Args:
        name: a word, unique on the page.
        traces: what is drawn.
        layout: layout of plotly.js.
        height_px: height of the picture, in pixels.
        caption: how to read it.
        description: what it shows, for those who cannot see it.
        is_square: whether the picture is never much higher than the page is wide.
        is_half: whether it shares a line with the next figure on a wide page.
        narrow: members of the layout that differ on a narrow page.
    """

    name: str
    traces: Sequence[dict[str, Any]]
    layout: dict[str, Any]
    height_px: int
    caption: str
    description: str
    is_square: bool = False
    is_half: bool = False
    narrow: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Folded:
    """Parts of a report that are hidden until the reader opens their summary."""

    summary: str
    parts: Sequence[Part]


Part = Paragraph | Table | Bars | AdviceList | Legend | Figure | Folded


@dataclass(frozen=True)
class Section:
    """Section of the page under a heading; `anchor` is a unique word."""

    anchor: str
    title: str
    parts: Sequence[Part]


def unfold_parts(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield all parts of a section, with folded ones replaced by their content."""
    for part in parts:
        if isinstance(part, Folded):
            yield from unfold_parts(part.parts)
        else:
            yield part


def list_figures(parts: Sequence[Part]) -> Iterator[Figure]:
    """Return all figures among a report's parts, folded ones included."""
    return (part for part in unfold_parts(parts) if isinstance(part, Figure))


class TableOutline(Output, frozen=True):
    """Table of a report's section: caption, headings and rows.

    Attributes:
        caption: text above the table
        header: headings of the columns
        rows: rows, each a list of cells: a text, names, or null
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | Sequence[str] | None]]


class SectionOutline(Output, frozen=True):
    """Section of a report without its figures: title, paragraphs and tables.

    Attributes:
        anchor: anchor of its heading, for links
        title: heading
        texts: paragraphs
        tables: tables
    """

    anchor: Text
    title: Text
    texts: Sequence[str]
    tables: Sequence[TableOutline]


class ReportOutline(Output, frozen=True):
    """Content of a report page without its figures, section by section.

    Attributes:
        output: page that was written
        bytes: size of the page, in bytes
        title: title of the page
        sections: sections of the page
        next: next steps
    """

    output: Text
    bytes: Positive
    title: Text
    sections: Sequence[SectionOutline]
    next: Sequence[NextStep]


def outline(output: str, size_bytes: int, title: str, sections: Sequence[Section]) -> ReportOutline:
    """Return a report's content without figures, for `--json`: texts, tables and next steps."""
    outlines = []
    for section in sections:
        parts = list(unfold_parts(section.parts))
        texts = [part.text for part in parts if isinstance(part, Paragraph)]
        tables = [_table(part) for part in parts if isinstance(part, (Table, Bars))]
        outlines.append(SectionOutline(section.anchor, section.title, texts, tables))
    steps = [
        step
        for section in sections
        for part in section.parts
        if isinstance(part, AdviceList)
        for step in part.items
    ]
    return ReportOutline(output, size_bytes, title, outlines, steps)


def _table(part: Table | Bars) -> TableOutline:
    rows: list[Sequence[str | Sequence[str] | None]]
    if isinstance(part, Bars):
        rows = [
            [name, *(None if bar is None else bar.text for bar in bars)] for name, bars in part.rows
        ]
    else:
        rows = [
            [list(cell.names) if isinstance(cell, Names) else cell for cell in row]
            for row in part.rows
        ]
    return TableOutline(part.caption, part.header, rows)
