"""Content of a report as JSON values, without figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plink.show.page.parts import Bars, Names, NextSteps, Paragraph, Section, Table, unfold_parts


def outline(sections: Sequence[Section]) -> dict[str, Any]:
    """Return the texts and tables of each section, and the next steps."""
    return {
        "sections": [
            {
                "anchor": section.anchor,
                "title": section.title,
                "texts": [p.text for p in unfold_parts(section.parts) if isinstance(p, Paragraph)],
                "tables": [
                    _table(part)
                    for part in unfold_parts(section.parts)
                    if isinstance(part, (Table, Bars))
                ],
            }
            for section in sections
        ],
        "next": [
            {"why": why, "command": command}
            for section in sections
            for part in section.parts
            if isinstance(part, NextSteps)
            for why, command in part.steps
        ],
    }


def _table(part: Table | Bars) -> dict[str, Any]:
    if isinstance(part, Bars):
        rows: list[list[Any]] = [
            [name, *(None if bar is None else bar.text for bar in bars)] for name, bars in part.rows
        ]
    else:
        rows = [
            [list(cell.names) if isinstance(cell, Names) else cell for cell in row]
            for row in part.rows
        ]
    return {"caption": part.caption, "header": list(part.header), "rows": rows}
