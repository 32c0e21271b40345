"""Logs of perftest's programs for RDMA (ib_read_lat, ib_write_bw, ...), each run between two hosts.

They do not print where they ran, so a line `# pair: CLIENT SERVER` stands in front of each: the
server is the one that was started without an address. Latencies of reads are whole round trips,
those of writes and sends half of one; bandwidth goes to the server, but for reads. Columns are
found by their headings: t_typical is the median, MB are 2^20 bytes, Gb are 10^9 bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from plink.base.errors import WrongUseError
from plink.base.size import format_size
from plink.files.cluster import Cluster
from plink.measure.importing.pairs import (
    MOST_ROUND_TRIP_BYTES,
    Message,
    PairReading,
    bandwidth_of,
    checked_name,
    cluster_of,
    number,
    text_of,
)

TOOL = "perftest"
_PAIR = re.compile(r"#\s*pair:?\s+(\S+)\s+(\S+)\s*", re.IGNORECASE)
_TITLE = re.compile(
    r"\s*(RDMA_Read|RDMA_Write|Send)\s+(Bidirectional\s+)?(Post List\s+)?(BW|Latency) Test\s*"
)
_HEADING = re.compile(r"\s*#bytes\s+#iterations\s+(.*?)\s*")
_COLUMN = re.compile(r"(?:99(?:\.9+)?% |BW )?[A-Za-z_]+\[[A-Za-z/%]+\]")
_GBIT_PER = {"MB/sec": 8 * 2**20 / 1e9, "Gb/sec": 1.0}
_NOTE = "the times are medians of RDMA's round trips, past the kernel"
_HINT = "put a line `# pair: CLIENT SERVER` in front of the output of each run of a client"


@dataclass
class _Run:
    """One run: what it did, between whom, under which headings, and its rows."""

    operation: str
    is_latency: bool
    is_both_ways: bool
    client: str
    server: str
    place: str
    columns: Sequence[str] = ()
    rows: list[Message] = field(default_factory=list)


def is_perftest(content: bytes) -> bool:
    """Whether a file is a log of perftest's programs."""
    return b"#bytes" in content and b"#iterations" in content


def import_perftest(
    content: bytes, source: str, percentile: float, size_bytes: int | None = None
) -> Cluster:
    """Times of the least size where that is small, and bandwidths.

    Args:
        content: of the log.
        source: what errors call it.
        percentile: the percentile that the times stand for.
        size_bytes: of the messages whose bandwidth counts; None for the greatest of any size.

    Raises:
        WrongUseError: a run without its pair, without rows, or without that size.
    """
    runs = _runs(text_of(content, source), source)
    readings = [reading for run in runs for reading in _readings(run, size_bytes)]
    return cluster_of(readings, source, tool=TOOL, percentile=percentile, rtt_notes=[_NOTE])


def _runs(text: str, source: str) -> Sequence[_Run]:
    runs: list[_Run] = []
    pair: tuple[str, str] | None = None
    for line_number, line in enumerate(text.split("\n"), start=1):
        place = f"{source}:{line_number}"
        if found := _PAIR.fullmatch(line.strip()):
            pair = checked_name(found[1], place), checked_name(found[2], place)
            if pair[0] == pair[1]:
                raise WrongUseError(f"{place}: both hosts are {pair[0]}", _HINT)
        elif found := _TITLE.fullmatch(line):
            if pair is None:
                raise WrongUseError(f"{place}: it is not said which hosts this run was on", _HINT)
            runs.append(_Run(found[1], found[4] == "Latency", bool(found[2]), *pair, place))
        elif runs and (found := _HEADING.fullmatch(line)):
            runs[-1].columns = _COLUMN.findall(found[1])
        elif runs and runs[-1].columns and line.strip()[:1].isdigit():
            runs[-1].rows.append(_row(runs[-1], line.split(), place))
    return runs


def _row(run: _Run, cells: Sequence[str], place: str) -> Message:
    wanted = "t_typical[" if run.is_latency else "BW average["
    at = next((i for i, name in enumerate(run.columns) if name.startswith(wanted)), None)
    if at is None or len(cells) < len(run.columns) + 2:
        raise WrongUseError(f"{place}: the line has no {wanted.rstrip('[')}", "keep the headings")
    size_bytes, value = int(number(cells[0], place)), number(cells[at + 2], place)
    if run.is_latency:
        return Message(size_bytes, time_us=value)
    unit = run.columns[at].partition("[")[2].rstrip("]")
    if unit not in _GBIT_PER:
        raise WrongUseError(f"{place}: bandwidths are in {unit[:20]}, expected MB/sec or Gb/sec")
    return Message(size_bytes, gbit_s=value * _GBIT_PER[unit] / (2.0 if run.is_both_ways else 1.0))


def _readings(run: _Run, size_bytes: int | None) -> Iterator[PairReading]:
    if not run.rows:
        raise WrongUseError(f"{run.place}: this run has no result")
    if run.is_latency:
        yield PairReading(run.client, run.server, rtt_us=_round_trip_us(run))
        return
    fastest = bandwidth_of(run.rows, size_bytes)
    if fastest is None and size_bytes is not None:
        raise WrongUseError(f"{run.place}: this run has no messages of {format_size(size_bytes)}")
    gbit_s, reached_with = (0.0, None) if fastest is None else (fastest.gbit_s, fastest.size_bytes)
    ends = [(run.client, run.server), (run.server, run.client)]
    if run.operation == "RDMA_Read":
        ends.reverse()
    for source, destination in ends if run.is_both_ways else ends[:1]:
        yield PairReading(source, destination, gbit_s=gbit_s, size_bytes=reached_with)


def _round_trip_us(run: _Run) -> float | None:
    times = [
        (row.size_bytes, row.time_us)
        for row in run.rows
        if row.time_us is not None and row.size_bytes <= MOST_ROUND_TRIP_BYTES
    ]
    ways = 1.0 if run.operation == "RDMA_Read" else 2.0
    return ways * min(times)[1] if times else None
