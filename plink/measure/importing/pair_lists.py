"""Import of CSV with one row per measured pair of hosts: times, bandwidths or both.

Columns are known by the words of their headings. Where runs have a column each, that of the average
counts, else that of the median, else the median of the runs. A pair that comes in several rows has
several samples of its time; of its bandwidths the greatest counts. Rows of a host and itself are
left aside, and rows that say that they failed are left out and named.

Tables separated by tabs, semicolons or Markdown bars are converted to CSV. A comma in a number of
such a table is a decimal comma where the table shows that it is: somewhere not three digits follow
it, or nothing but a zero stands before it.

Input that cannot be read raises `WrongUseError`, which names the place.
"""

from __future__ import annotations

import csv
import io
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plink.base.errors import WrongUseError
from plink.base.size import format_size
from plink.base.text import brief, format_count, format_names
from plink.formats.units import RateUnit, TimeUnit, find_rate_unit, find_time_unit, split_quantity
from plink.measure.importing.pairs import (
    MOST_ROUND_TRIP_BYTES,
    Message,
    PairReading,
    Readings,
    SkippedPart,
    check_host_name,
    parse_number,
    parse_whole_number,
    select_bandwidth,
)

_SOURCE = {"source", "src", "from", "origin", "sender", "client"}
_DESTINATION = {"destination", "dest", "dst", "to", "target", "receiver", "server"}
# They are the ends only if nothing else in the heading says which end it is: `dest_server`.
_WEAK_ROLES = {"client", "server"}
_DIRECTED = ((_SOURCE, _DESTINATION), ({"local"}, {"remote"}))
_BOTH_WAYS = (({"a"}, {"b"}), ({"1"}, {"2"}), ({"x"}, {"y"}), ({"i"}, {"j"}))
# What the ends are, those first that name a host best.
_NOUNS = (
    {"host", "hostname", "node", "nodename", "name", "machine", "instance", "vm", "pod", "peer"},
    {"server", "endpoint", "worker", "gpu", "rank", "site", "location", "dc", "datacenter"},
    {"region", "zone", "az", "city", "cluster", "cloud", "provider", "rack", "country"},
    {"ip", "address", "addr", "ipv4", "ipv6", "id"},
)
_ALL_NOUNS = set().union(*_NOUNS)
_SIZES = ("bytes", "size_bytes", "message_bytes", "msg_bytes", "size")
_STATUS = {"status", "state", "success"}
_ROUND_TRIP = {"rtt", "ping", "roundtrip"}
_TIME_WORDS = {*_ROUND_TRIP, "latency", "lat", "delay"}
_ONE_WAY = {"oneway", "owd"}
_AVERAGE = {"avg", "average", "mean"}
_MEDIAN = {"median", "med", "p50", "50th", "typical"}
_RUN = {"iter", "iteration", "run", "trial", "sample", "rep", "repeat", "test", "try"}
_MAXIMUM = {"max", "maximum", "peak", "highest", "worst"}
_EXTREME = {"min", "minimum", "least", "lowest", "best"} | _MAXIMUM
# Headings of a column of times that say no more than its unit or a statistic.
_BARE = {
    *(*_AVERAGE, *_MEDIAN, *_RUN, *_EXTREME, "time", "value", "response"),
    *("ns", "us", "ms", "s", "usec", "msec", "nsec", "sec", "µs", "seconds", "milliseconds"),
}
# How much something varies.
_SPREAD = {
    *("std", "stdev", "stddev", "stdv", "mdev", "dev", "sd", "var", "variance", "jitter", "cv"),
    *("err", "error", "ci", "delta", "diff", "change", "timeout"),
}
# What was promised: it counts for nothing beside what was measured.
_PROMISED = {
    *("expected", "nominal", "theoretical", "limit", "link", "nic", "line", "capacity", "port"),
    *("advertised", "sla", "baseline", "threshold"),
}
_PERCENTILE = re.compile(r"p?[0-9]{1,2}(?:th)?|p[0-9]{1,3}|p99[0-9.]*")
_WORD = re.compile(r"[pP][0-9]{1,4}(?![0-9A-Za-z])|[0-9]+th|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@dataclass(frozen=True)
class Values:
    """Columns of one quantity in a pair list, with the unit and factor to convert them by.

    Args:
        columns: one, or one for every run.
        unit: unit of the numbers; None where only the cells may name it.
        factor: what the numbers are multiplied by (2 for one way of a round trip).
    """

    columns: Sequence[int]
    heading: str
    unit: RateUnit | TimeUnit | None
    factor: float = 1.0


@dataclass(frozen=True)
class Columns:
    """Positions of a pair list's columns: both hosts, times, bandwidths, message size and status.

    Args:
        is_both_ways: whether a row is of both directions.
        notes: what a reader should know of how the headings were understood.
    """

    ends: tuple[int, int]
    is_both_ways: bool
    times: Values | None
    rates: Values | None
    size: int | None
    status: int | None
    notes: Sequence[str] = ()


def split_heading(heading: str) -> list[str]:
    """Split a column's heading into lower-case words: `Avg RTT (ms)` and `avgRttMs` alike."""
    text = " ".join(_WORD.findall(heading)).lower()
    return text.replace("round trip", "roundtrip").replace("one way", "oneway").split()


def find_ends(headings: Sequence[str], source: str) -> tuple[tuple[int, int], bool] | None:
    """Return the two columns that name hosts, and if a row means both directions; or None."""
    words = [split_heading(heading) for heading in headings]
    pairs = [(roles, False) for roles in _DIRECTED] + [(roles, True) for roles in _BOTH_WAYS]
    for roles, is_both_ways in pairs:
        ends = [_find_end_columns(words, role, needs_noun=is_both_ways) for role in roles]
        if not all(ends):
            continue
        for several in ends:
            if len(several) > 1:
                shown = format_names([headings[column] for column in several])
                raise WrongUseError(
                    f"{source}: several columns may name a host of the pair: {shown}",
                    "keep one column for the source and one for the destination",
                )
        return (ends[0][0], ends[1][0]), is_both_ways
    return None


def _find_end_columns(
    words: Sequence[Sequence[str]], roles: set[str], *, needs_noun: bool
) -> list[int]:
    """Return the columns that may name this end of a pair, those whose noun means a host best."""
    columns: dict[int, list[int]] = {}
    for column, own in enumerate(words):
        strong = [word for word in own if word in roles - _WEAK_ROLES]
        role = strong or [word for word in own if word in roles]
        nouns = set(own) - set(role)
        if len(role) != 1 or not nouns <= _ALL_NOUNS or (needs_noun and not nouns):
            continue
        levels = [level for level, known in enumerate(_NOUNS, 1) if known & nouns]
        columns.setdefault(max(levels, default=0), []).append(column)
    return columns[min(columns)] if columns else []


def find_columns(headings: Sequence[str], source: str, unit: RateUnit | TimeUnit | None) -> Columns:
    """Find the columns of hosts, times, bandwidths, sizes and status in a pair list's heading.

    Args:
        unit: unit of numbers whose heading names none; None where none was given.
    """
    ends = find_ends(headings, source)
    if ends is None:
        raise WrongUseError(
            f"{source}: no two columns name the hosts of each pair",
            "add the columns source and destination, with one row per pair",
        )
    places, is_both_ways = ends
    others = [column for column in range(len(headings)) if column not in places]
    folded = [heading.strip().lower() for heading in headings]
    size = next((folded.index(name) for name in _SIZES if name in folded), None)
    status = next(
        (column for column in others if set(split_heading(headings[column]) or [""]) <= _STATUS),
        None,
    )
    others = [column for column in others if column not in (size, status)]
    rates = _find_rates(headings, others, source, unit)
    left = [column for column in others if rates is None or column not in rates.columns]
    times, notes = _find_times(
        headings, left, source, unit, is_alone=rates is None and size is None
    )
    if times is None and rates is None:
        shown = format_names([headings[column] for column in others]) or "nothing else"
        raise WrongUseError(
            f"{source}: no column is a time or a bandwidth; the columns besides the hosts are "
            f"{shown}",
            "name the unit in the heading, as in rtt_ms or bandwidth_Gbit_s, or give the unit ms",
        )
    is_time = isinstance(unit, TimeUnit)
    if unit is not None and (times if is_time else rates) is None:
        quantity = "time" if is_time else "bandwidth"
        raise WrongUseError(
            f"{source}: no column is a {quantity}, but the unit {unit.name} was given"
        )
    return Columns(places, is_both_ways, times, rates, size, status, notes)


def _find_rates(
    headings: Sequence[str], columns: Sequence[int], source: str, given: RateUnit | TimeUnit | None
) -> Values | None:
    own = given if isinstance(given, RateUnit) else None
    units: dict[int, RateUnit | None] = {}
    for column in _select_measured_columns(headings, columns):
        words = set(split_heading(headings[column]))
        try:
            unit = find_rate_unit(headings[column])
        except WrongUseError as error:
            if own is None:
                raise WrongUseError(f"{source}: {error}", error.hint) from None
            unit = own
        if unit is not None:
            units[column] = unit
        elif words & {"bandwidth", "bw", "throughput", "busbw", "bitrate", "goodput"}:
            units[column] = own
    with_unit = {column: unit for column, unit in units.items() if unit is not None}
    chosen = _choose_columns(headings, list(with_unit or units), source)
    if not chosen:
        return None
    heading, unit = headings[chosen[0]], units[chosen[0]]
    if own is not None and unit is not None and own.bits_s != unit.bits_s:
        raise _build_unit_error(source, heading, unit, own)
    return Values(chosen, heading, unit)


def _find_times(
    headings: Sequence[str],
    columns: Sequence[int],
    source: str,
    given: RateUnit | TimeUnit | None,
    *,
    is_alone: bool,
) -> tuple[Values | None, list[str]]:
    """Return the time columns, found by name or else by unit, and notes on their meaning."""
    own = given if isinstance(given, TimeUnit) else None
    strong: dict[int, TimeUnit | None] = {}
    weak: dict[int, TimeUnit | None] = {}
    for column in _select_measured_columns(headings, columns):
        words = set(split_heading(headings[column]))
        if _is_rate(headings[column]):
            continue
        unit = find_time_unit(headings[column]) or own
        if words & (_TIME_WORDS | _ONE_WAY):
            strong[column] = unit
        elif unit is not None and is_alone and words <= _BARE | {w for w in words if w.isdigit()}:
            weak[column] = unit
    units = strong or weak
    chosen = _choose_columns(headings, list(units), source)
    if not chosen:
        return None, []
    heading, unit = headings[chosen[0]], units[chosen[0]]
    if own is not None and unit is not None and own.name != unit.name:
        raise _build_unit_error(source, heading, unit, own)
    words = set(split_heading(heading))
    if words & _ONE_WAY:
        return Values(chosen, heading, unit, 2.0), [f"{heading} is one way: doubled"]
    notes = [] if words & _ROUND_TRIP else [f"{heading} is taken for round-trip times"]
    return Values(chosen, heading, unit), notes


def _build_unit_error(
    source: str, heading: str, unit: RateUnit | TimeUnit, given: RateUnit | TimeUnit
) -> WrongUseError:
    return WrongUseError(
        f"{source}: the column {heading!r} says {unit.name}, but the unit {given.name} was given"
    )


def _select_measured_columns(headings: Sequence[str], columns: Sequence[int]) -> list[int]:
    """Return the columns except spreads (stdev), and except nominal speeds if others are left."""
    kept = [column for column in columns if not _SPREAD & set(split_heading(headings[column]))]
    return [c for c in kept if not _PROMISED & set(split_heading(headings[c]))] or kept


def _is_rate(heading: str) -> bool:
    """Return whether a heading has a unit of bandwidth, even an ambiguous one."""
    try:
        return find_rate_unit(heading) is not None
    except WrongUseError:
        return True


def _choose_columns(headings: Sequence[str], columns: Sequence[int], source: str) -> list[int]:
    """Choose the column of a quantity: average, else median, else plain values, else all runs."""
    words = {column: set(split_heading(headings[column])) for column in columns}
    # Of NCCL's: what the links carry, out of place.
    for better, worse in (("busbw", "algbw"), ("oop", "ip")):
        if any(better in own for own in words.values()):
            words = {column: own for column, own in words.items() if worse not in own}
    runs = [column for column, own in words.items() if _RUN & own and any(map(str.isdigit, own))]
    kinds = [
        [column for column, own in words.items() if _AVERAGE & own],
        [column for column, own in words.items() if _MEDIAN & own],
        [column for column, own in words.items() if not _is_statistic(own) and column not in runs],
    ]
    left = next((kind for kind in kinds if kind), [])
    if not left and runs:
        names = [headings[column] for column in runs]
        if len({(str(find_time_unit(name)), str(find_rate_unit(name))) for name in names}) > 1:
            raise WrongUseError(
                f"{source}: the columns of runs are in several units: {format_names(names)}"
            )
        return runs
    left = left or list(words)
    if len(left) > 1:
        raise WrongUseError(
            f"{source}: several columns may hold the values: "
            f"{format_names([headings[c] for c in left])}",
            "keep only the column to import",
        )
    return left


def _is_statistic(words: set[str]) -> bool:
    return bool((_AVERAGE | _MEDIAN | _EXTREME) & words) or any(
        _PERCENTILE.fullmatch(word) and not word.isdigit() for word in words
    )


def _compare_percentile(times: Values | None, percentile: float) -> list[str]:
    """Return a note if the heading of times names another percentile than they count as."""
    named = None if times is None else _find_percentile(split_heading(times.heading))
    if times is None or named in (None, percentile):
        return []
    return [f"{times.heading} names percentile {named:g}, but is imported as {percentile:g}"]


def _find_percentile(words: Sequence[str]) -> float | None:
    """Return the percentile that a heading's words name, 100 for a maximum; None without one."""
    for word in words:
        if word in _MEDIAN:
            return 50.0
        if word in _MAXIMUM:
            return 100.0
        if match := re.fullmatch(r"p([0-9]{1,2})([0-9]*)|([0-9]{1,2})th", word):
            return 100.0 if word == "p100" else float(match[3] or f"{match[1]}.{match[2]}")
    return None


_MOST_HEADING = 1 << 16
_RULE = re.compile(r"\|?(?:[ \t]*:?-+:?[ \t]*\|)*[ \t]*:?-+:?[ \t]*\|?[ \t]*")
_WITH_COMMA = re.compile(r"[0-9]{1,18},[0-9]{1,18}")
_DECIMAL = re.compile(r"0,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})")


def as_csv(text: str, source: str) -> str:
    """Convert a table separated by tabs, semicolons or Markdown bars to CSV; keep CSV as it is."""
    rows = _split_table(text, source)
    if rows is None:
        return text
    rows = [[cell.strip() for cell in row] for row in rows]
    with_comma = [cell for row in rows for cell in row if _WITH_COMMA.fullmatch(cell)]
    if with_comma and not any(_DECIMAL.fullmatch(cell) for cell in with_comma):
        raise WrongUseError(
            f"{source}: the comma of {with_comma[0]} may be a decimal point or separate thousands",
            f"write {with_comma[0].replace(',', '.')} or {with_comma[0].replace(',', '')}",
        )
    rows = [
        [cell.replace(",", ".") if _WITH_COMMA.fullmatch(cell) else cell for cell in row]
        for row in rows
    ]
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def _split_table(text: str, source: str) -> list[list[str]] | None:
    """Return the rows of a table separated by tabs, semicolons or bars; None for other text."""
    beginning = text[:_MOST_HEADING].splitlines()
    headings = (line.strip() for line in beginning if line.strip() and not line.startswith("#"))
    heading = next(headings, "")
    separator = next((each for each in "\t;" if each in heading and "," not in heading), None)
    if separator is None and "|" not in text:
        return None
    lines = text.splitlines()
    rules = [
        line_number
        for line_number, line in enumerate(lines)
        if line_number
        and "-" in line
        and "|" in lines[line_number - 1]
        and len(line) <= _MOST_HEADING
        and set(line.strip()) <= set("|:- \t")
        and _RULE.fullmatch(line.strip())
    ]
    if len(rules) > 1:
        raise WrongUseError(
            f"{source}: holds {format_count(len(rules), 'table')}, expected one",
            "put each table into a file of its own",
        )
    if rules:
        # Blank lines stay, so that a row keeps its number.
        rows: list[list[str]] = [[] for _ in range(rules[0] - 1)]
        for line_number in range(rules[0] - 1, len(lines)):
            line = lines[line_number].strip()
            if "|" not in line:
                break
            cells = line.removeprefix("|").removesuffix("|").split("|")
            # Without emphasis and code marks.
            bare = [cell.strip().strip("*`").strip() for cell in cells]
            rows.append([] if line_number == rules[0] else bare)
        return rows
    if separator is None:
        return None
    if '"' in text:
        return list(csv.reader(lines, delimiter=separator))
    return [line.split(separator) for line in lines]


TOOL = "import"
_HINT = "expected columns: source, destination, bytes and gbit_s or rtt_ms"
_EMPTY = {"", "-", "--", "n/a", "na", "nan", "null", "none", "timeout", "failed", "error", "x"}
_GOOD = {
    *("", "ok", "success", "successful", "succeeded", "pass", "passed", "done", "complete"),
    *("completed", "finished", "true", "yes", "up", "1"),
}


def is_pair_list(text: str) -> bool:
    """Return whether a CSV text is a pair list (its heading names two host columns), no matrix."""
    rows = _iterate_rows(text[: 2 * _MOST_HEADING], "")
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


def read_pair_list(
    text: str,
    source: str,
    size_bytes: int | None,
    unit: RateUnit | TimeUnit | None,
    percentile: float,
) -> Readings:
    """Parse a CSV table with one row per pair.

    Args:
        unit: unit of the numbers whose heading names none.
        percentile: percentile that the times count as.
    """
    rows = _iterate_rows(text, source)
    headings = next(rows)[1]
    columns = find_columns(headings, source, unit)
    if size_bytes is not None and columns.size is None:
        raise WrongUseError(
            f"{source}: has no column of message sizes, so {{size}} cannot select rows",
            _HINT,
            arguments={"size": size_bytes},
        )
    notes = [*columns.notes, *_compare_percentile(columns.times, percentile)]
    readings = Readings(TOOL, rtt_notes=notes, are_samples=True)
    messages: dict[tuple[str, str], list[Message]] = {}
    own = 0
    for line_number, row in rows:
        place = f"{source}: row {line_number}"
        _check_width(row, len(headings), place)
        pair = _read_ends(row, columns, place)
        if pair[0] == pair[1]:
            own += 1
            continue
        status = "" if columns.status is None else row[columns.status]
        time_us, gbit_s = (
            _read_value(row, values, place) for values in (columns.times, columns.rates)
        )
        size = None if columns.size is None else parse_whole_number(row[columns.size], place)
        why_skipped = None
        if status.lower() not in _GOOD:
            why_skipped = f"has the status {brief(status)}"
        elif time_us is None and not gbit_s:
            why_skipped = "has no value" if gbit_s is None else "reports that no data arrived"
        if why_skipped is not None:
            readings.left_out.append(SkippedPart(place, why_skipped, pair, run_or_row="row"))
            continue
        if time_us is not None and (size is None or size <= MOST_ROUND_TRIP_BYTES):
            readings.pairs += [
                PairReading(*ends, rtt_us=time_us) for ends in _list_directions(pair, columns)
            ]
        if gbit_s:
            messages.setdefault(pair, []).append(Message(size or 0, gbit_s=gbit_s))
    readings.pairs += _select_rates(messages, size_bytes, columns)
    if own:
        readings.notes.append(f"{format_count(own, 'row')} of a host and itself left aside")
    if size_bytes is not None and not any(pair.gbit_s for pair in readings.pairs):
        raise WrongUseError(
            f"{source}: no row has a bandwidth of messages of {format_size(size_bytes)}"
        )
    return readings


def _iterate_rows(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each CSV row from the heading on, without blank rows."""
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


def _check_width(row: Sequence[str], width: int, place: str) -> None:
    """Raise WrongUseError for a row that goes on after the last column, as `n1,n2,0,21` does."""
    if any(row[width:]):
        raise WrongUseError(
            f"{place}: the row has {len(row)} cells, more than the heading, which has {width}",
            "write decimal points, not commas, and put a cell with a comma in quotation marks",
        )


def _read_ends(row: Sequence[str], columns: Columns, place: str) -> tuple[str, str]:
    values = [each for each in (columns.times, columns.rates) if each is not None]
    measured = [column for each in values for column in each.columns]
    if len(row) <= max(*columns.ends, *measured, columns.size or 0, columns.status or 0):
        raise WrongUseError(f"{place}: the row has {len(row)} cells, fewer than the heading", _HINT)
    one, other = columns.ends
    return check_host_name(row[one], place), check_host_name(row[other], place)


def _read_value(row: Sequence[str], values: Values | None, place: str) -> float | None:
    """Return a row's value in µs or Gbit/s, the median of its run columns; None if empty."""
    if values is None:
        return None
    cells = [row[column] for column in values.columns]
    known = [_parse_quantity(cell, values, place) for cell in cells if cell.lower() not in _EMPTY]
    return statistics.median(known) * values.factor if known else None


def _parse_quantity(cell: str, values: Values, place: str) -> float:
    split = split_quantity(cell)
    if split is None:
        parse_number(cell, place)
        raise WrongUseError(f"{place}: {brief(cell)} is not a number")
    text, behind = split
    parse_number(text if behind[:1] != "," else cell, place)
    unit = values.unit
    if behind:
        try:
            own = find_rate_unit(behind) or find_time_unit(behind)
        except WrongUseError as error:
            raise WrongUseError(f"{place}: {error}", error.hint) from None
        if own is None:
            raise WrongUseError(f"{place}: {brief(behind)} in {brief(cell)} is not a known unit")
        if unit is not None and type(own) is not type(unit):
            raise WrongUseError(
                f"{place}: the unit of {brief(cell)} does not fit the column {values.heading!r}"
            )
        unit = own
    if unit is None:
        raise WrongUseError(
            f"{place}: neither {values.heading!r} nor {brief(cell)} names a unit",
            "name it in the heading, as in rtt_ms or bandwidth_Gbit_s, or give the unit ms",
        )
    return unit.to_us(text) if isinstance(unit, TimeUnit) else unit.to_gbit_s(float(text))


def _list_directions(pair: tuple[str, str], columns: Columns) -> list[tuple[str, str]]:
    return [pair, (pair[1], pair[0])] if columns.is_both_ways else [pair]


def _select_rates(
    messages: dict[tuple[str, str], list[Message]], size_bytes: int | None, columns: Columns
) -> Iterator[PairReading]:
    for pair, of_pair in messages.items():
        fastest = select_bandwidth(of_pair, size_bytes)
        if fastest is None:
            continue
        for one, other in _list_directions(pair, columns):
            yield PairReading(
                one, other, gbit_s=fastest.gbit_s, size_bytes=fastest.size_bytes or None
            )
