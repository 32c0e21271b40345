"""Logs of OSU's osu_latency, osu_bw and osu_bibw, each run between two hosts.

OSU micro-benchmarks do not print where they ran, so a line `# pair: A B` (rank 0, rank 1) stands
in front of each. osu_latency prints half of a round trip (README, `osu_latency`), osu_bw what rank
0 sends to rank 1, osu_bibw the sum of both directions; its MB are 10^6 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from plink.base.errors import WrongUseError
from plink.base.size import format_size
from plink.files.cluster import Cluster
from plink.measure.importing.pairs import (
    Message,
    PairReading,
    bandwidth_of,
    checked_name,
    cluster_of,
    number,
    round_trip_us,
    text_of,
)

TOOL = "osu"
_GBIT_PER_MB = 8e6 / 1e9
_PAIR = re.compile(r"#\s*pair:?\s+(\S+)\s+(\S+)\s*", re.IGNORECASE)
_TITLE = re.compile(r"#\s*OSU MPI(?:-\w+)?\s+(.*?)\s*Test\b.*")
_KINDS = {
    "latency": "latency",
    "bandwidth": "bandwidth",
    "bi-directional bandwidth": "both",
    "bidirectional bandwidth": "both",
}
_NOTE = "the times are twice the latencies that OSU averaged over many messages"
_HINT = "put a line `# pair: HOST0 HOST1` in front of the output of each run"


@dataclass
class _OsuRun:
    """One run: what it measured, between whom, and its rows."""

    kind: str
    source: str
    destination: str
    place: str
    rows: list[Message] = field(default_factory=list)


def is_osu(content: bytes) -> bool:
    """Whether a file is a log of OSU's benchmarks."""
    return b"# OSU MPI" in content


def import_osu(
    content: bytes, source: str, percentile: float, size_bytes: int | None = None
) -> Cluster:
    """Times of the least size where that is small, and bandwidths.

    Args:
        content: of the log.
        source: what errors call it.
        percentile: the percentile that the times stand for.
        size_bytes: of the messages whose bandwidth counts; None for the greatest of any size.

    Raises:
        WrongUseError: a run without its pair, of another benchmark, without rows, or without that
            size.
    """
    runs = _runs(text_of(content, source), source)
    readings = [reading for run in runs for reading in _readings(run, size_bytes)]
    return cluster_of(readings, source, tool=TOOL, percentile=percentile, rtt_notes=[_NOTE])


def _runs(text: str, source: str) -> Sequence[_OsuRun]:
    runs: list[_OsuRun] = []
    pair: tuple[str, str] | None = None
    is_open = False
    for line_number, line in enumerate(text.split("\n"), start=1):
        place = f"{source}:{line_number}"
        if found := _PAIR.fullmatch(line.strip()):
            pair = checked_name(found[1], place), checked_name(found[2], place)
            if pair[0] == pair[1]:
                raise WrongUseError(f"{place}: both hosts are {pair[0]}", _HINT)
            is_open = False
        elif found := _TITLE.fullmatch(line.strip()):
            kind = _KINDS.get(found[1].lower())
            if kind is None:
                hint = "plink reads osu_latency, osu_bw and osu_bibw"
                raise WrongUseError(f"{place}: {found[1][:60]!r} is not a test of a pair", hint)
            if pair is None:
                raise WrongUseError(f"{place}: it is not said which hosts this run was on", _HINT)
            runs.append(_OsuRun(kind, *pair, place))
            is_open = True
        elif is_open and line[:1].isdigit():
            cells = line.split()
            if len(cells) < 2:
                raise WrongUseError(f"{place}: the line is cut short")
            runs[-1].rows.append(_row(runs[-1].kind, cells, place))
    return runs


def _row(kind: str, cells: Sequence[str], place: str) -> Message:
    size_bytes, value = int(number(cells[0], place)), number(cells[1], place)
    if kind == "latency":
        return Message(size_bytes, time_us=value)
    each_way = value / 2.0 if kind == "both" else value
    return Message(size_bytes, gbit_s=each_way * _GBIT_PER_MB)


def _readings(run: _OsuRun, size_bytes: int | None) -> Iterator[PairReading]:
    if not run.rows:
        raise WrongUseError(f"{run.place}: this run has no result")
    if run.kind == "latency":
        yield PairReading(run.source, run.destination, rtt_us=round_trip_us(run.rows))
        return
    fastest = bandwidth_of(run.rows, size_bytes)
    if fastest is None and size_bytes is not None:
        raise WrongUseError(f"{run.place}: this run has no messages of {format_size(size_bytes)}")
    gbit_s, reached_with = (0.0, None) if fastest is None else (fastest.gbit_s, fastest.size_bytes)
    ends = [(run.source, run.destination), (run.destination, run.source)]
    for source, destination in ends if run.kind == "both" else ends[:1]:
        yield PairReading(source, destination, gbit_s=gbit_s, size_bytes=reached_with)
