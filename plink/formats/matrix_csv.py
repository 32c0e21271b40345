"""Matrices as CSV, for other tools: host names in the first row and column, the unit in the corner.

The first cell is the unit, the first row and the first column name the same hosts in the same
order. Row is source, column is destination, an empty cell was not measured (`docs/files.md`).
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.text import brief, format_count, join_texts
from plink.formats.limits import MAX_HOSTS, MAX_RTT_US
from plink.formats.matrices import Matrix
from plink.formats.units import TIMES, find_rate_unit, find_time_unit
from plink.probes.hosts.hostlist import HINT_NAME, find_name_fault

with lazy_imports():
    import orjson

# Unit: what power of ten of it a microsecond is.
UNITS = {name: -exponent for name, exponent in TIMES.items()}

_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,4}))?")
# Of these alone JSON has what `_NUMBER` takes, or nothing.
_DIGITS = b"0123456789+-."
_UNIT_HINT = "write the unit into this cell, or give the unit us"


@dataclass(frozen=True)
class NamedMatrix:
    """Matrix of round-trip times with host names and unit, parsed from a CSV file.

    Args:
        names: N host names, in file order.
        rtt_us: (N, N), [source][destination], in µs; NaN where not measured, and on the diagonal.
        unit: the unit that the file's numbers were in.
        notes: what was left out of the matrix, as sentences for the user.
    """

    names: Sequence[str]
    rtt_us: Matrix
    unit: str
    notes: Sequence[str] = ()


def parse(content: bytes, source: str, unit: str | None = None) -> NamedMatrix:
    """Parse a matrix of round-trip times between hosts from CSV text.

    Args:
        content: the text, UTF-8, with or without a byte order mark.
        source: what errors call it.
        unit: the unit of the numbers (`UNITS`), where the first cell names none.

    Raises:
        WrongUseError: naming file, row and column, both counted from 1 with the headings.
    """
    rows = _rows(content, source)
    _, heading = next(rows, (1, []))
    if not heading:
        raise WrongUseError(f"{source}: is empty", "the first row is the unit and the host names")
    names = _names(heading, source)
    unit = _unit(heading[0], unit, source)
    # Every row has a comma for every host: a shorter text lacks some, which shows below, and no
    # heading alone asks for memory.
    is_whole = len(content) >= len(names) * (len(names) - 1)
    matrix = np.empty((len(names) if is_whole else 0, len(names)))
    count = 0
    for number, row in rows:
        if count < len(names):
            _check_row(row, number, names, names[count], source)
            values_us = _values_us(row[1:], unit, f"{source}: row {number}", count, names)
            if is_whole:
                matrix[count] = values_us
        count += 1
    if count != len(names):
        raise WrongUseError(
            f"{source}: has {count} rows below row 1, expected {len(names)}, one per host"
        )
    unused = int((matrix.diagonal() > 0.0).sum())
    values = format_count(unused, "value")
    note = f"{values} on the diagonal left out: a host has no distance to itself"
    np.fill_diagonal(matrix, np.nan)
    return NamedMatrix(names, matrix, unit, [note] if unused else [])


def render(names: Sequence[str], values: Matrix, unit: str) -> bytes:
    """Return a matrix as CSV text; times parse back to exactly the same numbers.

    Args:
        names: N host names.
        values: (N, N) times in µs or bandwidths in Gbit/s; NaN where not measured.
        unit: unit to write times in (`UNITS`), or Gbit/s.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([unit, *names])
    for i, name in enumerate(names):
        row = [
            ""
            if math.isnan(value)
            else format(Decimal(repr(value)).scaleb(UNITS.get(unit, 0)).normalize(), "f")
            for value in values[i].tolist()
        ]
        row[i] = "0"
        writer.writerow([name, *row])
    return stream.getvalue().encode()


def _rows(content: bytes, source: str) -> Iterator[tuple[int, list[str]]]:
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    reader = csv.reader(_lines(text, source), strict=True)
    try:
        for row in reader:
            cells = list(map(str.strip, row))
            if any(cells):
                yield reader.line_num, cells
    except UnicodeDecodeError:
        raise WrongUseError(f"{source}: must be text in UTF-8") from None
    except csv.Error as error:
        place = f"{source}: row {reader.line_num}"
        raise WrongUseError(f"{place}: not CSV ({error})") from None


def _lines(text: Iterable[str], source: str) -> Iterator[str]:
    """Yield the lines of a CSV text; raise for a line that is too long or unterminated."""
    for number, line in enumerate(text, 1):
        if line.count(",") > MAX_HOSTS:
            raise WrongUseError(f"{source}: row {number} has more than {MAX_HOSTS:,} values")
        if line.count('"') % 2:
            raise WrongUseError(f"{source}: row {number}: not CSV (a quotation mark is not closed)")
        yield line


def _names(heading: Sequence[str], source: str) -> list[str]:
    names = list(heading[1:])
    if not names:
        hint = "the first row is the unit and the host names, separated by commas"
        if len(heading[0].split()) > 1:
            hint = "cells are separated by commas, not by blanks: tr -s ' ' , turns these into them"
        raise WrongUseError(f"{source}: row 1 names no hosts", hint)
    seen: dict[str, int] = {}
    for column, name in enumerate(names, start=2):
        why_no_host_name = find_name_fault(name)
        if why_no_host_name is not None:
            raise WrongUseError(
                f"{source}: row 1, column {column}: {brief(name)} {why_no_host_name}",
                f"names have no blanks: write {'-'.join(name.split())}"
                if " " in name
                else HINT_NAME,
            )
        if name in seen:
            raise WrongUseError(
                f"{source}: row 1, column {column}: host {brief(name)} is also in column "
                f"{seen[name]}"
            )
        seen[name] = column
    return names


def _unit(corner: str, given: str | None, source: str) -> str:
    try:
        rate, time = find_rate_unit(corner), find_time_unit(corner)
    except WrongUseError as ambiguity:
        raise WrongUseError(f"{source}: row 1, column 1: {ambiguity}", ambiguity.hint) from None
    if rate is not None:
        raise WrongUseError(
            f"{source}: has bandwidths in {rate.name}, expected round-trip times",
            "a matrix has round-trip times; bandwidths have a row for each pair: "
            "source,destination,gbit_s",
        )
    if time is not None:
        named = time.name
        if given not in (None, named):
            raise WrongUseError(
                f"{source}: row 1, column 1 says {named}, but the unit {given} was given",
                "leave the unit out, or correct the file",
            )
        return named
    if given is None:
        content = brief(corner) if corner else "empty"
        units = join_texts(list(UNITS), "or")
        raise WrongUseError(
            f"{source}: row 1, column 1 is {content}, expected the unit of all times, {units}",
            _UNIT_HINT,
        )
    return given


def _check_row(
    row: Sequence[str], number: int, names: Sequence[str], expected: str, source: str
) -> None:
    if row[0] != expected:
        raise WrongUseError(
            f"{source}: row {number}, column 1 is {brief(row[0])}, expected {brief(expected)}",
            "rows and columns name the same hosts in the same order",
        )
    if len(row) != len(names) + 1:
        raise WrongUseError(
            f"{source}: row {number} ({brief(expected)}) has {len(row) - 1} values, "
            f"expected {len(names)}"
        )


def _values_us(
    cells: Sequence[str], unit: str, place: str, own: int, names: Sequence[str]
) -> Matrix:
    """Convert a CSV row's cells to numbers in µs, (N,); NaN for an empty cell.

    Raises:
        WrongUseError: one of them is no number, negative or too large.
    """
    if not "".join(cells).encode().translate(None, _DIGITS):
        # Shifting the exponent in the text converts once and exactly; a product would round twice.
        shift = f"e{-UNITS[unit]}" if UNITS[unit] else ""
        is_json = not shift and all(cells)
        plain = cells if is_json else [cell + shift if cell else "null" for cell in cells]
        try:
            values = np.array(orjson.loads(f"[{','.join(plain)}]"), dtype=np.float64)
        except ValueError:
            pass
        else:
            if len(values) == len(cells) and not ((values < 0.0) | (values > MAX_RTT_US)).any():
                return values + 0.0  # which makes 0 of -0
    # A cell is written in another way, or wrong: which, and why?
    found = np.empty(len(cells))
    for column, cell in enumerate(cells):
        try:
            found[column] = _value_us(cell, unit)
        except WrongUseError as wrong_time:
            row_place = f"{place} ({brief(names[own])})"
            column_place = f"column {column + 2} ({brief(names[column])})"
            raise WrongUseError(
                f"{row_place}, {column_place}: {wrong_time}", wrong_time.hint
            ) from None
    return found


def _value_us(cell: str, unit: str) -> float:
    if not cell:
        return math.nan
    match = _NUMBER.fullmatch(cell)
    if match is None:
        hint = "leave the cell empty where a pair was not measured"
        raise WrongUseError(f"{brief(cell)} is not a number", hint)
    value_us = float(f"{match[1]}e{int(match[2] or 0) - UNITS[unit]}")
    if value_us < 0.0:
        raise WrongUseError(f"{brief(cell)} is negative, expected a time")
    if value_us > MAX_RTT_US:
        bound = f"{MAX_RTT_US / 1e6:g} s"
        raise WrongUseError(f"{brief(cell)} {unit} is more than {bound}", "is the unit right?")
    return abs(value_us)
