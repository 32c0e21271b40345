"""Tables as data, which the terminal and the report page draw in their own style.

Texts are plain and untrusted: what draws them escapes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from plink.base.text import printable

Row = TypeVar("Row")
Row_contra = TypeVar("Row_contra", contravariant=True)
_Value = TypeVar("_Value")

# A label, and the lines of text that belong to it.
Fact = tuple[str, Sequence[str]]

UNKNOWN = "-"


@dataclass(frozen=True)
class Column(Generic[Row_contra]):
    """Column of a table: heading, alignment and the text of a cell.

    Args:
        heading: a noun.
        text: returns the text of a row in this column, with its unit.
        is_text: words, flush left; numbers are flush right.
    """

    heading: str
    text: Callable[[Row_contra], str]
    is_text: bool = False


def known_text(value: _Value | None, text: Callable[[_Value], str]) -> str:
    """Return the text of a value; `UNKNOWN` for None."""
    return UNKNOWN if value is None else text(value)


def headings(columns: Iterable[Column[Any]]) -> tuple[str, ...]:
    """Return the headings of a table's columns."""
    return tuple(column.heading for column in columns)


def cells(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> list[tuple[str, ...]]:
    """Return the texts of a table's cells, a tuple for each row."""
    return [tuple(column.text(row) for column in columns) for row in rows]


def drop_unknown(columns: Iterable[Column[Row]], rows: Sequence[Row]) -> list[Column[Row]]:
    """Return the columns that have a known value in at least one row."""
    return [column for column in columns if any(column.text(row) != UNKNOWN for row in rows)]


def number_columns(columns: Sequence[Column[Any]]) -> tuple[int, ...]:
    """Return the indices of the columns that hold numbers, which are aligned to the right."""
    return tuple(place for place, column in enumerate(columns) if not column.is_text)


def capitalise(text: str) -> str:
    """Turn a clause into a sentence, with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def join_some(texts: Sequence[str], most: int, separator: str = ", ") -> str:
    """Join the first `most` texts, and say how many more there are: `a, b and 3 more`."""
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return separator.join(texts[:most]) + more


def table_lines(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> list[str]:
    """Return a table as lines with aligned columns, headings first, without control characters.

    There is no line of headings where all are empty.
    """
    texts = [headings(columns), *cells(columns, rows)]
    lines = [tuple(map(printable, row)) for row in (texts if any(texts[0]) else texts[1:])]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if column.is_text else cell.rjust(width)
            for column, cell, width in zip(columns, row, widths, strict=True)
        ).rstrip()
        for row in lines
    ]
