"""CSV in long form: a row for every measurement of the bandwidth of a pair of hosts.

The heading names the columns: `source` and `destination`, or `node_a` and `node_b` (or `host_a`
and `host_b`) where both directions are alike; one that has `gbit_s` in its name, or `GBps`, which
is 10^9 bytes a second; and perhaps `bytes`, the size of the messages. Others are not looked at.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plink.base.errors import WrongUseError
from plink.base.size import format_size
from plink.files.cluster import Cluster
from plink.measure.importing.messages import Message, bandwidth_of
from plink.measure.importing.pairs import PairReading, checked_name, cluster_of, number, text_of

TOOL = "import"
_ONE_WAY = (("source", "destination"),)
_BOTH_WAYS = (("node_a", "node_b"), ("host_a", "host_b"))
_SIZES = ("bytes", "size_bytes", "message_bytes")
_GBIT_PER = {"gbit_s": 1.0, "gbps": 8.0}
_HINT = "its columns are source, destination, bytes and gbit_s"


@dataclass(frozen=True)
class _Columns:
    ends: tuple[int, int]
    is_both_ways: bool
    rate: int
    gbit_per_unit: float
    size: int | None


def is_pair_list(content: bytes) -> bool:
    """Whether a file is such a list: its first line names what it takes."""
    first = content.lstrip().split(b"\n", 1)[0].decode("utf-8-sig", errors="replace")
    return _columns(first.strip().split(",")) is not None


def import_pair_list(
    content: bytes, source: str, percentile: float, size_bytes: int | None = None
) -> Cluster:
    """The greatest bandwidth of every pair, or that of messages of one size.

    Args:
        content: of the file.
        source: what errors call it.
        percentile: not used, since there are no round-trip times.
        size_bytes: of the messages whose bandwidth counts; None for any.

    Raises:
        WrongUseError: a row that is not understood, or no row of that size.
    """
    reader = csv.reader(io.StringIO(text_of(content, source).lstrip(), newline=""), strict=True)
    try:
        columns = _columns(next(reader))
        if columns is None:
            raise WrongUseError(f"{source}: the heading does not name a list of pairs", _HINT)
        if size_bytes is not None and columns.size is None:
            raise WrongUseError(f"{source}: does not tell sizes apart, so a size has no use", _HINT)
        by_pair: dict[tuple[str, str], list[Message]] = {}
        for row in reader:
            if any(row):
                pair, message = _read(row, columns, f"{source}: row {reader.line_num}")
                by_pair.setdefault(pair, []).append(message)
    except csv.Error as error:
        raise WrongUseError(f"{source}: row {reader.line_num}: not CSV ({error})") from None
    readings = list(_readings(by_pair, size_bytes, is_both_ways=columns.is_both_ways))
    if size_bytes is not None and not readings:
        raise WrongUseError(
            f"{source}: holds no bandwidth of messages of {format_size(size_bytes)}"
        )
    return cluster_of(readings, source, tool=TOOL, percentile=percentile)


def _columns(heading: Sequence[str]) -> _Columns | None:
    names = [name.strip().lower() for name in heading]
    rates = [(name, _rate_unit(name)) for name in names if _rate_unit(name) is not None]
    if not rates:
        return None
    rate, unit = rates[0]
    size = next((names.index(name) for name in _SIZES if name in names), None)
    for one, other in (*_ONE_WAY, *_BOTH_WAYS):
        if one in names and other in names:
            return _Columns(
                ends=(names.index(one), names.index(other)),
                is_both_ways=(one, other) in _BOTH_WAYS,
                rate=names.index(rate),
                gbit_per_unit=unit or 1.0,
                size=size,
            )
    return None


def _rate_unit(name: str) -> float | None:
    """The Gbit/s of a column's unit; None where it holds no bandwidth."""
    return next((factor for unit, factor in _GBIT_PER.items() if unit in name), None)


def _read(row: Sequence[str], columns: _Columns, place: str) -> tuple[tuple[str, str], Message]:
    cells = [cell.strip() for cell in row]
    if len(cells) <= max(*columns.ends, columns.rate, columns.size or 0):
        raise WrongUseError(f"{place}: has {len(cells)} cells, fewer than the heading", _HINT)
    one, other = (checked_name(cells[end], place) for end in columns.ends)
    if one == other:
        raise WrongUseError(f"{place}: both hosts are {one}")
    gbit_s = number(cells[columns.rate], place) * columns.gbit_per_unit
    size_bytes = 0 if columns.size is None else int(number(cells[columns.size], place))
    return (one, other), Message(size_bytes, gbit_s=gbit_s)


def _readings(
    by_pair: dict[tuple[str, str], list[Message]], size_bytes: int | None, *, is_both_ways: bool
) -> Iterator[PairReading]:
    for (one, other), messages in by_pair.items():
        fastest = bandwidth_of(messages, size_bytes)
        if fastest is None:
            continue
        for source, destination in ((one, other), (other, one))[: 2 if is_both_ways else 1]:
            yield PairReading(
                source, destination, gbit_s=fastest.gbit_s, size_bytes=fastest.size_bytes or None
            )
