"""Console on which pages are printed: width, colours and characters."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from io import TextIOWrapper

from rich.console import Console
from rich.table import Table

from plink.base.output import check_output, tolerate
from plink.show.terminal.scale import ASCII_SHADES, SHADES

_WIDEST = 1000


@dataclass(frozen=True)
class Paper:
    """Console, with shades in place of colours if it has too few."""

    console: Console
    shades: str | None


def paper(width: int | None) -> Paper:
    """Return a paper on standard output; `width` in columns overrides the terminal's.

    Raises:
        PlinkError: there is no standard output.
    """
    check_output()
    shades = SHADES
    if isinstance(sys.stdout, TextIOWrapper):
        tolerate(sys.stdout)
        shades = SHADES if _can_show(SHADES, sys.stdout.encoding) else ASCII_SHADES
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    has_colours = console.color_system in ("256", "truecolor") and not console.no_color
    return Paper(console, None if has_colours else shades)


def print_table(console: Console, table: Table) -> None:
    """Print a table; its cells are folded only on a terminal, so that lines can be searched."""
    if not console.is_terminal:
        wide = console.options.update(max_width=_WIDEST)
        console.width = max(console.width, console.measure(table, options=wide).maximum)
    console.print(table)


def _can_show(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
