"""HTML of tables and bars, accessible to screen readers and scrollable on narrow pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from plink.base.text import printable
from plink.show.page.parts import Bar, Bars, Cell, Names, Table

# Longer tables scroll inside a frame of their own, and are whole in print.
_LONG_TABLE = 20
# On a narrow page the rows of wider tables stand as blocks, a line a cell.
_WIDE_TABLE = 3
_SHOWN_NAMES = 8


# A browser would break these at their hyphens.
_NAME = re.compile(r"(?<!\S)(?=\S*\d)\S*[-…]\S*")
_LONG_LABEL = 16


def text_html(text: str) -> str:
    """Return text escaped for HTML."""
    return escape(printable(text))


def prose_html(text: str) -> str:
    """Return text as HTML in which names are not broken across lines."""
    found, end = [], 0
    for match in _NAME.finditer(text):
        found += [text_html(text[end : match.start()]), _name_html(match[0])]
        end = match.end()
    return "".join([*found, text_html(text[end:])])


def table_html(part: Table | Bars) -> str:
    """Return the HTML of a table in a frame that scrolls."""
    caption = f"<caption>{prose_html(part.caption)}</caption>"
    if isinstance(part, Bars):
        head, rows = _head(part.header, ()), _bar_rows(part)
        longest = max((len(name) for name, _ in part.rows), default=0)
        kind = "bars tall" if longest > _LONG_LABEL else "bars"
    else:
        head, rows = _head(part.header, part.numbers), _rows(part)
        is_wide = len(part.header) > _WIDE_TABLE
        kind = "grid" if part.is_grid else "wide" if is_wide else "plain"
    long = " long" if len(part.rows) > _LONG_TABLE else ""
    body = "\n".join(rows)
    return (
        f'<div class="table{long}" tabindex="0"><table role="table" class="{kind}">{caption}'
        f"{head}\n<tbody role=rowgroup>\n{body}\n</tbody></table></div>"
    )


def _head(header: Sequence[str], numbers: Sequence[int]) -> str:
    cells = "".join(
        f"<th role=columnheader scope=col{_flush(column, numbers)}>{text_html(text)}</th>"
        for column, text in enumerate(header)
    )
    return f"<thead role=rowgroup><tr role=row>{cells}</tr></thead>"


def _rows(table: Table) -> list[str]:
    return [
        _row(row[0], [_cell_html(cell) for cell in row[1:]], table.header, table.numbers)
        for row in table.rows
    ]


def _row(name: Cell, cells: Sequence[str], header: Sequence[str], numbers: Sequence[int]) -> str:
    inside = "".join(
        f'<td role=cell data-of="{text_html(header[column])}"{_flush(column, numbers)}>{cell}</td>'
        for column, cell in enumerate(cells, 1)
    )
    return f"<tr role=row><th role=rowheader scope=row>{_cell_html(name)}</th>{inside}</tr>"


def _flush(column: int, numbers: Sequence[int]) -> str:
    return " class=number" if column in numbers else ""


def _cell_html(cell: Cell) -> str:
    if isinstance(cell, str):
        return prose_html(cell)
    few = " ".join(map(_name_html, cell.names[:_SHOWN_NAMES]))
    rest = cell.names[_SHOWN_NAMES:]
    if not rest:
        return few
    more = " ".join(map(_name_html, rest))
    return f"{few} <details class=names><summary>and {len(rest):,} more</summary>{more}</details>"


def _name_html(name: str) -> str:
    return f"<span class=name>{text_html(name)}</span>"


def _bar_rows(bars: Bars) -> list[str]:
    return [
        _row(
            Names([name]),
            [_bar_html(bar, bars.line) for bar in row],
            bars.header,
            (),
        )
        for name, row in bars.rows
    ]


def _bar_html(bar: Bar | None, line: float | None) -> str:
    if bar is None:
        return "<span class=amount>not measured</span>"
    inside = f'<i class=length style="width: {_percent(bar.share)}; background: {bar.colour}"></i>'
    if bar.reach is not None:
        low, high = bar.reach
        inside += (
            f'<i class=reach style="left: {_percent(low)}; width: {_percent(high - low)}"></i>'
        )
    if line is not None:
        inside += f'<i class=line style="left: {_percent(line)}"></i>'
    return (
        f"<span class=amount>{text_html(bar.text)}</span>"
        f'<span class=track aria-hidden="true">{inside}</span>'
    )


def _percent(share: float) -> str:
    return f"{100.0 * min(1.0, max(0.0, share)):.4g}%"
