"""Import of CSV with one row per measured pair of hosts: times, bandwidths or both.

The heading names the columns (`headings`). A pair that comes in several rows has several samples of
its time; of its bandwidths the greatest counts. Rows of a host and itself are left aside, and rows
that say that they failed are left out and named.

Tables separated by tabs, semicolons or Markdown bars are converted to CSV. A comma in a number of
such a table is a decimal comma where the table shows that it is: somewhere not three digits follow
it, or nothing but a zero stands before it.
"""

from __future__ import annotations

import csv
import io
import re
import statistics
from collections.abc import Iterable, Iterator, Sequence

from plink.base.errors import WrongUseError
from plink.base.size import format_size
from plink.base.text import brief, format_count
from plink.formats.units import RateUnit, TimeUnit, find_rate_unit, find_time_unit, split_quantity
from plink.measure.importing.headings import Columns, Values, find_columns, find_ends
from plink.measure.importing.pairs import (
    MOST_ROUND_TRIP_BYTES,
    Message,
    PairReading,
    Readings,
    SkippedPart,
    check_host_name,
    parse_number,
    select_bandwidth,
)
from plink.probes.hosts.hostlist import find_name_fault

_MOST_HEADING = 1 << 16
_RULE = re.compile(r"\|?(?:[ \t]*:?-+:?[ \t]*\|)*[ \t]*:?-+:?[ \t]*\|?[ \t]*")
_WITH_COMMA = re.compile(r"[0-9]{1,18},[0-9]{1,18}")
_DECIMAL = re.compile(r"0,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})")


def as_csv(text: str, source: str) -> str:
    """Return a table as CSV lines, whatever separates its cells.

    Raises:
        WrongUseError: there are several tables, or numbers whose commas may separate thousands.
    """
    rows = _table_rows(text, source)
    if rows is None:
        return text
    rows = _replace_commas([[cell.strip() for cell in row] for row in rows], source)
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def find_heading(text: str) -> str:
    """Return the first line of a table that is not blank or a comment."""
    for line in text[:_MOST_HEADING].splitlines():
        if line.strip() and not line.startswith("#"):
            return line.strip()
    return ""


def _table_rows(text: str, source: str) -> list[list[str]] | None:
    """Return the cells of a table that is not CSV; None for CSV."""
    heading = find_heading(text)
    separator = next((each for each in "\t;" if each in heading and "," not in heading), None)
    if separator is None and "|" not in text:
        return None
    lines = text.splitlines()
    rules = [
        line_number
        for line_number, line in enumerate(lines)
        if line_number and "-" in line and "|" in lines[line_number - 1] and _is_rule(line)
    ]
    if rules:
        return _split_markdown(lines, rules, source)
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


def _split_markdown(lines: Sequence[str], rules: Sequence[int], source: str) -> list[list[str]]:
    if len(rules) > 1:
        raise WrongUseError(
            f"{source}: holds {format_count(len(rules), 'table')}",
            "put each table into a file of its own",
        )
    rows: list[list[str]] = [[] for _ in range(rules[0] - 1)]
    for line_number in range(rules[0] - 1, len(lines)):
        if line_number == rules[0]:
            rows.append([])
        elif "|" not in lines[line_number]:
            break
        else:
            rows.append([_strip_markdown(cell) for cell in _cells(lines[line_number])])
    return rows


def _cells(line: str) -> list[str]:
    bare = line.strip()
    return bare.removeprefix("|").removesuffix("|").split("|")


def _strip_markdown(cell: str) -> str:
    """Return a cell without Markdown emphasis and code marks."""
    return cell.strip().strip("*`").strip()


def _replace_commas(rows: Iterable[list[str]], source: str) -> list[list[str]]:
    """Return the rows with decimal commas replaced by points."""
    cells = list(rows)
    with_comma = [cell for row in cells for cell in row if _WITH_COMMA.fullmatch(cell)]
    if not with_comma:
        return cells
    if not any(_DECIMAL.fullmatch(cell) for cell in with_comma):
        raise WrongUseError(
            f"{source}: the comma of {with_comma[0]} may be a decimal point or separate thousands",
            f"write {with_comma[0].replace(',', '.')} or {with_comma[0].replace(',', '')}",
        )
    return [
        [cell.replace(",", ".") if _WITH_COMMA.fullmatch(cell) else cell for cell in row]
        for row in cells
    ]


TOOL = "import"
_HINT = "expected columns: source, destination, bytes and gbit_s or rtt_ms"
_EMPTY = {"", "-", "--", "n/a", "na", "nan", "null", "none", "timeout", "failed", "error", "x"}
_GOOD = {
    *("", "ok", "success", "successful", "succeeded", "pass", "passed", "done", "complete"),
    *("completed", "finished", "true", "yes", "up", "1"),
}


def is_pair_list(text: str) -> bool:
    """Return whether a text is a list of pairs: two host columns in its heading, and no matrix."""
    rows = _rows(text[: 2 * _MOST_HEADING], "")
    try:
        heading = next(rows, (0, [""]))[1]
        second = next(rows, (0, []))[1]
    except WrongUseError:
        return False
    try:
        ends = find_ends(heading, "")
    except WrongUseError:
        return True  # several columns name an end
    if ends is None:
        return False
    # In a matrix the first row and the first column name the same hosts.
    return not (0 not in ends[0] and len(heading) > 1 and second[:1] == heading[1:2])


def refuse_list_without_hosts(text: str, source: str) -> None:
    """Raise for a list of values without columns that name hosts.

    Raises:
        WrongUseError: a heading that cannot be a host has a unit.
    """
    try:
        heading = next(_rows(text[:_MOST_HEADING], source), (0, []))[1]
        has_unit = any(
            find_name_fault(cell) and (find_rate_unit(cell) or find_time_unit(cell))
            for cell in heading[1:]
        )
    except WrongUseError:
        return
    if has_unit:
        raise WrongUseError(
            f"{source}: names no hosts",
            "add the columns source and destination, with one row per pair",
        )


def read_pair_list(
    text: str, source: str, size_bytes: int | None, unit: RateUnit | TimeUnit | None
) -> Readings:
    """Parse a table with one row for each pair of hosts into readings.

    Args:
        size_bytes: size of the messages whose bandwidth counts; None for any.
        unit: unit of numbers whose heading names none; None where none was given.

    Raises:
        WrongUseError: a heading or a row that is not understood, or no row of that size.
    """
    rows = _rows(text, source)
    columns = find_columns(next(rows)[1], source, unit)
    if size_bytes is not None and columns.size is None:
        raise WrongUseError(
            f"{source}: has no column of message sizes, so {{size}} cannot be chosen",
            _HINT,
            arguments={"size": size_bytes},
        )
    readings = Readings(TOOL, rtt_notes=columns.notes, are_samples=True)
    messages: dict[tuple[str, str], list[Message]] = {}
    own = 0
    for line_number, row in rows:
        place = f"{source}: row {line_number}"
        pair = _ends(row, columns, place)
        if pair[0] == pair[1]:
            own += 1
            continue
        status = "" if columns.status is None else row[columns.status]
        time_us, gbit_s = (_value(row, values, place) for values in (columns.times, columns.rates))
        size = None if columns.size is None else int(parse_number(row[columns.size], place))
        if status.lower() not in _GOOD:
            reason = f"has the status {brief(status)}"
            readings.left_out.append(SkippedPart(place, reason, pair, what="row"))
            continue
        if time_us is None and not gbit_s:
            reason = "has no value" if gbit_s is None else "reports that no data arrived"
            readings.left_out.append(SkippedPart(place, reason, pair, what="row"))
            continue
        if time_us is not None and (size is None or size <= MOST_ROUND_TRIP_BYTES):
            readings.pairs += [
                PairReading(*ends, rtt_us=time_us) for ends in _directions(pair, columns)
            ]
        if gbit_s:
            messages.setdefault(pair, []).append(Message(size or 0, gbit_s=gbit_s))
    readings.pairs += _rates(messages, size_bytes, columns)
    if own:
        readings.notes.append(f"{format_count(own, 'row')} of a host and itself left aside")
    if size_bytes is not None and not any(pair.gbit_s for pair in readings.pairs):
        raise WrongUseError(
            f"{source}: holds no bandwidth of messages of {format_size(size_bytes)}"
        )
    return readings


def _rows(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbered rows from the heading on, skipping blank lines and comments.

    Raises:
        WrongUseError: it is not CSV.
    """
    reader = csv.reader(io.StringIO(text.lstrip("\ufeff"), newline=""), strict=True)
    is_begun = False
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if not is_begun and cells[0].startswith("#"):
                cells[0] = cells[0].lstrip("# ")
                if find_ends(cells, source) is None:
                    continue
            is_begun = True
            yield reader.line_num, cells
    except csv.Error as error:
        raise WrongUseError(f"{source}: row {reader.line_num}: not CSV ({error})") from None


def _ends(row: Sequence[str], columns: Columns, place: str) -> tuple[str, str]:
    values = [each for each in (columns.times, columns.rates) if each is not None]
    last = max(*columns.ends, *(c for each in values for c in each.columns), columns.size or 0)
    last = max(last, columns.status or 0)
    if len(row) <= last:
        raise WrongUseError(f"{place}: has {len(row)} cells, fewer than the heading", _HINT)
    one, other = columns.ends
    return check_host_name(row[one], place), check_host_name(row[other], place)


def _value(row: Sequence[str], values: Values | None, place: str) -> float | None:
    """Return a row's value in µs or Gbit/s, the median of its runs; None if empty."""
    if values is None:
        return None
    cells = [row[column] for column in values.columns]
    known = [_number(cell, values, place) for cell in cells if cell.lower() not in _EMPTY]
    return statistics.median(known) * values.factor if known else None


def _number(cell: str, values: Values, place: str) -> float:
    split = split_quantity(cell)
    if split is None:
        raise WrongUseError(f"{place}: {brief(cell)} is not a number")
    text, behind = split
    parse_number(text, place)
    unit = values.unit
    if behind:
        try:
            own = find_rate_unit(behind) or find_time_unit(behind)
        except WrongUseError as error:
            raise WrongUseError(f"{place}: {error}", error.hint) from None
        if own is None or (unit is not None and type(own) is not type(unit)):
            raise WrongUseError(f"{place}: {brief(cell)} is not a number")
        unit = own
    if unit is None:
        raise WrongUseError(
            f"{place}: neither {values.heading!r} nor {brief(cell)} names a unit",
            "name it in the heading, as in rtt_ms or bandwidth_Gbit_s, or give the unit ms",
        )
    return unit.to_us(text) if isinstance(unit, TimeUnit) else unit.to_gbit_s(float(text))


def _directions(pair: tuple[str, str], columns: Columns) -> list[tuple[str, str]]:
    return [pair, (pair[1], pair[0])] if columns.is_both_ways else [pair]


def _rates(
    messages: dict[tuple[str, str], list[Message]], size_bytes: int | None, columns: Columns
) -> Iterator[PairReading]:
    for pair, of_pair in messages.items():
        fastest = select_bandwidth(of_pair, size_bytes)
        if fastest is None:
            continue
        for one, other in _directions(pair, columns):
            yield PairReading(
                one, other, gbit_s=fastest.gbit_s, size_bytes=fastest.size_bytes or None
            )
