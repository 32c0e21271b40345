"""Recognition of the columns of a pair list by heading: ends, times, bandwidths and sizes.

Columns are known by the words of their headings. Where runs have a column each, that of the average
counts, else that of the median, else the median of the runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from plink.base.errors import WrongUseError
from plink.base.text import format_names
from plink.formats.units import RateUnit, TimeUnit, find_rate_unit, find_time_unit

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
_EXTREME = {
    "min",
    "minimum",
    "least",
    "lowest",
    "best",
    "max",
    "maximum",
    "peak",
    "highest",
    "worst",
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
    """Columns of one quantity in a list of pairs, with their unit and a factor.

    Args:
        columns: one, or one for every run.
        heading: heading of the first column.
        unit: unit of the numbers; None where only the cells may name it.
        factor: what the numbers are multiplied by (2 for one way of a round trip).
    """

    columns: Sequence[int]
    heading: str
    unit: RateUnit | TimeUnit | None
    factor: float = 1.0


@dataclass(frozen=True)
class Columns:
    """Columns of a list of pairs, by their meaning.

    Args:
        is_both_ways: whether a row is of both directions.
        times, rates: None where there are none.
        size: column of message sizes, or None.
        status: column that says whether a row was measured, or None.
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
    """Return a heading's words in lower case: `Avg RTT (ms)`, `avg_rtt_ms` and `avgRttMs` alike."""
    return [word.lower() for word in _WORD.findall(heading)]


def find_ends(headings: Sequence[str], source: str) -> tuple[tuple[int, int], bool] | None:
    """Return the two host columns, and whether a row means both directions; None if none are found.

    Raises:
        WrongUseError: several columns may be an end.
    """
    words = [split_heading(heading) for heading in headings]
    pairs = [(roles, False) for roles in _DIRECTED] + [(roles, True) for roles in _BOTH_WAYS]
    for (first, second), is_both_ways in pairs:
        one = _end_columns(words, first, needs_noun=is_both_ways)
        other = _end_columns(words, second, needs_noun=is_both_ways)
        for several in (one, other):
            if one and other and len(several) > 1:
                shown = format_names([headings[column] for column in several], 3)
                raise WrongUseError(
                    f"{source}: several columns may name a host of the pair: {shown}",
                    "keep one column for the source and one for the destination",
                )
        if one and other:
            return (one[0], other[0]), is_both_ways
    return None


def _end_columns(words: Sequence[Sequence[str]], roles: set[str], *, needs_noun: bool) -> list[int]:
    """Return the columns that may name a pair's source or destination."""
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
    """Return the columns of a list of pairs by their headings.

    Args:
        unit: unit of numbers whose heading names none; None where none was given.

    Raises:
        WrongUseError: no ends, nothing measured, no unit, or one that may be two.
    """
    ends = find_ends(headings, source)
    if ends is None:
        raise WrongUseError(
            f"{source}: names no hosts",
            "add the columns source and destination, with one row per pair",
        )
    places, is_both_ways = ends
    others = [column for column in range(len(headings)) if column not in places]
    folded = [heading.strip().lower() for heading in headings]
    size = next((folded.index(name) for name in _SIZES if name in folded), None)
    status = next(
        (column for column in others if set(split_heading(headings[column])) <= _STATUS), None
    )
    others = [column for column in others if column not in (size, status)]
    rates = _rates(headings, others, source, unit)
    left = [column for column in others if rates is None or column not in rates.columns]
    times, notes = _times(headings, left, source, unit, is_alone=rates is None and size is None)
    if times is None and rates is None:
        shown = format_names([headings[column] for column in others], 3) or "nothing else"
        raise WrongUseError(
            f"{source}: no column is a time or a bandwidth; the columns besides the hosts are "
            f"{shown}",
            "name the unit in the heading, as in rtt_ms or bandwidth_Gbit_s, or give the unit ms",
        )
    if isinstance(unit, TimeUnit) and times is None:
        raise WrongUseError(f"{source}: no column is a time, but the unit {unit.name} was given")
    if isinstance(unit, RateUnit) and rates is None:
        raise WrongUseError(
            f"{source}: no column is a bandwidth, but the unit {unit.name} was given"
        )
    return Columns(places, is_both_ways, times, rates, size, status, notes)


def _rates(
    headings: Sequence[str], columns: Sequence[int], source: str, given: RateUnit | TimeUnit | None
) -> Values | None:
    kept = _measured_columns(headings, columns)
    own = given if isinstance(given, RateUnit) else None
    units: dict[int, RateUnit | None] = {}
    for column in kept:
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
    unit = units[chosen[0]]
    if own is not None and unit is not None and own.bits_s != unit.bits_s:
        raise WrongUseError(
            f"{source}: {headings[chosen[0]]!r} says {unit.name}, but the unit {own.name} was given"
        )
    return Values(chosen, headings[chosen[0]], unit)


def _times(
    headings: Sequence[str],
    columns: Sequence[int],
    source: str,
    given: RateUnit | TimeUnit | None,
    *,
    is_alone: bool,
) -> tuple[Values | None, list[str]]:
    """Return the time columns: by their names or, failing that, by their units."""
    own = given if isinstance(given, TimeUnit) else None
    strong: dict[int, TimeUnit | None] = {}
    weak: dict[int, TimeUnit | None] = {}
    for column in _measured_columns(headings, columns):
        words = set(split_heading(headings[column]))
        if _is_rate(headings[column]):
            continue
        unit = find_time_unit(headings[column]) or own
        if _is_time(words):
            strong[column] = unit
        elif unit is not None and is_alone and _is_bare(words):
            weak[column] = unit
    units = strong or weak
    chosen = _choose_columns(headings, list(units), source)
    if not chosen:
        return None, []
    heading = headings[chosen[0]]
    unit = units[chosen[0]]
    named_unit = find_time_unit(heading)
    if own is not None and named_unit is not None and own.name != named_unit.name:
        raise WrongUseError(
            f"{source}: {heading!r} says {named_unit.name}, but the unit {own.name} was given"
        )
    words = set(split_heading(heading))
    if words & _ONE_WAY or {"one", "way"} <= words:
        return Values(chosen, heading, unit, 2.0), [f"{heading} is one way: doubled"]
    is_plain = bool(words & _ROUND_TRIP) or {"round", "trip"} <= words
    notes = [] if is_plain else [f"{heading} is taken for round-trip times"]
    return Values(chosen, heading, unit), notes


def _is_time(words: set[str]) -> bool:
    """Return whether a heading names a latency or a round-trip time."""
    is_two_words = {"round", "trip"} <= words or {"one", "way"} <= words
    return bool(words & (_TIME_WORDS | _ONE_WAY)) or is_two_words


def _measured_columns(headings: Sequence[str], columns: Sequence[int]) -> list[int]:
    """Return the columns of measured values, excluding spreads and nominal speeds."""
    kept = [column for column in columns if not _SPREAD & set(split_heading(headings[column]))]
    return [c for c in kept if not _PROMISED & set(split_heading(headings[c]))] or kept


def _is_rate(heading: str) -> bool:
    """Return whether a heading has a unit of bandwidth, even an ambiguous one."""
    try:
        return find_rate_unit(heading) is not None
    except WrongUseError:
        return True


def _is_bare(words: set[str]) -> bool:
    """Return whether a heading has only a unit, `time`, or a statistic such as `avg`."""
    kinds = {*_AVERAGE, *_MEDIAN, *_RUN, *_EXTREME, "time", "value", "response"}
    units = {"ns", "us", "ms", "s", "usec", "msec", "nsec", "sec", "µs", "seconds", "milliseconds"}
    return all(word in kinds or word in units or word.isdigit() for word in words)


def _choose_columns(headings: Sequence[str], columns: Sequence[int], source: str) -> list[int]:
    """Return the columns to use for a quantity: one, or one for every run.

    Raises:
        WrongUseError: several may be meant.
    """
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
        _refuse_mixed_units([headings[column] for column in runs], source)
        return runs
    left = left or list(words)
    if len(left) > 1:
        raise WrongUseError(
            f"{source}: several columns may hold the values: "
            f"{format_names([headings[c] for c in left], 3)}",
            "keep only the column to import",
        )
    return left


def _refuse_mixed_units(headings: Sequence[str], source: str) -> None:
    units = {(str(find_time_unit(each)), str(find_rate_unit(each))) for each in headings}
    if len(units) > 1:
        raise WrongUseError(f"{source}: runs are in several units: {format_names(headings, 3)}")


def _is_statistic(words: set[str]) -> bool:
    return bool((_AVERAGE | _MEDIAN | _EXTREME) & words) or any(
        _PERCENTILE.fullmatch(word) and not word.isdigit() for word in words
    )
