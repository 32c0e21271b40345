"""Content of a report without figures, as `plink report --json` prints it."""

from __future__ import annotations

from collections.abc import Sequence

from plink.formats.limits import Positive, Text
from plink.formats.structs import Output
from plink.show.page.parts import AdviceList, Bars, Names, Paragraph, Section, Table, unfold_parts


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


class NextStep(Output, frozen=True):
    """Next step that a report suggests, with its command.

    Attributes:
        why: reason, in words
        command: command to type; null if there is none
    """

    why: Text
    command: Text | None


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
    """Return the texts and tables of a report's sections, and the next steps."""
    outlines = []
    for section in sections:
        parts = list(unfold_parts(section.parts))
        texts = [part.text for part in parts if isinstance(part, Paragraph)]
        tables = [_table(part) for part in parts if isinstance(part, (Table, Bars))]
        outlines.append(SectionOutline(section.anchor, section.title, texts, tables))
    steps = [
        NextStep(advice.text, advice.command)
        for section in sections
        for part in section.parts
        if isinstance(part, AdviceList)
        for advice in part.items
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
