"""Console on which results are printed, with the style of its tables and facts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import TextIOWrapper

from rich.console import Console
from rich.table import Table
from rich.text import Text

from plink.base.output import check_output, tolerate
from plink.base.text import printable
from plink.show.scale import ASCII_SHADES, SHADES
from plink.show.tables import Column, Fact, Row, cells

LABEL_WIDTH = 9
_WIDEST = 1000
# More of a text may be folded, even if tables are not aligned then.
_MOST_ALIGNED = 16


@dataclass(frozen=True)
class Paper:
    """Console to print on, with characters such as ▓ in place of colours if it has too few."""

    console: Console
    shades: str | None


def paper(width: int | None) -> Paper:
    """Return a console on standard output, `width` columns wide; PlinkError if that is closed."""
    check_output()
    shades = SHADES
    if isinstance(sys.stdout, TextIOWrapper):
        tolerate(sys.stdout)
        encoding = sys.stdout.encoding
        if SHADES.encode(encoding, "replace").decode(encoding, "replace") != SHADES:
            shades = ASCII_SHADES
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    has_colours = console.color_system in ("256", "truecolor") and not console.no_color
    return Paper(console, None if has_colours else shades)


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print a line of untrusted text."""
    console.print(Text(printable(text), style=style))


def print_table(
    console: Console,
    columns: Sequence[Column[Row]],
    rows: Iterable[Row],
    style: Callable[[Row], str] = lambda _: "",
    aligned_with: Iterable[Row] = (),
) -> None:
    """Print a table; its cells are folded only on a terminal, so that lines can be searched.

    Args:
        console: where to print.
        columns: from left to right.
        rows: from top to bottom.
        style: returns the style of a row.
        aligned_with: rows of tables above and below, whose columns are to be as wide.
    """
    others = cells(columns, aligned_with)
    table = Table(
        box=None,
        padding=(0, 2, 0, 0),
        pad_edge=False,
        header_style="cyan",
        show_header=any(column.heading for column in columns),
    )
    for place, column in enumerate(columns):
        width = max((len(row[place]) for row in others), default=0)
        if column.is_text:
            table.add_column(
                column.heading, overflow="fold", min_width=min(width, _MOST_ALIGNED) or None
            )
        else:
            table.add_column(column.heading, justify="right", no_wrap=True, min_width=width or None)
    for row in rows:
        # Text, not markup: brackets in a host's name or a reason are just brackets.
        table.add_row(*(Text(printable(column.text(row))) for column in columns), style=style(row))
    if not console.is_terminal:
        wide = console.options.update(max_width=_WIDEST)
        console.width = max(console.width, console.measure(table, options=wide).maximum)
    console.print(table)


def facts_table(rows: Iterable[Fact], separator: str = "\n") -> Table:
    """Return a table of facts (name, lines) in two columns; `separator` joins the lines."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=LABEL_WIDTH, style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, lines in rows:
        grid.add_row(Text(printable(label)), Text(separator.join(map(printable, lines))))
    return grid


def print_facts(console: Console, rows: Sequence[Fact]) -> None:
    """Print facts (name, lines) below an empty line; nothing if there are none."""
    if rows:
        console.print()
        console.print(facts_table(rows))
