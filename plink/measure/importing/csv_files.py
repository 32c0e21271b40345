"""CSV: a matrix of round-trip times, or a row for every measurement of a pair's bandwidth.

The heading of rows names the columns: `source` and `destination`, or `node_a` and `node_b` (or
`host_a` and `host_b`) where both directions are alike; one that has `gbit_s` in its name, or
`GBps`, which is 10^9 bytes a second; and perhaps `bytes`, the size of the messages. Others are not
looked at.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.size import format_size
from plink.files import document, matrix_csv
from plink.files.cluster import Cluster, Host
from plink.files.rtt import RttMeasurement
from plink.measure.importing.pairs import (
    Message,
    PairReading,
    bandwidth_of,
    checked_name,
    cluster_of,
    number,
    text_of,
)

TOOL = "import"
# A heading that names columns is shorter.
_MAX_HEADING = 1 << 16
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


def import_matrix(content: bytes, source: str, *, unit: str | None, percentile: float) -> Cluster:
    """The cluster in a CSV text. How often a pair was measured is not known: once, say.

    Args:
        content: the CSV text (`matrix_csv.parse`).
        source: what errors call it.
        unit: the unit of the numbers where the text names none, in any spelling.
        percentile: which percentile of a pair's samples the numbers are.

    Raises:
        WrongUseError: the text is not such a matrix.
    """
    if content[:4096].lstrip().startswith(b"{"):
        hint = "plink show and plink order take plink's own files as they are"
        raise WrongUseError(f"{source}: is JSON, not CSV", hint)
    given = None if unit is None else matrix_csv.unit_named(unit)
    matrix = matrix_csv.parse(content, source, given)
    return Cluster(
        # No address is known; the name is the best guess there is.
        hosts=[Host(name=name, address=name) for name in matrix.names],
        rtt=RttMeasurement(
            rtt_us={percentile: matrix.rtt_us},
            reading=percentile,
            samples=np.isfinite(matrix.rtt_us).view(np.int8),
            losses=np.zeros(matrix.rtt_us.shape, dtype=np.int8),
            tool="import",
            options={"unit": matrix.unit},
            notes=matrix.notes,
        ),
        made_from=document.digest(content),
    )


def is_pair_list(content: bytes) -> bool:
    """Whether a file is such a list: its first line names what it takes."""
    first = content[:_MAX_HEADING].lstrip().split(b"\n", 1)[0].decode("utf-8-sig", errors="replace")
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
            raise WrongUseError(
                f"{source}: does not tell sizes apart, so that no size can be chosen", _HINT
            )
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
