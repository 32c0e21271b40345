"""Import of mpiGraph's tables of send and receive bandwidths (LLNL/mpiGraph, mpiGraph.c).

A table begins with `Recv` (or `Send`) and the columns `host:rank`; a row with `host:rank from`
(or `to`). Its MB are 2^20 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.measure.importing.pairs import (
    MAX_HOSTS,
    PairReading,
    Readings,
    check_host_name,
    parse_number,
)

TOOL = "mpiGraph"
_START = "START mpiGraph"
_GBIT_PER_MB = (1 << 20) * 8 / 1e9
HINT = "keep all of mpiGraph's output, whose tables come last, and start one task per host"


def is_mpigraph(text: str) -> bool:
    """Return whether a text is mpiGraph's output."""
    return _START in text[:4096]


def read_mpigraph(text: str, source: str, size_bytes: int | None = None) -> Readings:
    """Return the bandwidths in mpiGraph's output, which has no times.

    Raises:
        WrongUseError: there is no whole table, several tasks ran on a host, or a size is asked for.
    """
    if size_bytes is not None:
        hint = "mpiGraph measures one message size, which is set when it runs"
        raise WrongUseError(
            f"{source}: has results of one message size only, so {{size}} cannot be chosen",
            hint,
            arguments={"size": size_bytes},
        )
    lines = text.split("\n")
    # What the destination received counts; the sender may only have filled buffers.
    for title, word in (("Recv", "from"), ("Send", "to")):
        for index, line in enumerate(lines):
            cells = line.split()
            if cells[:1] == [title] and len(cells) > 1 and ":" in cells[1]:
                place = f"{source}:{index + 1}"
                names = _names(cells[1:], place)
                rows = lines[index + 1 : index + len(cells)]
                return Readings(TOOL, list(_readings(names, rows, word, place)), hosts=names)
    raise WrongUseError(f"{source}: holds no table of bandwidths", HINT)


def _names(columns: Sequence[str], place: str) -> list[str]:
    if len(columns) > MAX_HOSTS:
        raise WrongUseError(f"{place}: more than {MAX_HOSTS:,} hosts")
    names = [_name(cell, rank, place) for rank, cell in enumerate(columns)]
    if len(set(names)) < len(names):
        raise WrongUseError(f"{place}: several tasks ran on a host", HINT)
    return names


def _readings(
    names: Sequence[str], rows: Sequence[str], word: str, place: str
) -> Iterator[PairReading]:
    if len(rows) < len(names):
        raise WrongUseError(f"{place}: the table is cut short", HINT)
    for one, row in enumerate(rows):
        cells = row.split()
        if cells[:2] != [f"{names[one]}:{one}", word] or len(cells) != len(names) + 2:
            raise WrongUseError(f"{place}: row {one + 1} of the table is not understood", HINT)
        for other, cell in enumerate(cells[2:]):
            gbit_s = parse_number(cell, place) * _GBIT_PER_MB
            if other != one:
                source, destination = (other, one) if word == "from" else (one, other)
                yield PairReading(names[source], names[destination], gbit_s=gbit_s)


def _name(cell: str, rank: int, place: str) -> str:
    name, _, number_text = cell.rpartition(":")
    if number_text != str(rank):
        raise WrongUseError(f"{place}: {brief(cell)} is not a host with the number {rank}", HINT)
    return check_host_name(name, place)
