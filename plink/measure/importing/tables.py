"""Conversion of tables separated by tabs, semicolons or Markdown bars to CSV.

A comma in a number of such a table is a decimal comma where the table shows that it is: somewhere
not three digits follow it, or nothing but a zero stands before it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from plink.base.errors import WrongUseError
from plink.base.text import format_count

_MOST_HEADING = 1 << 16
_RULE = re.compile(r"\|?(?:[ \t]*:?-+:?[ \t]*\|)*[ \t]*:?-+:?[ \t]*\|?[ \t]*")
_WITH_COMMA = re.compile(r"[0-9]{1,18},[0-9]{1,18}")
_DECIMAL = re.compile(r"0,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})")


def as_csv(text: str, source: str) -> str:
    """Return a table as CSV lines, whatever separates its cells.

    Raises:
        WrongUseError: there are several tables, or numbers whose commas may separate thousands.
    """
    rows = _rows(text, source)
    if rows is None:
        return text
    rows = _with_points([[cell.strip() for cell in row] for row in rows], source)
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def find_heading(text: str) -> str:
    """Return the first line of a table that is not blank or a comment."""
    for line in text[:_MOST_HEADING].splitlines():
        if line.strip() and not line.startswith("#"):
            return line.strip()
    return ""


def _rows(text: str, source: str) -> list[list[str]] | None:
    """Return the cells of a table that is not CSV; None for CSV."""
    heading = find_heading(text)
    separator = next((each for each in "\t;" if each in heading and "," not in heading), None)
    if separator is None and "|" not in text:
        return None
    lines = text.splitlines()
    rules = [
        number
        for number, line in enumerate(lines)
        if number and "-" in line and "|" in lines[number - 1] and _is_rule(line)
    ]
    if rules:
        return _of_markdown(lines, rules, source)
    if separator is None:
        return None
    # Blank lines stay, so that a row keeps its number.
    if '"' in text:
        return list(csv.reader(lines, delimiter=separator))
    return [line.split(separator) for line in lines]


def _is_rule(line: str) -> bool:
    return (
        len(line) <= _MOST_HEADING
        and set(line.strip()) <= set("|:- \t")
        and bool(_RULE.fullmatch(line.strip()))
    )


def _of_markdown(lines: Sequence[str], rules: Sequence[int], source: str) -> list[list[str]]:
    if len(rules) > 1:
        raise WrongUseError(
            f"{source}: holds {format_count(len(rules), 'table')}",
            "put each table into a file of its own",
        )
    found: list[list[str]] = [[] for _ in range(rules[0] - 1)]
    for number in range(rules[0] - 1, len(lines)):
        if number == rules[0]:
            found.append([])
        elif "|" not in lines[number]:
            break
        else:
            found.append([_bare(cell) for cell in _cells(lines[number])])
    return found


def _cells(line: str) -> list[str]:
    bare = line.strip()
    return bare.removeprefix("|").removesuffix("|").split("|")


def _bare(cell: str) -> str:
    """Return a cell without Markdown emphasis and code marks."""
    return cell.strip().strip("*`").strip()


def _with_points(rows: Iterable[list[str]], source: str) -> list[list[str]]:
    """Return the rows with decimal commas replaced by points."""
    found = list(rows)
    with_comma = [cell for row in found for cell in row if _WITH_COMMA.fullmatch(cell)]
    if not with_comma:
        return found
    if not any(_DECIMAL.fullmatch(cell) for cell in with_comma):
        raise WrongUseError(
            f"{source}: the comma of {with_comma[0]} may be a decimal point or separate thousands",
            f"write {with_comma[0].replace(',', '.')} or {with_comma[0].replace(',', '')}",
        )
    return [
        [cell.replace(",", ".") if _WITH_COMMA.fullmatch(cell) else cell for cell in row]
        for row in found
    ]
